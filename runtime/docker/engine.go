package docker

import (
	"errors"

	"github.com/docker/docker/client"
)

// ErrEngine says that no container engine is there, or that it stopped answering.
var ErrEngine = errors.New("container engine does not answer")

// Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	api *client.Client
}
