package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role"
)

// Uncommitted are the files of a tree that a commit made in it lacks, or has otherwise: without ignored ones, the agent's own
// paths, and files with a filter of git, of which the commit has another form. Nothing more works in the tree: it is
// disarmed. Size is that of the files in bytes.
func Uncommitted(ctx context.Context, t *Tree, commit string, own []string) (names []string, size int64, err error) {
	if _, err := t.disarm(disarming{readable: true, own: own}); err != nil {
		return nil, 0, err
	}
	shelf, err := os.MkdirTemp(t.store.Dir, "taking-")
	if err != nil {
		return nil, 0, fmt.Errorf("look for uncommitted changes: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	index := filepath.Join(shelf, "index")
	if err := copyFile(t.index(), index); err != nil {
		return nil, 0, fmt.Errorf("look for uncommitted changes: %w", role.Cause(err))
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	read, err := sparsely(t, commandOn(t, env, "read-tree", "--reset", commit)) // it keeps what the index knows of files that are the same
	if err == nil {
		_, err = t.store.run(ctx, read)
	}
	if err != nil {
		return nil, 0, err
	}
	out, err := listChanged(ctx, t, Changes{Own: own}, env)
	if err != nil || out == "" {
		return nil, 0, err
	}
	ask := commandOn(t, env, "check-attr", "-z", "--stdin", "filter")
	ask.stdin = out
	filtered, err := t.store.run(ctx, ask)
	if err != nil {
		return nil, 0, err
	}
	attribute := strings.Split(filtered, "\x00") // a path, the name of the attribute, its value
	for i := 0; i+2 < len(attribute); i += 3 {
		if value := attribute[i+2]; value == "unspecified" || value == "unset" {
			names = append(names, attribute[i])
			size += sizeIn(t, attribute[i])
		}
	}
	return names, size, nil
}
