package once

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// TestRun: a program runs as a cub's tool does, and its end comes back whole.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if _, err := Take(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a report before the run: %v", err)
	}
	run := func(r Request, environ ...string) (Report, string) {
		t.Helper()
		r.Dir, r.Timeout = dir, time.Minute
		if err := Put(dir, r); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		e := role.Env{Environ: func() []string { return append(environ, "PATH=/usr/bin:/bin") }, Stderr: &said}
		if err := Run(t.Context(), e, toolrun.New(), dir); err != nil {
			t.Fatal(err)
		}
		report, err := Take(dir)
		if err != nil {
			t.Fatal(err)
		}
		return report, said.String()
	}
	got, said := run(Request{Args: []string{"sh", "-c", `cat; echo "$SETT_ATTEMPT $A $REDIS_URL"; printf 'no line end' >&2; exit 3`}, Stdin: []byte("in\n"), Tool: env.ToolVars{Attempt: 2}},
		"A=b", "REDIS_URL=secret", "SETT_ATTEMPT=9")
	if r := got.Result; string(r.Stdout) != "in\n2 b \n" || r.ExitCode != 3 || string(r.Stderr) != "no line end" || said != "no line end\n" || got.Error != "" {
		t.Errorf("%+v, said %q", got, said)
	}
	got, _ = run(Request{Args: []string{"no-such-program-9"}})
	if !strings.Contains(got.Error, "no-such-program-9") {
		t.Errorf("%+v", got)
	}
}
