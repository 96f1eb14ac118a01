package store

// This file names the files of a tool that git takes into no commit, and a leftover so lacks.

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sett/roles/role"
	"sett/roles/role/words"
)

// leavePaths says that paths are not kept.
func (k *keeping) leavePaths(paths []string, why string) {
	const most = 5
	if len(paths) == 0 {
		return
	}
	var told []string
	for _, p := range paths[:min(len(paths), most)] {
		told = append(told, role.Clean(p))
	}
	text := strings.Join(told, ", ")
	if more := len(paths) - most; more > 0 {
		text += " and " + words.Count(more, "more", "more")
	}
	k.leave("%s: %s", text, why)
}

// leaveRefused says that files are not kept which git add has left out, as its error tells: those that are still not in the
// index, and changed ones that the error names. (A file of git LFS differs from its pointer there.)
func (k *keeping) leaveRefused(ctx context.Context, c Changes, err error) error {
	var failed *gitError
	if !errors.As(err, &failed) {
		return nil
	}
	named := func(before, name string) bool { return strings.Contains(failed.said, before+"'"+name+"'") }
	var invalid, unread []string
	env, specs := c.beside(k.tree.Dir())
	for _, state := range []string{"--others", "--modified"} {
		out, err := k.tree.git(ctx, env, append([]string{"ls-files", "-z", state, "--exclude-standard"}, specs...)...)
		if err != nil {
			return err
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			switch {
			case name == "" || state == "--modified" && !named("", name):
			case named("invalid path ", name):
				invalid = append(invalid, name)
			case !slices.Contains(unread, name):
				unread = append(unread, name)
			}
		}
	}
	k.leavePaths(invalid, "git takes no file of such a name")
	k.leavePaths(unread, "git cannot read it")
	return nil
}
