package role

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sett/contract/env"
)

// handed is an environment whose credentials are in a pipe.
func handed(t *testing.T, text string, vars ...string) Env {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = w.WriteString(text)
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(r.Fd())) // the role closes its own
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(env.Credentials, strconv.Itoa(fd))
	e := OS(nil, Build{})
	e.Environ = func() []string { return append([]string{env.Credentials + "=" + strconv.Itoa(fd)}, vars...) }
	return e
}

// A unit finds its credentials beside its environment, and passes both on; nothing else
// in the pipe counts.
func TestUnit(t *testing.T) {
	e := handed(t, "REDIS_URL=redis://:p@h\x00PATH=/evil\x00", "PATH=/bin", "REDIS_URL=old")
	err := Unit(func(_ context.Context, e Env) error {
		if got := e.Environ(); !slices.Equal(got, []string{"PATH=/bin", "REDIS_URL=redis://:p@h"}) {
			return fmt.Errorf("environment %q", got)
		}
		if url, path := e.Getenv(env.RedisURL), e.Getenv("PATH"); url != "redis://:p@h" || path != os.Getenv("PATH") {
			return fmt.Errorf("variables %q, %q", url, path)
		}
		if _, set := os.LookupEnv(env.Credentials); set {
			return fmt.Errorf("what it starts inherits %s", env.Credentials)
		}
		return nil
	})(t.Context(), e)
	if err != nil {
		t.Error(err)
	}
}

// A number that names no descriptor is an error, not a silence.
func TestUnitWithoutPipe(t *testing.T) {
	for number, want := range map[string]Code{"x": Usage, "1": Usage, "9999": Environment} {
		e := OS(nil, Build{})
		e.Lookup = func(string) (string, bool) { return number, true }
		err := Unit(func(context.Context, Env) error { t.Error("it ran"); return nil })(t.Context(), e)
		if CodeOf(err) != want {
			t.Errorf("%s: %v", number, err)
		}
	}
}
