package cub

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role/confine"
	"sett/roles/role/store"
)

// confined returns the places that the tool and the bid script reach; nil: all files of
// their user. Where the kernel cannot keep them there, sett up has said so.
func confined(w *env.Walls) *confine.Rules {
	if w == nil || confine.Level() == 0 {
		return nil
	}
	return confine.Of(*w)
}

// makeDir makes the directory in which the agent's programs begin: in local mode a tool can have
// removed it. That of a tree is made for each grant as well.
func makeDir(settings env.Cub) error {
	if settings.Image != "" {
		return nil
	}
	return store.MakeDir(settings.Workspace)
}

// freshTmp empties the tool's directory for temporary files before a run. Other workers
// and slots may use that of a tool without a tree, and a bid script that of the only slot's
// tool, meanwhile: then it stays as it is.
func (x *executor) freshTmp() error {
	w, several := x.settings.Walls, len(x.crew.slots) > 1
	if w == nil {
		return nil
	}
	if err := os.MkdirAll(w.Tmp, 0o700); err != nil {
		return fmt.Errorf("make a directory for temporary files: %w", err)
	}
	if x.settings.Mode == blackboard.NoWorkspace && (x.settings.Fresh || x.assignment != nil || several) {
		return nil
	}
	if !several { // else it is this slot's alone
		if !x.scripting.TryLock() {
			return nil
		}
		defer x.scripting.Unlock()
	}
	entries, err := os.ReadDir(w.Tmp)
	for _, e := range entries {
		if err == nil {
			err = store.RemoveAll(filepath.Join(w.Tmp, e.Name()))
		}
	}
	if err != nil && x.settings.Image == "" {
		if _, err = store.Aside(w.Tmp, err); err == nil {
			err = os.Mkdir(w.Tmp, 0o700)
		}
	}
	if err != nil {
		return fmt.Errorf("empty the directory for temporary files: %w", err)
	}
	return nil
}

// scriptTmp makes the directory for a bid script, which is the tool's, and keeps it from
// being emptied until done is called.
func (c *state) scriptTmp() (done func()) {
	c.scripting.RLock()
	if w := c.settings.Walls; w != nil {
		_ = os.MkdirAll(w.Tmp, 0o700) // a script that needs it says that it is not there
	}
	return c.scripting.RUnlock
}

// toolEnviron is the cub's environment, with the tool's directory for temporary files.
func (c *state) toolEnviron(w *env.Walls) []string {
	all := c.env.Environ()
	if w == nil {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.HasPrefix(v, "TMPDIR=") || strings.HasPrefix(v, env.ToolWalls+"=")
	})
	return append(all, "TMPDIR="+w.Tmp)
}
