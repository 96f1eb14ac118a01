package instance

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/embedded"
	"sett/blackboard/redis/lua"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// keptBoard is a stopped instance of local mode with a blackboard of this schema, and its locator.
func keptBoard(t *testing.T, schema string) (*Locator, *Instance) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := New(&term.Terminal{Env: role.OS(nil, role.Build{})}, Flags{})
	in := &Instance{State: State{Name: "kept"}, Dir: t.TempDir()}
	must(os.Mkdir(boardFolder(in), 0o700))
	s, _, err := embedded.Open(embedded.Options{Dir: boardFolder(in), Own: lua.Own})
	must(err)
	ctx, stop := context.WithCancel(t.Context())
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, port) }()
	_, err = boardtest.Send(port.Addr().String(), "HSET", "sett:{kept}:instance", "schema", schema)
	must(err)
	stop()
	<-ended
	must(s.Close())
	return at, in
}

// A stopped blackboard that cannot be opened is an error, and no copy of it is left, for whatever reason.
func TestOpenStopped(t *testing.T) {
	log := func(in *Instance) string { return filepath.Join(boardFolder(in), "log.1") }
	for name, c := range map[string]struct {
		schema string
		before func(t *testing.T, in *Instance, tmp string)
		is     error
	}{
		"whole":        {schema: "2"},
		"older schema": {schema: "1"},
		"damaged log": {schema: "2", before: func(t *testing.T, in *Instance, _ string) {
			whole, err := os.ReadFile(log(in))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(log(in), append([]byte("XXXX"), whole[4:]...), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"no directory": {schema: "2", is: os.ErrNotExist, before: func(t *testing.T, _ *Instance, tmp string) {
			if err := os.Remove(tmp); err != nil {
				t.Fatal(err)
			}
		}},
		"full directory": {schema: "2", before: func(t *testing.T, in *Instance, tmp string) {
			if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16k", "none", tmp).CombinedOutput(); err != nil {
				t.Logf("nobody can mount a small disk here, so a file cannot be read instead: %s", out)
				if err := os.Chmod(log(in), 0); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Cleanup(func() { _ = exec.Command("umount", tmp).Run() })
			if err := os.WriteFile(filepath.Join(boardFolder(in), "log.0"), make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			at, in := keptBoard(t, c.schema)
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			if c.before != nil {
				c.before(t, in, tmp)
			}
			b, done, err := OpenStopped(t.Context(), at, in)
			switch name {
			case "whole":
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.Index.Goals(t.Context(), 1); err != nil {
					t.Error(err)
				}
				done()
			default:
				if err == nil || b != nil || done != nil {
					t.Errorf("opened: %v %v", b, err)
				}
				var older *blackboard.SchemaError
				if role.CodeOf(err) != role.Environment || !errors.Is(err, c.is) && c.is != nil || errors.As(err, &older) != (c.schema == "1") {
					t.Errorf("error: %v", err)
				}
			}
			if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q %v", left, err)
			}
		})
	}
}

// The same of the blackboard for an export.
func TestScratchWithoutRoom(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if b, done, err := Scratch(ended); err == nil || b != nil || done != nil {
		t.Errorf("opened: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
}
