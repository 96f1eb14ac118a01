package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// ErrEngine says that there is no container engine, or that it stopped answering.
var ErrEngine = errors.New("container engine does not answer")

// engineError is an ErrEngine with all its circumstances.
type engineError struct {
	text string
	more []string // further lines
	hint string
}

func (e *engineError) Error() string { return strings.Join(append([]string{e.text}, e.more...), "\n") }

// Is makes it an ErrEngine.
func (e *engineError) Is(target error) bool { return target == ErrEngine }

// Hint is the advice for an error of Find or Open; empty when there is none.
func Hint(err error) string {
	var e *engineError
	if errors.As(err, &e) {
		return e.hint
	}
	return ""
}

// unreachable explains why an engine cannot be reached. The client's error has lost the
// cause, so unreachable connects once more.
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
	why := Short(err)
	var lookup *net.DNSError
	switch {
	case errors.As(dialErr, &lookup):
		why, e.hint = unknownHost(lookup, ep.From)
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

// unknownHost says that the name of the engine's host leads nowhere. From is the source of the
// name.
func unknownHost(err *net.DNSError, from string) (why, hint string) {
	hint = "correct DOCKER_HOST, or unset it to use an engine of this machine"
	if from != "DOCKER_HOST" {
		hint = "docker context ls shows the hosts; docker context use default uses an engine of this machine"
	}
	if err.IsNotFound {
		return fmt.Sprintf("its host %q is not known", err.Name), hint
	}
	return fmt.Sprintf("the name of its host, %q, cannot be looked up: %s", err.Name, err.Err), hint
}

func permissionHint(ep Endpoint) string {
	if ep.Socket == DefaultSocket {
		return "sudo usermod -aG docker $USER, then log in again; every member of the group docker controls the machine; a rootless engine avoids that"
	}
	return "the socket belongs to another user: ls -l " + ep.Socket
}

// Short is the engine's message on one line, without the client's preamble.
func Short(err error) string {
	text := strings.TrimSpace(err.Error())
	for _, preamble := range []string{"Error response from daemon: ", "error during connect: "} {
		text = strings.TrimPrefix(text, preamble)
	}
	return strings.Join(strings.Fields(text), " ")
}
