package blame

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sett/roles/role"
	"sett/roles/role/git"
)

// Blame is the lines of a file with their origins. The names of its fields are part of
// the interface.
type Blame struct {
	File    string    `json:"file"` // as it was named
	Lines   []Line    `json:"lines"`
	Origins []*Origin `json:"origins"` // of the lines, in the order of their first line
}

// Line is a line of the file.
type Line struct {
	Number int    `json:"line"` // from 1
	Text   string `json:"text"`
	Commit string `json:"commit"` // that wrote it; empty: it is not committed
}

// commit is a commit as git blame knows it.
type commit struct {
	hash    string
	author  string
	date    time.Time
	subject string
}

// read reads the lines from first to last (0: all) of a file, by its path, and their commits.
func read(ctx context.Context, from Sources, path string, first, last int) ([]Line, []commit, error) {
	args := []string{"blame", "--porcelain", "--no-ignore-revs-file", "--no-textconv", "--encoding=UTF-8"}
	if first > 0 {
		args = append(args, fmt.Sprintf("-L%d,%d", first, last))
	}
	g := from.Commits
	if from.At != "" {
		args = append(args, from.At, "--", path)
	} else {
		g = from.User
		g.Dir = filepath.Dir(path)
		var err error
		if g, _, err = g.Guarded(ctx); err != nil {
			return nil, nil, err
		}
		args = append(args, "--", filepath.Base(path))
	}
	out, err := g.Run(ctx, args...)
	if err != nil && ctx.Err() == nil && !errors.Is(err, git.ErrMissing) {
		err = role.Fail(role.NotFound, err, "a file of the repository that is committed, such as git ls-files lists")
	}
	if err != nil {
		return nil, nil, err
	}
	return parse(out)
}

// parse reads the output of git blame --porcelain: of each line a head with its commit and
// its number, the commit's fields where it is new, and the text behind a tab.
func parse(out string) (lines []Line, commits []commit, err error) {
	at := map[string]int{} // a commit's index
	var now int
	var number string
	for row := range strings.Lines(out) {
		row = strings.TrimSuffix(row, "\n")
		if text, ok := strings.CutPrefix(row, "\t"); ok {
			n, err := strconv.Atoi(number)
			if err != nil {
				return nil, nil, role.Fail(role.Environment, fmt.Errorf("read blame: git says %q", role.Clean(number)), "")
			}
			lines = append(lines, Line{Number: n, Text: text, Commit: written(commits[now].hash)})
			continue
		}
		name, value, _ := strings.Cut(row, " ")
		if git.IsHash(name) && len(name) >= 40 {
			fields := strings.Fields(value)
			if len(fields) < 2 {
				return nil, nil, role.Fail(role.Environment, fmt.Errorf("read blame: git says %q", role.Clean(row)), "")
			}
			number = fields[1]
			if _, known := at[name]; !known {
				at[name] = len(commits)
				commits = append(commits, commit{hash: name})
			}
			now = at[name]
			continue
		}
		if len(commits) == 0 {
			return nil, nil, role.Fail(role.Environment, fmt.Errorf("read blame: git says %q", role.Clean(row)), "")
		}
		switch name {
		case "author":
			commits[now].author = value
		case "author-time":
			if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
				commits[now].date = time.Unix(seconds, 0).UTC()
			}
		case "summary":
			commits[now].subject = value
		}
	}
	return lines, commits, nil
}

// written is a commit's hash; empty: git names lines so that are not committed.
func written(hash string) string {
	if strings.Trim(hash, "0") == "" {
		return ""
	}
	return hash
}
