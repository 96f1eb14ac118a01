package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// ErrEngine says that no container engine is there, or that it stopped answering.
var ErrEngine = errors.New("container engine does not answer")

// engineError is an ErrEngine with its whole story.
type engineError struct {
	text string
	more []string // lines that follow
	hint string
}

func (e *engineError) Error() string { return strings.Join(append([]string{e.text}, e.more...), "\n") }

// Is says that it is an ErrEngine.
func (e *engineError) Is(target error) bool { return target == ErrEngine }

// Hint says what to do about an error of Find or Open. Empty: nothing is known.
func Hint(err error) string {
	var e *engineError
	if errors.As(err, &e) {
		return e.hint
	}
	return ""
}

// unreachable tells the story of an engine that was not reached. The client's own
// error has lost the cause, so it is asked for once more.
func unreachable(ctx context.Context, ep Endpoint, err error) error {
	e := &engineError{more: ep.passed}
	address := strings.TrimPrefix(ep.Host, "tcp://")
	network := "tcp"
	if ep.Socket != "" {
		network, address = "unix", ep.Socket
	}
	var d net.Dialer
	conn, dialErr := d.DialContext(ctx, network, address)
	if dialErr == nil {
		_ = conn.Close()
	}
	why := short(err)
	switch {
	case errors.Is(dialErr, syscall.EACCES) || errors.Is(dialErr, syscall.EPERM):
		why = "permission denied"
		e.hint = permissionHint(ep)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(dialErr, context.DeadlineExceeded):
		why = fmt.Sprintf("no answer within %s", openTimeout)
	case errors.Is(dialErr, syscall.ENOENT):
		why = "there is no such socket"
		e.hint = "is it running?"
	case dialErr != nil:
		var sys *os.SyscallError
		why = dialErr.Error()
		if errors.As(dialErr, &sys) {
			why = sys.Err.Error()
		}
		e.hint = "is it running?"
	}
	e.text = fmt.Sprintf("container engine at %s (%s) does not answer: %s", ep.Host, ep.From, why)
	return e
}

func permissionHint(ep Endpoint) string {
	if ep.Socket == dockerSocket {
		return "sudo usermod -aG docker $USER, then log in again; whoever is in the group docker rules the machine, a rootless engine avoids that"
	}
	return "the socket belongs to another user: ls -l " + ep.Socket
}

// short is what the engine said, on one line, without the client's preamble.
func short(err error) string {
	text := strings.TrimSpace(err.Error())
	for _, preamble := range []string{"Error response from daemon: ", "error during connect: "} {
		text = strings.TrimPrefix(text, preamble)
	}
	return strings.Join(strings.Fields(text), " ")
}
