package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/confine"
	"sett/roles/role/store"
)

// wall gives the tool its directory for temporary files, and says where walls are missing.
func (t *Trial) wall() error {
	if t.Walls == nil || t.Image != nil {
		return nil
	}
	top, err := filepath.EvalSymlinks(t.place.top)
	if err != nil {
		return role.Fail(role.Environment, err, "")
	}
	t.Walls.Tmp = filepath.Join(top, "tmp")
	own := filepath.Join(top, "tree")
	if t.place.tree != nil {
		tree := store.Open(filepath.Join(top, "store")).Tree(filepath.Join(top, "trees"), t.Agent.Name, store.Seen{})
		own = tree.Dir()
		if t.Agent.Workspace.Mode == blackboard.ReadOnly {
			own = tree.GitDir()
		}
	}
	t.Walls.Write = append(slices.Clone(t.Walls.Write), own)
	if t.Lender != "" {
		t.Walls.Read = append(t.Walls.Read, t.Lender)
	}
	if err := os.MkdirAll(t.Walls.Tmp, 0o700); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("make a directory for temporary files: %w", err), "")
	}
	if len(confine.Gaps(confine.Level())) > 0 {
		t.say("note", confine.Say(confine.Level()))
	}
	return nil
}

// confined returns the places that the tool reaches; nil: all files of its user.
func (t *Trial) confined() *confine.Rules {
	if t.Walls == nil || confine.Level() == 0 {
		return nil
	}
	return confine.Of(*t.Walls)
}

// inherited are the variables of this process that the tool gets.
func (t *Trial) inherited() []string {
	vars := env.Inherited(t.Environ())
	if t.Walls == nil {
		return vars
	}
	vars = slices.DeleteFunc(vars, func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	return append(vars, "TMPDIR="+t.Walls.Tmp)
}
