package docker

import (
	"strings"

	"github.com/docker/docker/api/types/filters"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// names are the names on the engine of everything that belongs to the instance of
// this name. A dot, which no instance's name has, ends the instance's name: two
// instances never share a name, whatever their units are called.
type names string

func (n names) prefix() string { return "sett-" + string(n) + "." }

func (n names) container(unit string) string { return n.prefix() + unit }

// unit is the inverse of container; false for a container of another instance.
func (n names) unit(container string) (string, bool) {
	return strings.CutPrefix(strings.TrimPrefix(container, "/"), n.prefix())
}

// network is the first network of a unit with this reach. A unit on the internal
// network has no other.
func (n names) network(reach string) string {
	if reach == runtime.NetworkInternal {
		return n.prefix() + "internal"
	}
	return "sett-" + string(n)
}

func (n names) ledger() string { return n.prefix() + "ledger" }

// labelled selects everything with the instance's label and these others.
func (n names) labelled(more ...string) filters.Args {
	return engine.Labelled(append(more, runtime.LabelInstance+"="+string(n))...)
}
