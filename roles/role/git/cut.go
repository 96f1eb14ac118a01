package git

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// Cut is a landing in a working tree from its first file until its branch has moved. Its mark in the git directory is
// locked meanwhile: one that nobody has locked is of a landing that was cut off.
type Cut struct {
	Name     string `json:"name"`     // of the result, for people
	Artefact string `json:"artefact"` // empty: unknown
	Branch   string `json:"branch"`
	From     string `json:"from"` // empty: the branch had no commit
	To       string `json:"to"`
}

// markOf returns the file with the mark of a working tree.
func markOf(ctx context.Context, g Repository, tree string) (string, error) {
	at, err := directoriesOf(ctx, g.at(tree))
	return filepath.Join(at.own, "sett-landing"), err
}

// Mark marks a landing as begun, until the returned function is called, which has the mark stay of one that was cut off. It is a help only: what cannot be marked
// lands without, and so does the later one of two at once.
func Mark(ctx context.Context, g Repository, tree string, c Cut) (over func(cut bool)) {
	none := func(bool) {}
	name, err := markOf(ctx, g, tree)
	if err != nil {
		return none
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return none
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = f.Close()
		return none
	}
	text, _ := json.Marshal(c) // texts can always be written
	_ = f.Truncate(0)
	_, _ = f.WriteAt(append(text, '\n'), 0)
	_ = f.Sync()
	return func(cut bool) {
		if !cut {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// CutOff returns the landing that was cut off in a working tree before its branch moved; nil: none was, or the branch has
// moved since. The mark says no more than a person could: whoever can write it can also write the files.
func CutOff(ctx context.Context, g Repository, tree string) *Cut {
	name, err := markOf(ctx, g, tree)
	if err != nil {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // which unlocks it
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return nil
	}
	var c Cut
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil || json.Unmarshal(text, &c) != nil || c.Branch == "" || g.Tip(ctx, c.Branch) != c.From {
		return nil
	}
	c.Name = role.Clean(c.Name)
	return &c
}

// Missing returns those of the files that are not in the working tree: git removes a file before it writes it anew, so
// that a landing that was cut off may leave it so.
func (c *Cut) Missing(tree string, files []string) (missing []string) {
	for _, file := range files {
		if info, kind := lookAt(tree, file); kind == modeNone && info == nil {
			missing = append(missing, file)
		}
	}
	return missing
}

// Left says whether files that are not committed may be the landing's.
func (c *Cut) Left(ctx context.Context, g Repository, dirty []Dirt) bool {
	from := c.From
	if from == "" {
		from, _ = g.EmptyTree(ctx)
	}
	changes, err := changesOf(ctx, g, from, c.To)
	if err != nil {
		return len(dirty) > 0
	}
	for _, d := range dirty {
		if changes[d.Path].path != "" {
			return true
		}
	}
	return false
}
