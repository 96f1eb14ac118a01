package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const stranger = 4321 // a user that this machine need not know

func ownerAt(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// TestStoreOfAnotherUser: root's commands write into the store of another user, who cannot
// reach it, as that user.
func TestStoreOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a store to another user\nhint: sudo env PATH=\"$PATH\" make test")
	}
	p := newPerson(t)
	first := p.commit("a", "1\n")
	home := filepath.Join(t.TempDir(), "root's home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Create(t.Context(), filepath.Join(home, "store"), "sha1", []string{p.objects()})
	if err != nil {
		t.Fatal(err)
	}
	trees := filepath.Join(home, "trees")
	tree := s.Tree(trees, "writer", Seen{})
	if err := tree.Make(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tree.Dir(), "left"), "by root\n")
	for range 2 {
		if err := Give(stranger, stranger, s.Dir, trees); err != nil {
			t.Fatal(err)
		}
	}
	second := p.commit("b", "2\n")
	fetch(t, s, p, second)
	if err := tree.Prepare(t.Context(), Plan{Commit: second, Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Merge(t.Context(), []string{first, second}); err != nil || kept.Commit != second {
		t.Errorf("merged: %+v, %v", kept, err)
	}
	for _, dir := range []string{p.dir, s.Dir, trees} {
		want := stranger
		if dir == p.dir {
			want = 0 // the files that the store shares with the person stay the person's
		}
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			info, e := os.Lstat(path)
			if err != nil || e != nil {
				return e
			}
			shared := info.Mode().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink > 1
			tools := dir == trees && filepath.Base(filepath.Dir(path)) != "trees" && path != trees && path != tree.Dir() // the role makes these
			if got := ownerAt(t, path); got != want && !shared && !tools {
				t.Errorf("%s belongs to %d", path, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestGivenAway: a tool of root's that gives its tree to another user does not spoil the next grant, for which git would find a
// dubious ownership.
func TestGivenAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away\nhint: sudo env PATH=\"$PATH\" make test")
	}
	for _, plan := range []Plan{{}, {ReadOnly: true}} {
		p := newPerson(t)
		plan.Commit, plan.Branch = p.commit("file", "1\n", "dir/file", "1\n"), "main"
		tree := prepared(t, p.store(), plan.Commit)
		prepare(t, tree, plan)
		run(t, tree.Place(), "chown", "-R", "4321:4321", ".")
		prepare(t, tree, plan)
		if got, err := try(tree.Dir(), "git", "status", "--porcelain"); got != "" || err != nil {
			t.Errorf("%+v: git says %q, %v", plan, got, err)
		}
		for _, dir := range []string{tree.Place(), tree.Dir(), filepath.Join(tree.Dir(), "file"), filepath.Join(tree.Dir(), "dir"), filepath.Join(tree.Dir(), ".git"), tree.GitDir()} {
			if uid := ownerAt(t, dir); uid != 0 {
				t.Errorf("%+v: %s belongs to %d", plan, dir, uid)
			}
		}
	}
}
