package logfile

import (
	"os"
	"strings"
	"testing"
)

// The last words of a program that crashed are the reason, however long its stack trace is.
func TestTailOfCrash(t *testing.T) {
	t.Parallel()
	const own, thread, fatal = `{"level":"INFO","msg":"begins"}`, "runtime: may need to increase max user processes (ulimit -u)", "fatal error: newosproc"
	trace := strings.Repeat("\ngoroutine 1 [running]:\nmain.main()\n\t/sett/main.go:1 +0x1\n", 1000)
	for name, c := range map[string]struct{ log, want string }{
		"a crash":                {own + "\n" + thread + "\n" + fatal + "\n" + trace, own + "\n" + thread + "\n" + fatal},
		"lines of a run after":   {fatal + "\n" + trace + own + "\n", fatal + "\n" + own},
		"an error of sett after": {"panic: old\n" + trace + "sett: error: new\nsett: hint: do\n", "panic: old\nsett: error: new\nsett: hint: do"},
		"no crash":               {own + "\ngoroutine 1 is a word\n", own + "\ngoroutine 1 is a word"},
	} {
		if got := Tail(c.log); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
		dir := Dir(t.TempDir())
		if err := os.WriteFile(dir.Path("part"), []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := dir.Tail("part", 0); got != c.want {
			t.Errorf("%s, in a file: %q", name, got)
		}
	}
}
