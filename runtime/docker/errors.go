package docker

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

// What a caller may want to tell apart.
var (
	// ErrForeign says that what has the name on the engine is not this instance's:
	// it is somebody else's, or that of an instance of the same name in another
	// workspace. The error's text says whose.
	ErrForeign = errors.New("it belongs to somebody else")
	// ErrImage says that the engine has no such image.
	ErrImage = errors.New("no such image on the engine")
	// ErrPort says that a port of the host is taken.
	ErrPort = errors.New("the port is taken")
)

// plain makes the engine's or its client's error one of this package: a short text,
// and nothing to test for but this package's errors, the context's and
// fs.ErrNotExist.
func plain(err error) error {
	if err == nil {
		return nil
	}
	text := shorter(err)
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
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	}
	return errors.New(text)
}

// isGone says whether there was no connection, or it broke before the answer.
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

// isNetwork says whether the engine misses a network that it was told to use.
func isNetwork(err error) bool { return noNetwork().MatchString(strings.ToLower(err.Error())) }

var noNetwork = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`network \S+ not found|(could not|unable to) find network`)
})

// The layers that a message has passed through say nothing to people.
var (
	layers = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((Get|Post|Put|Head|Delete) "[^"]*": |failed to create (shim )?task( for container)?: |OCI runtime (create|start) failed: |` +
			`runc (create|run) failed: |container_linux\.go:\d+: |starting container process caused: |unable to start container process: |` +
			`process_linux\.go:\d+: |driver failed programming external connectivity on endpoint \S+ \([0-9a-f]+\): )`)
	})
	trailer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: unknown$`) })
)

// shorter is short without the layers.
func shorter(err error) string {
	text := short(err)
	for layers().MatchString(text) {
		text = layers().ReplaceAllString(text, "")
	}
	return trailer().ReplaceAllString(text, "")
}
