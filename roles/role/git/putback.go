package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sett/roles/role"
)

// unwritten is the error of a read-tree that could not write the files of a working tree. It
// puts those that it wrote back: git leaves them, while the index and the branch are
// as before. A read-tree that refused has written nothing, and a file may be newer than the
// commit: then nothing is put back.
func unwritten(ctx context.Context, g Repository, tree, from, to string, before []change, why error) error {
	if !regexp.MustCompile(`unable to (write|create|unlink)|cannot (create|unlink)|failed to symlink|filter .*failed`).MatchString(why.Error()) {
		return why
	}
	hint := "make room where the working tree is, then land again"
	if !FullDisk(why.Error()) {
		hint = cmp.Or(Remedy(why), "see why git cannot write there, then land again")
	}
	if err := putBack(ctx, g, tree, from, to, before); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("%w\nand not all files could be put back: %w", why, err),
			"make room, then have git write what is committed: git -C %s restore .", role.ShellWord(tree))
	}
	return role.Fail(role.Environment, fmt.Errorf("%w\nnothing is changed: what was written is put back", why), "%s", hint)
}

// putBack has the files in which two commits differ be as the index has them, but for those that were written before.
func putBack(ctx context.Context, g Repository, tree, from, to string, before []change) error {
	var err error
	if from == "" {
		if from, err = g.EmptyTree(ctx); err != nil {
			return err
		}
	}
	out, err := g.Run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to, "--")
	if err != nil {
		return err
	}
	var failed []error
	var known []string
	changes, kept := fields0(out), map[string]bool{}
	for _, c := range before {
		kept[c.path] = true
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if kept[changes[i+1]] {
			continue
		}
		if changes[i] != "A" {
			known = append(known, changes[i+1])
			continue
		}
		if err := removeFile(tree, changes[i+1]); err != nil { // first: it makes room
			failed = append(failed, err)
		}
	}
	if len(known) > 0 {
		_, err = g.Feed(ctx, strings.Join(known, "\x00")+"\x00", "checkout-index", "-f", "-u", "-q", "-z", "--stdin")
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// removeFile removes a file of a working tree that may be there, and the directories that are
// empty then, as git does.
func removeFile(tree, file string) error {
	at := filepath.Join(tree, filepath.FromSlash(file))
	if err := os.Remove(at); err != nil {
		if _, missing := os.Lstat(at); missing == nil { // a name that this system cannot have is missing, too
			return err
		}
	}
	for dir := path.Dir(file); dir != "." && os.Remove(filepath.Join(tree, filepath.FromSlash(dir))) == nil; dir = path.Dir(dir) {
	}
	return nil
}
