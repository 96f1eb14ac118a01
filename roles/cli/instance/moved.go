package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/runtime/repofile"
)

// NoteFirst notes the id and the first commit of the instance's repository, by which it is
// recognised after it was moved, or another one came to its place.
func NoteFirst(ctx context.Context, l *Locator, in *Instance) {
	in.ID = identityOf(in.Workspace)
	if in.First != "" && firstIs(ctx, l, in) != firstGone { // else its history was rewritten, or it is another one by agreement
		return
	}
	in.First = ""
	out, err := Repository(l, in).Run(ctx, "rev-list", "--max-parents=0", "--first-parent", "HEAD", "--")
	if err == nil { // else there is no commit yet
		in.First = strings.TrimSpace(out)
	}
}

// The answers of firstIs.
const (
	firstUnknown = iota // none is noted, or git cannot say
	firstThere
	firstGone
)

// firstIs says whether the repository in an instance's workspace has the first commit of the one that the instance was
// made for. A clone has it too, and a branch without history does not lose it.
func firstIs(ctx context.Context, l *Locator, in *Instance) int {
	if in.First == "" || !Exists(filepath.Join(in.Workspace, ".git")) {
		return firstUnknown
	}
	g := Repository(l, in)
	if _, err := g.Run(ctx, "cat-file", "-e", in.First+"^{commit}"); err == nil {
		return firstThere
	}
	if _, err := g.Run(ctx, "rev-parse", "--git-dir"); err != nil {
		return firstUnknown
	}
	return firstGone
}

// Replaced returns the instance that an up would go on with, if the workspace now has another repository than the one
// that the instance was made for; else nil. The id of the git directory tells that its history was rewritten.
func Replaced(ctx context.Context, l *Locator, root string) *Instance {
	quiet := *l.Terminal
	quiet.Stderr = io.Discard
	in, err := l.With(&quiet, l.Flags).Find()
	if err != nil || in.Workspace != root || in.ID != "" && in.ID == identityOf(root) || firstIs(ctx, l, in) != firstGone {
		return nil
	}
	return in
}

// recognise looks whether the repository of a workspace without an instance has had one at
// another place. One whose workspace is gone was moved: the error says how to take it along. Of a
// clone the user is told that its instance is a new one.
func recognise(ctx context.Context, l *Locator, root string, all []*Instance) error {
	if !Exists(filepath.Join(root, ".git")) {
		return nil
	}
	g := git.At(l.Environ(), root)
	var moved, others []*Instance
	for _, in := range all {
		if in.First == "" || in.Workspace == root || !hasLedger(in) {
			continue
		}
		if commit, _ := g.Named(ctx, in.First+"^{commit}"); commit != in.First {
			continue
		}
		if Exists(in.Workspace) {
			others = append(others, in)
		} else {
			moved = append(moved, in)
		}
	}
	if len(moved) > 0 {
		lines := []string{"this repository was moved: it has an instance with a ledger"}
		for _, in := range moved {
			lines = append(lines, fmt.Sprintf("%s, of %s, which is gone", in.Name, role.Clean(in.Workspace)))
		}
		return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")),
			"sett up --name %s takes it along; another name starts an empty one: sett up --name NEW", moved[0].Name)
	}
	if len(others) > 0 {
		l.Sayf("sett: note: instance %s works on the same repository in %s (--name %s means it); this one begins with an empty ledger\n", others[0].Name, role.Clean(others[0].Workspace), others[0].Name)
	}
	return nil
}

// ofRepository returns the instance of another working tree of the repository, the main one first; nil: there is none.
func ofRepository(all []*Instance, root string) (found *Instance) {
	shared := commonDir(root)
	for _, in := range all {
		if shared == "" || in.Workspace == root || commonDir(in.Workspace) != shared {
			continue
		}
		if found == nil || filepath.Join(in.Workspace, ".git") == shared {
			found = in
		}
	}
	return found
}

// commonDir is the git directory that all working trees of a repository share; empty: there is none.
func commonDir(root string) string {
	dir := filepath.Join(root, ".git")
	if info, err := os.Lstat(dir); err == nil && info.Mode().IsRegular() { // of a linked working tree
		named, _ := strings.CutPrefix(oneLine(dir), "gitdir: ")
		if dir = absolute(root, named); named == "" {
			return ""
		}
		if up := oneLine(filepath.Join(dir, "commondir")); up != "" {
			dir = absolute(dir, up)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return dir
}

// mostLine bounds a file of git with a path, in bytes.
const mostLine = 64 << 10

// oneLine is the text of such a file; empty: it cannot be read.
func oneLine(file string) string {
	text, _ := repofile.Read("", file, mostLine)
	return strings.TrimSpace(string(text))
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// hasLedger says whether the instance has seen its blackboard's mark.
func hasLedger(in *Instance) bool { return Exists(in.marksPath()) }
