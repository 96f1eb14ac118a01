package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNobodyAsksForTheSocket shows that no sett.yml gives an agent the engine's
// socket or anything else of the host, nor does a workspace that it is in.
func TestNobodyAsksForTheSocket(t *testing.T) {
	t.Parallel()
	needEngine(t)
	for _, key := range []string{
		"volumes: [/var/run/docker.sock:/var/run/docker.sock]", "mounts: [/]", "socket: true", "privileged: true", "cap_add: [ALL]",
		"security_opt: [seccomp=unconfined]", "user: root", "pid: host", "ipc: host", "network_mode: host", "network: host", "devices: [/dev/mem]", "runtime: x",
		"workspace: {mode: rw, source: /var/run}", "workspace: {path: /}",
	} {
		c := solo(finished, key+"\n")
		in := prepare(t, inContainers(c))
		code, out := in.sett("up")
		name, _, _ := strings.Cut(key, ":")
		if code != 2 || !strings.Contains(out, name) || !strings.Contains(out, "sett.yml:") {
			t.Errorf("%s: exit code %d\n%s", key, code, out)
		}
	}
}

// TestSocketInTheWorkspace has the engine's socket in the workspace, which the notifier
// sees: as it is, by a symbolic link to it, and in a workspace that is one.
func TestSocketInTheWorkspace(t *testing.T) {
	t.Parallel()
	needEngine(t)
	if static.at.Socket == "" {
		t.Skip("no container engine at a socket: " + static.at.Host)
	}
	told := solo(finished, "")
	told.extra = "notify: {command: [./tools/solo]}\n"
	for name, place := range map[string]func(*instance) string{
		"in it": func(in *instance) string { return serve(t, filepath.Join(in.repo, ".git", "engine.sock")) },
		"under another name of it": func(in *instance) string {
			serve(t, filepath.Join(in.repo, ".git", "engine.sock"))
			return linkTo(t, in.repo, filepath.Join(in.root, "link")) + "/.git/engine.sock"
		},
		"by a link that leads in": func(in *instance) string {
			return linkTo(t, serve(t, filepath.Join(in.repo, ".git", "engine.sock")), filepath.Join(in.root, "engine.sock"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := prepare(t, inContainers(told))
			in.o.host = "unix://" + place(in)
			code, out := in.sett("up")
			if code != 2 || !strings.Contains(out, "socket") || !strings.Contains(out, "is in the workspace") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			_ = os.Remove(filepath.Join(in.repo, ".git", "engine.sock"))
			in.o.host = ""
		})
	}
	t.Run("by a link that leads out", func(t *testing.T) {
		in := prepare(t, inContainers(told))
		in.o.host = "unix://" + linkTo(t, static.at.Socket, filepath.Join(in.repo, ".git", "engine.sock"))
		if code, out := in.sett("up", "--timeout", "5s"); code == 0 {
			t.Errorf("it is not refused:\n%s", out)
		}
		in.nothingOnEngine()
		_ = os.Remove(filepath.Join(in.repo, ".git", "engine.sock"))
		in.o.host = ""
	})
}

func linkTo(t *testing.T, to, from string) string {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
	return from
}

// serve makes a socket at which the engine answers, as at its own.
func serve(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go pass(c)
		}
	}()
	return path
}

func pass(c net.Conn) {
	defer func() { _ = c.Close() }()
	to, err := net.Dial("unix", static.at.Socket)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(to, c); done <- struct{}{} }()
	go func() { _, _ = io.Copy(c, to); done <- struct{}{} }()
	<-done
}
