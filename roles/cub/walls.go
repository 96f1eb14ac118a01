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
func (c *state) confined() *confine.Rules {
	w := c.settings.Walls
	if w == nil || confine.Level() == 0 {
		return nil
	}
	return confine.Of(*w)
}

// freshTmp empties the tool's directory for temporary files before a run. Other workers
// may use that of a tool without a tree, and a bid script that of a tool, meanwhile: then
// it stays as it is.
func (c *state) freshTmp() error {
	w := c.settings.Walls
	if w == nil {
		return nil
	}
	if err := os.MkdirAll(w.Tmp, 0o700); err != nil {
		return fmt.Errorf("make a directory for temporary files: %w", err)
	}
	if c.settings.Mode == blackboard.NoWorkspace && (c.settings.Fresh || c.assignment != nil) || !c.scripting.TryLock() {
		return nil
	}
	defer c.scripting.Unlock()
	entries, err := os.ReadDir(w.Tmp)
	for _, e := range entries {
		if err == nil {
			err = store.RemoveAll(filepath.Join(w.Tmp, e.Name()))
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
func (c *state) toolEnviron() []string {
	all := c.env.Environ()
	if c.settings.Walls == nil {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.HasPrefix(v, "TMPDIR=") || strings.HasPrefix(v, env.ToolWalls+"=")
	})
	return append(all, "TMPDIR="+c.settings.Walls.Tmp)
}
