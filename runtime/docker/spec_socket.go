package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sett/runtime"
)

// socketTarget is where the orchestrator's container sees the engine's socket.
const socketTarget = "/run/docker.sock"

// sockets are where engines, and what they are built on, usually listen. Whoever
// gets one of them gets the machine.
var sockets = []string{
	dockerSocket, "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
}

// socketSource is the engine's socket on the engine's host. An engine that is
// reached over the network, or that runs in a virtual machine of its own, has it
// where engines have it by default.
func (r *Runtime) socketSource() string {
	if ep := r.e.Endpoint(); ep.Socket != "" && !r.e.Facts().Desktop {
		return ep.Socket
	}
	return dockerSocket
}

// hostSockets are the paths on the engine's host that lead to it. Seen from the
// orchestrator's container the socket is at socketTarget; where that comes from,
// the engine knows.
func (r *Runtime) hostSockets(ctx context.Context) []string {
	all := append(slices.Clone(sockets), r.socketSource())
	at := r.e.Endpoint().Socket
	if at == "" {
		return all
	}
	all = append(all, at)
	if at != socketTarget {
		return all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.socketAt == "" {
		c, err := r.find(ctx, runtime.ComponentOrchestrator)
		if err != nil {
			return all // it is no container's, or not this instance's
		}
		for _, m := range c.Mounts {
			if m.Destination == socketTarget {
				r.socketAt = m.Source
			}
		}
	}
	return append(all, r.socketAt)
}

// socketGroup lets a container's user who is not root use the socket: its group,
// where that can be known here.
func (r *Runtime) socketGroup(user string) []string {
	if user == "" || user == "0" || strings.HasPrefix(user, "0:") {
		return nil
	}
	info, err := os.Stat(r.socketSource())
	if err != nil {
		return nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return []string{strconv.FormatUint(uint64(st.Gid), 10)}
}

// refuseSocket refuses a directory of the host that is, or contains, a socket of
// the engine, by this name or by another: whatever the configuration says, no
// agent gets one.
func refuseSocket(source string, sockets []string) error {
	if !filepath.IsAbs(source) {
		return fmt.Errorf("mount %q: not an absolute path of the engine's host", source)
	}
	for _, socket := range sockets {
		if socket == "" {
			continue
		}
		for _, from := range names(source) {
			for _, to := range names(socket) {
				if to == from || from == "/" || strings.HasPrefix(to, from+"/") {
					return fmt.Errorf("mount %s: it is or contains %s, the engine's socket, which no unit but the orchestrator may have", source, socket)
				}
			}
		}
	}
	return nil
}

// names are the ways to write the path: as it is, and with symbolic links
// followed as far as it exists here.
func names(p string) []string {
	p = filepath.Clean(p)
	all := []string{p}
	rest := ""
	for d := p; ; d = filepath.Dir(d) {
		if resolved, err := filepath.EvalSymlinks(d); err == nil {
			return append(all, filepath.Join(resolved, rest))
		}
		if d == filepath.Dir(d) {
			return all
		}
		rest = filepath.Join(filepath.Base(d), rest)
	}
}
