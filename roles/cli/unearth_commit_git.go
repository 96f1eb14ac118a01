package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// commits reads commits of a repository that agents may write. Nothing in it gets
// git to run, fetch or follow anything but the objects themselves.
type commits struct {
	repository
	hint func(args string) string // a command on the instance whose repository it is
}

func (a *app) commits(in *instance) commits {
	g := a.repository(in.Workspace)
	g.environ = append(g.environ, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1")
	return commits{g, func(args string) string { return a.commandLine(in, args) }}
}

// commitForm is how a payload names a commit. An agent's cub has checked it, but
// what is on the blackboard may be of any hand.
var commitForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`) })

// hashOf returns the whole hash of the commit that an artefact names, which is in
// the repository. Names of branches and tags are never looked at.
func (g commits) hashOf(ctx context.Context, artefact blackboard.Artefact) (string, error) {
	hash, raw := strings.TrimSpace(artefact.Payload), g.hint("unearth "+short(artefact.ID)+" --raw")
	if !commitForm().MatchString(hash) {
		return "", role.Fail(role.Failed, fmt.Errorf("artefact %s names no commit: its payload is no hash", short(artefact.ID)), "%s", raw)
	}
	out, err := g.run(ctx, "rev-parse", "--disambiguate="+strings.ToLower(hash))
	if err != nil {
		return "", err
	}
	var found []string
	const most = 20
	for _, object := range strings.Fields(out)[:min(len(strings.Fields(out)), most)] {
		kind, err := g.run(ctx, "cat-file", "-t", object)
		if errors.Is(err, errNoGit) || ctx.Err() != nil {
			return "", err
		}
		if err == nil && strings.TrimSpace(kind) == "commit" {
			found = append(found, object)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", role.Fail(role.NotFound, fmt.Errorf("commit %s is not in %s", strings.ToLower(hash), clean(g.dir)),
			"was it made in another clone, or removed since? %s prints the hash", raw)
	}
	return "", role.Fail(role.Failed, fmt.Errorf("%s is the beginning of %d commits", strings.ToLower(hash), len(found)), "%s", raw)
}

// commit reads a commit by its hash.
func (g commits) commit(ctx context.Context, hash string) (*commitView, error) {
	out, err := g.run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8",
		"--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b", hash, "--")
	if err != nil {
		return nil, err
	}
	fields := strings.SplitN(out, "\x00", 7)
	if len(fields) < 7 {
		return nil, role.Fail(role.Environment, fmt.Errorf("read commit %s: git show says %q", hash, shorten(clean(out), 80)), "")
	}
	c := &commitView{Hash: fields[0], Parents: strings.Fields(fields[1]), Author: fields[2], Email: fields[3],
		Subject: fields[5], Body: strings.TrimRight(fields[6], "\n"), Files: []commitFile{}}
	c.written, _ = time.Parse(time.RFC3339, fields[4]) // one that git cannot tell is the zero time
	c.Date = c.written.UTC()
	if out, err = g.diff(ctx, c.base(), hash, "--numstat", "-z"); err != nil {
		return nil, err
	}
	c.Files = append(c.Files, numstat(out)...)
	return c, nil
}

// base returns what a commit is compared with: its first parent; empty: nothing.
func (v *commitView) base() string {
	if len(v.Parents) == 0 {
		return ""
	}
	return v.Parents[0]
}

// diff returns what git says of the difference between two commits, or of all that
// is in the second. It is the plumbing that asks: it follows nobody's taste, and so
// what it prints can always be applied.
func (g commits) diff(ctx context.Context, from, to string, form ...string) (string, error) {
	args := append([]string{"diff-tree", "-r", "--root", "--no-commit-id", "-M", "--no-ext-diff", "--no-textconv", "--no-color",
		"--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"}, form...)
	if from != "" {
		args = append(args, from)
	}
	return g.run(ctx, append(args, to, "--")...)
}

func (g commits) patch(ctx context.Context, from, to string) (string, error) {
	return g.diff(ctx, from, to, "-p", "--binary", "--full-index")
}

// numstat reads what git diff-tree --numstat -z writes.
func numstat(out string) []commitFile {
	var all []commitFile
	parts := strings.Split(out, "\x00")
	for i := 0; i < len(parts); i++ {
		fields := strings.SplitN(parts[i], "\t", 3)
		if len(fields) < 3 {
			continue
		}
		f := commitFile{Path: fields[2], Binary: fields[0] == "-"}
		f.Added, _ = strconv.Atoi(fields[0]) // "-" of a binary file is none
		f.Deleted, _ = strconv.Atoi(fields[1])
		if f.Path == "" && i+2 < len(parts) { // renamed: both names follow
			f.From, f.Path = parts[i+1], parts[i+2]
			i += 2
		}
		all = append(all, f)
	}
	return all
}
