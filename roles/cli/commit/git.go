package commit

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
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// Repository reads the commits of an instance. Its settings make git
// read objects only: no program is run and nothing is fetched.
type Repository struct {
	git.Repository
	User git.Repository           // the user's own
	Hint func(args string) string // a command on the instance of this repository
}

// In returns the commits of an instance.
func In(ctx context.Context, at *instance.Locator, in *instance.Instance) Repository {
	return Repository{instance.Store(ctx, at, in), instance.Repository(at, in), func(args string) string { return at.CommandLine(in, args) }}
}

// commitForm is how a payload names a commit. An agent's cub has checked it, but
// others may write to the blackboard too.
var commitForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`) })

// HashOf returns the whole hash of the commit that an artefact names, which is in
// the repository. Names of branches and tags are never looked at.
func (g Repository) HashOf(ctx context.Context, artefact blackboard.Artefact) (string, error) {
	hash, raw := artefact.CommitHash(), g.Hint("unearth "+words.Short(artefact.ID)+" --raw")
	if !commitForm().MatchString(hash) {
		return "", role.Fail(role.Failed, fmt.Errorf("artefact %s names no commit: %q is no hash", words.Short(artefact.ID), words.Shorten(role.Clean(hash), 40)), "%s", raw)
	}
	return find(ctx, g, hash, raw)
}

// find returns the whole hash of the one commit that begins so. look is the command that
// prints the hash.
func find(ctx context.Context, g Repository, hash, look string) (string, error) {
	out, err := g.Run(ctx, "rev-parse", "--disambiguate="+strings.ToLower(hash))
	if err != nil {
		return "", err
	}
	var found []string
	const most = 20
	for _, object := range strings.Fields(out)[:min(len(strings.Fields(out)), most)] {
		kind, err := g.Run(ctx, "cat-file", "-t", object)
		if errors.Is(err, git.ErrMissing) || ctx.Err() != nil {
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
		return "", role.Fail(role.NotFound, fmt.Errorf("commit %s is neither in the instance's store nor in %s", strings.ToLower(hash), role.Clean(g.User.Dir)),
			"was it made in another clone, or removed since? %s prints the hash", look)
	}
	return "", role.Fail(role.Failed, fmt.Errorf("%s is the beginning of %d commits", strings.ToLower(hash), len(found)), "%s", look)
}

// Whole returns the whole hash of a commit by its hash, or the beginning of it. Names of
// branches and tags are never looked at.
func (g Repository) Whole(ctx context.Context, hash string) (string, error) {
	if !commitForm().MatchString(hash) {
		return "", role.Fail(role.Usage, fmt.Errorf("%q is no commit's hash", words.Shorten(role.Clean(hash), 40)), "7 to 64 hexadecimal digits, as git log prints them")
	}
	return find(ctx, g, hash, g.Hint("hoard"))
}

// Commit reads a commit by its hash.
func (g Repository) Commit(ctx context.Context, hash string) (*Commit, error) {
	out, err := g.Run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8",
		"--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b", hash, "--")
	if err != nil {
		return nil, err
	}
	fields := strings.SplitN(out, "\x00", 7)
	if len(fields) < 7 {
		return nil, role.Fail(role.Environment, fmt.Errorf("read commit %s: git show says %q", hash, words.Shorten(role.Clean(out), 80)), "")
	}
	c := &Commit{Hash: fields[0], Parents: strings.Fields(fields[1]), Author: fields[2], Email: fields[3],
		Subject: fields[5], Body: strings.TrimRight(fields[6], "\n")}
	c.written, _ = time.Parse(time.RFC3339, fields[4]) // one that git cannot tell is the zero time
	c.Date = c.written.UTC()
	if c.Files, err = g.Files(ctx, c.Base(), hash); err != nil {
		return nil, err
	}
	return c, nil
}

// Base returns the commit's first parent, for comparison; empty when it has none.
func (v *Commit) Base() string {
	if len(v.Parents) == 0 {
		return ""
	}
	return v.Parents[0]
}

// diff returns the difference between two Repository, or without a first one all of the
// second. It uses git's plumbing, which ignores the user's settings, so that its
// output can always be applied.
func (g Repository) diff(ctx context.Context, from, to string, form ...string) (string, error) {
	args := append([]string{"diff-tree", "-r", "--root", "--no-commit-id", "-M", "--no-ext-diff", "--no-textconv", "--no-color",
		"--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"}, form...)
	if from != "" {
		args = append(args, from)
	}
	return g.Run(ctx, append(args, to, "--")...)
}

// Files returns the files in which two commits differ. Without a first one they are all
// of the second.
func (g Repository) Files(ctx context.Context, from, to string) ([]File, error) {
	out, err := g.diff(ctx, from, to, "--numstat", "-z")
	return append([]File{}, numstat(out)...), err
}

// Patch returns the difference between two commits as a patch.
func (g Repository) Patch(ctx context.Context, from, to string) (string, error) {
	return g.diff(ctx, from, to, "-p", "--binary", "--full-index")
}

// numstat reads the output of git diff-tree --numstat -z.
func numstat(out string) []File {
	var all []File
	parts := strings.Split(out, "\x00")
	for i := 0; i < len(parts); i++ {
		fields := strings.SplitN(parts[i], "\t", 3)
		if len(fields) < 3 {
			continue
		}
		f := File{Path: fields[2], Binary: fields[0] == "-"}
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
