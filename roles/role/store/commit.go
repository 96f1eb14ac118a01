package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sett/roles/role"
)

// Made is a commit of a tool's changes.
type Made struct {
	Commit   string   // empty: the tool changed nothing
	Embedded []string // folders that were repositories of their own: their files are in the commit, their history is not
	Refused  []string // paths that are not in the commit, with names such as .GIT, which git takes for its own; also without a commit
	Modules  []string // submodules in which the tool changed something, which is not in the commit; also without a commit
}

// Commit has a ref hold a commit of everything that a tool changed in its tree, without
// ignored files that it has not staged. The tool's own commits are kept beneath; where they have all changes,
// the last of them is the commit. It always builds on the tree's start: a tool that
// rewrote its history, or was on another branch, gets a merge. Known are commits that the
// store has. Where the start has work of the same claim, and nothing was changed since, the start is the commit.
//
// The ref is the last thing to be written. A call that was cut off is repeated, and finds the
// tool's repository as it was; one after the end returns the same commit. Nothing more works in the tree:
// Commit removes from it the things that git cannot store or must not read. An error is the tool's fault
// only where the store takes files.
func (t *Tree) Commit(ctx context.Context, c Changes, known []string, ref string) (made Made, err error) {
	if made.Commit, err = t.store.Commit(ctx, ref); err != nil || made.Commit != "" {
		return made, err
	}
	shelf, err := os.MkdirTemp(t.store.Dir, "taking-")
	if err != nil {
		return made, fmt.Errorf("commit the tree's changes: %w", role.Cause(err))
	}
	defer func() { _ = os.RemoveAll(shelf) }() // else the next start of the role does it
	m := making{Tree: t, changes: c, shelf: shelf}
	if made.Commit, err = m.make(ctx, known); err == nil {
		made.Modules, err = ChangedModules(ctx, t)
	}
	made.Refused = m.found.refused
	if err == nil && made.Commit != "" {
		made.Embedded = m.found.embedded
		err = m.receive(ctx, made.Commit, known, ref)
	}
	if err != nil {
		return Made{}, fmt.Errorf("commit the tree's changes: %w", blame(t, err))
	}
	return made, nil
}

// making is the work of one commit. Its objects are made on a shelf outside the store,
// beside copies of the tool's own, and are all checked before the store has them.
type making struct {
	*Tree
	changes Changes
	shelf   string
	tip     string // the tool's last commit, where that is not the start
	found   disarmed
}

// make returns the commit on the shelf; empty: there is none to make.
func (m *making) make(ctx context.Context, known []string) (string, error) {
	parents, err := m.parents(ctx, known)
	if err != nil {
		return "", err
	}
	tree, err := m.snapshot(ctx)
	if err != nil {
		return "", err
	}
	if len(parents) == 1 {
		onStart := parents[0] == m.changes.Start
		same, err := m.has(ctx, parents[0], tree)
		switch {
		case err != nil:
			return "", err
		case onStart && len(m.changes.Parents) > 0:
			parents = m.changes.Parents // the start has marks of the conflict
		case onStart && m.changes.Before != "":
			if reverted, err := m.has(ctx, m.changes.Before, tree); reverted || err != nil {
				return "", err
			}
			if same {
				return m.changes.Start, nil
			}
		case same && onStart:
			return "", nil
		case same:
			return parents[0], nil
		}
	}
	return m.store.commit(ctx, tree, m.changes, parents, m.environ()...)
}

// has says whether a commit has just these files.
func (m *making) has(ctx context.Context, commit, tree string) (bool, error) {
	its, err := m.git(ctx, "rev-parse", "--verify", "-q", commit+"^{tree}")
	return err == nil && line(its) == tree, refusal(err)
}

