package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// repositories refuses to land where submodules, or other repositories, are in the way: git stash leaves them as they are.
func (l *looker) repositories(ctx context.Context, files []string) error {
	var paths []string
	for _, f := range files {
		paths = append(paths, strings.TrimSuffix(f, "/"))
	}
	var linked map[string]bool // by .gitmodules, or not
	if l.From != "" {
		var err error
		if linked, err = git.Linked(ctx, l.both, l.Directory, l.From, paths); err != nil {
			return err
		}
	}
	var named, moved, other []string
	for _, f := range files {
		at, folder := strings.CutSuffix(f, "/")
		switch known, is := linked[at]; {
		case folder && known:
			named = append(named, at)
		case folder:
			other = append(other, at)
		case is && isFolder(filepath.Join(l.Directory, filepath.FromSlash(at))):
			moved = append(moved, at)
		}
	}
	refuse := func(what string, files []string, hint string, args ...any) error {
		lines := append([]string{fmt.Sprintf("landing on %s %s%s", l.Branch, what, l.afterCut())}, few(files)...)
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), hint, args...)
	}
	command := l.command(l.Directory)
	switch {
	case len(named) > 0:
		return refuse("would put files in the place of "+words.Count(len(named), "submodule that is checked out", "submodules that are checked out"), named,
			"%s submodule deinit%s makes room, and refuses where a submodule has changes: commit or stash them in it first. "+
				"It keeps all commits and stashes, but removes ignored files: move those that you need", command, shellWords(named))
	case len(other) > 0:
		return refuse("would put files in the place of "+words.Count(len(other), "folder with a repository of its own", "folders with repositories of their own"), other,
			"move them out of %s, then land again; git stash leaves them as they are", role.Clean(l.Directory))
	case len(moved) > 0:
		return refuse("would change "+words.Count(len(moved), "submodule that is at another commit than committed", "submodules that are at other commits than committed"), moved,
			"commit that; or, once that commit is on a branch of its own, %s restore --staged%s && %s submodule update%s takes it back", command, shellWords(moved), command, shellWords(moved))
	}
	return nil
}

func isFolder(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}

func shellWords(files []string) (all string) {
	for _, f := range files {
		all += " " + role.ShellWord(role.Clean(f))
	}
	return all
}
