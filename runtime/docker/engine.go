package docker

import "github.com/docker/docker/client"

// Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	api *client.Client
}