// parents are the start of the tree and the tool's last commit, without one that the
// other builds on.
func (m *making) parents(ctx context.Context, known []string) ([]string, error) {
	start, tip := m.changes.Start, m.Tree.tip()
	if tip == "" || tip == start {
		return named(start), nil
	}
	if err := copyObjects(ctx, m.Offer(tip, nil), m.shelf, m.changes.size()); err != nil {
		return nil, err
	}
	if _, err := m.store.resolve(ctx, tip, m.environ()); err != nil {
		return nil, err
	}
	if err := without(ctx, m.store, tip, append(named(start), known...), m.changes.Own, m.environ()); err != nil {
		return nil, err
	}
	tip, err := inPointers(ctx, m.store, m.Offer(tip, append(named(start), known...)), m.shelf, tip, m.changes.size())
	if err != nil {
		return nil, err
	}
	if m.tip = tip; start == "" {
		return named(tip), nil
	}
	base, err := m.git(ctx, "merge-base", start, tip)
	switch {
	case err != nil && exitCode(err) != 1: // 1: they have nothing in common
		return nil, refusal(err)
	case line(base) == start:
		return []string{tip}, nil
	case line(base) == tip:
		return []string{start}, nil
	}
	return []string{start, tip}, nil
}

// named is a list of one commit, or of none.
func named(commit string) []string {
	if commit == "" {
		return nil
	}
	return []string{commit}
}

// snapshot stores the tree's files on the shelf and returns git's tree of them. A file that
// the tool has committed, or staged with git add --force, counts also if it is ignored. The index is a copy, so that no next
// call trusts one with objects that never reached the store.
func (m *making) snapshot(ctx context.Context) (string, error) {
	wanted, err := wishesOf(ctx, m.Tree, m.changes)
	if err != nil {
		return "", err
	}
	if m.found, err = m.disarm(disarming{readable: true, spare: filepath.Join(m.Dir(), ".git"), own: m.changes.Own}); err != nil {
		return "", err
	}
	unlockIndex(m.Tree)
	if err := wanted.tell(ctx, m.store, func(args ...string) command { return commandOn(m.Tree, nil, args...) }); err != nil {
		return "", refusal(err)
	}
	changed, err := changedFiles(ctx, m.Tree, m.changes)
	if err == nil {
		err = m.changes.bounded(changed)
	}
	if err == nil {
		err = unsettled(m.Tree, changed)
	}
	if err != nil {
		return "", err
	}
	if err := copyFile(m.index(), m.copied()); err != nil {
		return "", err
	}
	if m.tip != "" {
		_, err := m.git(ctx, "read-tree", "--reset", m.tip)
		if err == nil {
			err = wanted.tell(ctx, m.store, func(args ...string) command { return commandWith(m, nil, args...) })
		}
		if err != nil {
			return "", refusal(err)
		}
	}
	if err := asPointers(ctx, m.Tree, commandWith(m, nil), m.changes); err != nil {
		return "", err
	}
	env, specs := m.changes.beside(m.Dir())
	_, err = gitWith(ctx, m, env, append([]string{"add", "-A"}, specs...)...)
	if err != nil && (exitCode(err) != 1 || IsTrouble(err)) { // 1: it has added all, and says that an excluded path lies in an ignored folder
		return "", refusal(err)
	}
	out, err := m.git(ctx, "write-tree")
	return line(out), refusal(err)
}

// receive brings the commit from the shelf into the store, checked, and has the ref hold it.
func (m *making) receive(ctx context.Context, commit string, known []string, ref string) error {
	pack, err := m.store.receive(ctx, commit, known, []string{Borrowed(m.shelf)}, m.changes.size())
	if err == nil {
		err = m.store.Hold(ctx, ref, commit)
	}
	if err == nil {
		m.store.release(pack)
	}
	return err
}

func (m *making) copied() string { return filepath.Join(m.shelf, "index") }

// environ has git write objects to the shelf, and read those of the store, too.
func (m *making) environ() []string {
	return []string{"GIT_OBJECT_DIRECTORY=" + m.shelf, Borrowed(m.store.Objects())}
}

// git runs git on the tree, the shelf and the copied index.
func (m *making) git(ctx context.Context, args ...string) (string, error) {
	return gitWith(ctx, m, nil, args...)
}

func gitWith(ctx context.Context, m *making, env []string, args ...string) (string, error) {
	return m.store.run(ctx, commandWith(m, env, args...))
}

func commandWith(m *making, env []string, args ...string) command {
	return command{
		args: args, dir: m.Dir(),
		env: slices.Concat(m.environ(), env, []string{"GIT_WORK_TREE=" + m.Dir(), "GIT_INDEX_FILE=" + m.copied()}),
	}
}

// copyFile copies a trusted file; one that is not there is no error. The copy has the same
// time: git takes files that are not older than its index for changed, until it has looked.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	info, err := source.Stat()
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
}
