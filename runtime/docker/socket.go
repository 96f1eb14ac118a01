package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// socketTarget is the engine's socket in the orchestrator's container.
const socketTarget = "/run/docker.sock"

// usualSockets are the sockets on which engines, and the services below them, usually
// listen. A program with one of them controls the machine.
var usualSockets = []string{
	engine.DefaultSocket, "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
}

// sockets are the paths on the engine's host that lead to the engine.
type sockets struct {
	units   *units
	at      engine.Endpoint
	desktop bool

	mu      sync.Mutex
	mounted string // the source of socketTarget, as soon as it is known
}

// source is the engine's socket on the engine's host. An engine behind a network
// address, or in a virtual machine of its own, has it at the default path.
func (s *sockets) source() string {
	if s.at.Socket != "" && !s.desktop {
		return s.at.Socket
	}
	return engine.DefaultSocket
}

// all returns every known path. The orchestrator's container sees the socket at
// socketTarget; only the engine knows its path on the host.
func (s *sockets) all(ctx context.Context) []string {
	all := append(slices.Clone(usualSockets), s.source())
	if s.at.Socket != "" {
		all = append(all, s.at.Socket)
	}
	if s.at.Socket != socketTarget {
		return all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mounted == "" {
		c, err := s.units.find(ctx, runtime.ComponentOrchestrator)
		if err != nil {
			return all // it is no container, or not this instance's
		}
		for _, m := range c.Mounts {
			if m.Destination == socketTarget {
				s.mounted = m.Source
			}
		}
	}
	return append(all, s.mounted)
}

// group lets a container's user other than root use the socket: it returns the group
// of the socket, if that can be known here.
func (s *sockets) group(user string) []string {
	if user == "" || user == "0" || strings.HasPrefix(user, "0:") {
		return nil
	}
	info, err := os.Stat(s.source())
	if err != nil {
		return nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return []string{strconv.FormatUint(uint64(st.Gid), 10)}
}

// refuseSocket refuses a directory of the host that is, or contains, a socket of the
// engine, by any of its names: no agent gets one, whatever the configuration says.
func refuseSocket(source string, sockets []string) error {
	if !filepath.IsAbs(source) {
		return fmt.Errorf("mount %q: not an absolute path of the engine's host", source)
	}
	for _, socket := range sockets {
		if socket == "" {
			continue
		}
		for _, from := range spellings(source) {
			for _, to := range spellings(socket) {
				if below(to, from) {
					return fmt.Errorf("mount %s: it is or contains %s, the engine's socket, which no unit but the orchestrator may have", source, socket)
				}
			}
		}
	}
	return nil
}

// spellings are the path as it is, and with its symbolic links resolved as far as it
// exists here.
func spellings(p string) []string {
	p = filepath.Clean(p)
	rest := ""
	for d := p; ; d = filepath.Dir(d) {
		if resolved, err := filepath.EvalSymlinks(d); err == nil {
			return []string{p, filepath.Join(resolved, rest)}
		}
		if d == filepath.Dir(d) {
			return []string{p}
		}
		rest = filepath.Join(filepath.Base(d), rest)
	}
}
