package store

// This file has git leave out the files that a sparse tree does not have.

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sparseDir is a git directory beside the tree that names the folders which it has. Git
// finds them nowhere else, and the store's is shared.
const sparseDir = "sparse"

// sparsely has git leave out the files that the tree does not have.
func sparsely(t *Tree, c command) (command, error) {
	if len(t.care.Sparse) == 0 {
		return c, nil
	}
	dir := filepath.Join(t.dir, sparseDir)
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
		return c, err
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "info/sparse-checkout": cones(t.care.Sparse)} {
		if err := WriteSoon(filepath.Join(dir, name), text); err != nil {
			return c, err
		}
	}
	c.gitDir = dir
	c.env = append(c.env, "GIT_COMMON_DIR="+t.store.Dir)
	c.config = []string{"core.sparseCheckout=true", "core.sparseCheckoutCone=true"}
	return c, nil
}

// resparse empties a tree that had other folders: git believes its index about files that a
// tree does not have.
func resparse(t *Tree) error {
	want := ""
	if len(t.care.Sparse) > 0 {
		want = cones(t.care.Sparse)
	}
	has, err := os.ReadFile(filepath.Join(t.dir, sparseDir, "info", "sparse-checkout"))
	if err != nil && !gone(err) {
		return err
	}
	if string(has) == want {
		return nil
	}
	return errors.Join(t.clear(), discard(t, filepath.Join(t.dir, sparseDir)))
}

// cones are folders in git's form: with all below them, and with the files beside the way to each.
func cones(folders []string) string {
	var b strings.Builder
	b.WriteString("/*\n!/*/\n")
	parents := map[string]bool{}
	for _, f := range folders {
		for in := path.Dir(f); in != "."; in = path.Dir(in) {
			parents[in] = true
		}
	}
	within := func(p string) bool { // another folder has it whole
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(p, f+"/") })
	}
	all := slices.Clone(folders)
	for p := range parents {
		if !slices.Contains(folders, p) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		switch {
		case within(p):
		case slices.Contains(folders, p):
			b.WriteString("/" + p + "/\n")
		default:
			b.WriteString("/" + p + "/\n!/" + p + "/*/\n")
		}
	}
	return b.String()
}
