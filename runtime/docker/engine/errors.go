package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"regexp"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// The errors that callers distinguish.
var (
	// ErrImage says that the engine has no such image.
	ErrImage = errors.New("no such image on the engine")
	// ErrPort says that a port of the host is taken.
	ErrPort = errors.New("the port is taken")
)

// Plain turns an error of the engine or its client into an error of this package: a
// short text that wraps nothing but this package's errors, the context's and
// fs.ErrNotExist.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	text := Brief(Short(err))
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from the engine: %w", context.DeadlineExceeded)
	case isGone(err):
		return fmt.Errorf("%w: %s", ErrEngine, text)
	case isPortTaken(text):
		return fmt.Errorf("%w: %s", ErrPort, text)
	case errdefs.IsNotFound(err) && isImage(text):
		return fmt.Errorf("%w: %s", ErrImage, text)
	case errdefs.IsNotFound(err), isEnding(text):
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	}
	return errors.New(text)
}

// isGone says whether the connection failed, or broke before the answer.
func isGone(err error) bool {
	var op *net.OpError
	return client.IsErrConnectionFailed(err) || errors.As(err, &op) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func isPortTaken(text string) bool {
	return strings.Contains(text, "port is already allocated") || strings.Contains(text, "address already in use")
}

func isImage(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, "no such image") || strings.Contains(lower, "image not known")
}

// isEnding says whether the engine has no log any more of a container that it is removing.
func isEnding(text string) bool {
	return strings.Contains(text, "can not get logs from container which is dead or marked for removal")
}

// The layers of an engine add prefixes that tell people nothing.
var (
	layers = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((Get|Post|Put|Head|Delete) "[^"]*": |failed to create (shim )?task( for container)?: |OCI runtime (create|start) failed: |` +
			`runc (create|run) failed: |container_linux\.go:\d+: |starting container process caused: |unable to start container process: |` +
			`process_linux\.go:\d+: |driver failed programming external connectivity on endpoint \S+ \([0-9a-f]+\): )`)
	})
	trailer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: unknown$`) })
)

// Brief returns an engine's message without these prefixes.
func Brief(text string) string {
	for layers().MatchString(text) {
		text = layers().ReplaceAllString(text, "")
	}
	return trailer().ReplaceAllString(text, "")
}

// Wrap puts the operation before an error that a function is about to return; a nil
// error stays nil. It is for defer.
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
