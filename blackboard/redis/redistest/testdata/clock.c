/* Preloaded, it shifts the clock of a program by the seconds at the start of the file
   that CLOCK names, a number of eight bytes. The file may change at any time. Clocks that
   do not go by the time of day stay as they are. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("CLOCK");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	void *at = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
	if (at != MAP_FAILED)
		shift = at;
	close(file);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int failed = syscall(SYS_clock_gettime, clock, t);
	if (!failed && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += *shift;
	return failed;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	(void)zone;
	struct timespec now;
	int failed = clock_gettime(CLOCK_REALTIME, &now);
	if (!failed) {
		t->tv_sec = now.tv_sec;
		t->tv_usec = now.tv_nsec / 1000;
	}
	return failed;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
