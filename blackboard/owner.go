package blackboard

import "fmt"

// Owner is the workspace to which a blackboard on a shared server belongs. Workspaces are
// the same if their ids are equal; the other fields are for people. The zero Owner is
// nobody: an older sett made the blackboard, or none has used it yet.
type Owner struct {
	ID        string // random; in the directory of the workspace's instance
	Workspace string // its path
	Host      string // the machine with it
	User      string // the user of sett up
}

// Resembles says whether an owner has the same path, host and user. It may be the same
// workspace, which has lost its id, or another one in a place with the same names.
func (o Owner) Resembles(other Owner) bool {
	return o.Workspace == other.Workspace && o.Host == other.Host && o.User == other.User
}

// String names the owner for people.
func (o Owner) String() string {
	if o == (Owner{}) {
		return "one that is not recorded, of an older sett"
	}
	text := o.Workspace
	if text == "" {
		text = "a workspace without a path"
	}
	if o.User != "" {
		text += " of " + o.User
	}
	if o.Host != "" {
		text += " on " + o.Host
	}
	return text
}

// OwnedError says that a blackboard belongs to another workspace.
type OwnedError struct {
	Addr, Instance string
	Owner          Owner
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("the blackboard at %s has an instance %s of another workspace: %s", e.Addr, e.Instance, e.Owner)
}
