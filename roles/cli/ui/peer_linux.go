package ui

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/roles/role"
)

// The kernel's list of connections: its files, and the states of those in it.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

const established = 1

// end is one end of a connection, as the kernel lists it.
type end struct {
	state int
	user  int
	inode string // of its socket; "0": no process holds it any more, and its user is not known
}

// refusal says why the connection between two addresses of this machine is refused; empty:
// it is not.
//
// Root is welcome: it reads everything anyway, and forwards connections for users, as WSL
// does for the browser of Windows. A connection without an end on this system is welcome, too: such a one
// comes through the kernel from outside, as from WSL's host with mirrored networking.
// One whose other end was closed is not: nobody reads its answer, and its user is not known.
func refusal(from, to netip.AddrPort, users []int) string {
	peer, err := endOf(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return "" // this system shows no connections
	}
	if err != nil {
		return "the user of the connection is not to be found: " + err.Error()
	}
	if peer == nil || peer.inode == "0" {
		// The other end of a connection that is still established here has not been closed.
		if own, err := endOf(to, from); peer == nil && err == nil && own != nil && own.state == established {
			return ""
		}
		return "the other end of the connection is closed"
	}
	if peer.user != 0 && !slices.Contains(users, peer.user) {
		return fmt.Sprintf("this page is for the user who runs sett ui, and the connection is user %d's", peer.user)
	}
	if above, in := toolWith(*peer); in {
		return "a tool may not use this page: the connection comes from an agent's tool (" + role.Clean(above) + ")"
	}
	return ""
}

// endOf returns the end of a connection whose own address is the first one; nil: there is none.
func endOf(own, other netip.AddrPort) (*end, error) {
	for i, name := range tables {
		f, err := os.Open(name)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		found, err := find(f, own, other)
		_ = f.Close()
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// find looks for an end in one of the kernel's lists. Its columns are described in the
// kernel's Documentation/networking/proc_net_tcp.rst.
func find(table io.Reader, own, other netip.AddrPort) (*end, error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || addressOf(f[1]) != own || addressOf(f[2]) != other {
			continue
		}
		state, err := strconv.ParseUint(f[3], 16, 8)
		user, other := strconv.Atoi(f[7])
		return &end{int(state), user, f[9]}, errors.Join(err, other)
	}
	return nil, lines.Err()
}

// addressOf reads an address of the kernel's list: words of 32 bits in this machine's order
// of bytes, and the port. An IPv4 address is one, also in the list of IPv6.
func addressOf(s string) netip.AddrPort {
	host, port, _ := strings.Cut(s, ":")
	bytes, err := hex.DecodeString(host)
	n, other := strconv.ParseUint(port, 16, 16)
	if err != nil || other != nil {
		return netip.AddrPort{}
	}
	for word := bytes; len(word) >= 4; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n))
}

// toolWith returns the part of Sett above a tool that holds the socket of an end; false: no
// tool does. Where no process is seen to hold it, and a tool of the end's user hides its
// open files, as a program can that wants to, that tool is taken for the one.
func toolWith(e end) (above string, in bool) {
	socket, held := "socket:["+e.inode+"]", false
	var hidden []int
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		files, err := os.ReadDir(p + "/fd")
		if errors.Is(err, fs.ErrPermission) && e.user != 0 && belongs(pid, e.user) {
			hidden = append(hidden, pid)
		}
		for _, f := range files {
			if at, _ := os.Readlink(p + "/fd/" + f.Name()); at != socket {
				continue
			}
			if above, in := role.ToolAt(pid); in {
				return above, true
			}
			held = true
			break
		}
	}
	for _, pid := range hidden {
		if held {
			break
		}
		if above, in := role.ToolAt(pid); in {
			return above, true
		}
	}
	return "", false
}

// belongs says whether a process has the rights of a user.
func belongs(pid, user int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	return slices.Contains(strings.Fields(line), strconv.Itoa(user))
}
