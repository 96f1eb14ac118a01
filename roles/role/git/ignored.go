package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"sett/roles/role"
	"sett/runtime/repofile"
)

// mostIgnored bounds each of a person's lists of ignored files, in bytes.
const mostIgnored = 1 << 20

// Ignored returns the patterns of files that git ignores in a repository beside those of its .gitignore files, as the
// text of one list: those of core.excludesFile, or of the file that git reads without this setting, and after them those of
// info/exclude, which outrank them. Unread says of each list that does not count, and why.
//
// The setting of the repository's own configuration names a file in the repository only: agents read the list, and whoever
// wrote that configuration may have named a file that is none of theirs.
func Ignored(ctx context.Context, g Repository) (list string, unread []string, err error) {
	own, _, err := g.Own(ctx)
	if err != nil {
		return "", nil, err
	}
	top := g.Dir
	if out, err := g.Run(ctx, "rev-parse", "--show-toplevel"); err == nil { // a bare repository has none
		top = strings.TrimSuffix(out, "\n")
	}
	file, foreign, err := excludesFile(ctx, g, top)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	add := func(name, root, path string) {
		text, err := repofile.Read(root, path, mostIgnored)
		switch {
		case err == nil:
			b.WriteString(strings.TrimPrefix(string(text), "\ufeff")) // git skips one at a file's begin only
			b.WriteString("\n")
		case !errors.Is(err, fs.ErrNotExist):
			unread = append(unread, fmt.Sprintf("agents' commits may have files that %s has git ignore, for Sett does not read it: %s", name, role.Clean(err.Error())))
		}
	}
	switch {
	case file == "":
	case !foreign:
		add(role.Clean(file), "", file)
	case within(file, own):
		add(role.Clean(file), own, file)
	default:
		add(role.Clean(file)+" (core.excludesFile of the repository's own configuration)", top, file)
	}
	add(role.Clean(filepath.Join(own, "info", "exclude")), own, filepath.Join(own, "info", "exclude"))
	return b.String(), unread, nil
}

// excludesFile returns the absolute path of a person's list for all repositories; empty: there is none. Foreign says that the
// repository's own configuration names it.
func excludesFile(ctx context.Context, g Repository, top string) (file string, foreign bool, err error) {
	out, said, err := g.exec(ctx, "", []string{"config", "-z", "--show-scope", "--type=path", "--get", "core.excludesFile"})
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err == nil:
		scope, file, _ := strings.Cut(strings.TrimSuffix(out, "\x00"), "\x00")
		if file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(top, file)
		}
		return file, scope == "local" || scope == "worktree", nil
	case said != "": // without the setting git says nothing
		return "", false, role.Fail(role.Environment, fmt.Errorf("read core.excludesFile: %s", role.CleanText(strings.TrimSpace(said))), "")
	}
	home := ""
	for _, v := range g.Environ {
		switch name, value, _ := strings.Cut(v, "="); {
		case value == "":
		case name == "XDG_CONFIG_HOME":
			return filepath.Join(value, "git", "ignore"), false, nil
		case name == "HOME":
			home = value
		}
	}
	if home == "" {
		return "", false, nil
	}
	return filepath.Join(home, ".config", "git", "ignore"), false, nil
}
