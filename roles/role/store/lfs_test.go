package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/roles/role/lfs"
)

// large is a content that is no pointer by its size.
var large = strings.Repeat("content of a large file\n", 100)

// lfsPerson is a person with git-lfs: files *.bin go to it.
func lfsPerson(t *testing.T, options ...string) *person {
	p := newPerson(t, options...)
	p.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "code", "x\n")
	return p
}

func (p *person) content() lfs.Objects { return Content(filepath.Join(p.dir, ".git", "objects")) }

// pointer stores a content as git-lfs would, and returns its pointer's text.
func (p *person) pointer(content string) string {
	p.t.Helper()
	made, err := p.content().Put(p.t.Context(), strings.NewReader(content))
	if err != nil {
		p.t.Fatal(err)
	}
	return made.Text()
}

// lfsStore is the store of that person with the content of these pointers.
func (p *person) lfsStore(pointers ...string) *Store {
	p.t.Helper()
	s := p.store()
	var all []lfs.Pointer
	for _, text := range pointers {
		made, ok := lfs.Parse(text)
		if !ok {
			p.t.Fatalf("no pointer: %q", text)
		}
		all = append(all, made)
	}
	if err := FetchContent(p.t.Context(), s, p.content(), all); err != nil {
		p.t.Fatal(err)
	}
	return s
}

func isFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Errorf("%s has %.60q (%d bytes), want %.60q: %v", path, got, len(got), want, err)
	}
}

// A tree has the content, and git there finds nothing changed; files of which the content is not at hand are pointers.
func TestContentInTree(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		p := lfsPerson(t, "--object-format="+format)
		at, unknown := p.pointer(large), lfs.Pointer{Hash: strings.Repeat("ab", 32), Size: 7}.Text()
		wrong := lfs.Pointer{Hash: strings.Repeat("cd", 32), Size: int64(len(large))}
		write(t, filepath.Join(string(p.content()), "cd", "cd", wrong.Hash), large)
		write(t, filepath.Join(p.dir, "a", "run.bin"), at)
		if err := os.Chmod(filepath.Join(p.dir, "a", "run.bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		commit := p.commit("one.bin", at, "no.bin", unknown, "text", at, "wrong.bin", wrong.Text())
		s := p.lfsStore(at, unknown, wrong.Text())
		tree := prepared(t, s, commit)
		look := func() {
			t.Helper()
			for name, want := range map[string]string{"one.bin": large, "a/run.bin": large, "no.bin": unknown, "text": at, "wrong.bin": wrong.Text(), "code": "x\n"} {
				isFile(t, filepath.Join(tree.Dir(), name), want)
			}
			if info, err := os.Stat(filepath.Join(tree.Dir(), "a", "run.bin")); err != nil || info.Mode().Perm()&0o100 == 0 {
				t.Errorf("the program cannot be run: %v %v", info, err)
			}
			if got := run(t, tree.Dir(), "git", "status", "--porcelain"); got != "" {
				t.Errorf("git finds changes: %s", got)
			}
			if got := Lacking(tree); !slices.Equal(got, []string{"no.bin", "wrong.bin"}) {
				t.Errorf("it lacks %q", got)
			}
		}
		look()
		if Content(s.Objects()).Has(wrong) {
			t.Error("the store keeps what is not the content")
		}
		made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("none"))
		if made.Commit != "" || err != nil {
			t.Errorf("%v, %v of no change", made, err)
		}
		write(t, filepath.Join(tree.Dir(), "one.bin"), "a tool was here")
		write(t, filepath.Join(tree.Dir(), "x.bin"), "and here")
		prepare(t, tree, Plan{Commit: commit, Branch: "main"})
		look()
	}
}

// What a tool changed is a pointer in Sett's commit and in what is kept, with its content in the store; the next tree has it.
func TestContentCommitted(t *testing.T) {
	t.Parallel()
	p := lfsPerson(t)
	at := p.pointer(large)
	commit := p.commit("one.bin", at, "two.bin", at, ".gitignore", "build/\n")
	s := p.lfsStore(at)
	for name, end := range map[string]func(*Tree) (string, error){
		"commit": func(tree *Tree) (string, error) {
			made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("commit"))
			return made.Commit, err
		},
		"keep": func(tree *Tree) (string, error) {
			kept, err := tree.Keep(t.Context(), Changes{Start: commit}, Leftover("claim", "writer", 1))
			return kept.Commit, err
		},
	} {
		tree := prepared(t, s, commit)
		for file, text := range map[string]string{"one.bin": large + "more", "new dir/new.bin": "new", "empty.bin": "", "code": "y\n", "build/x.bin": "ignored"} {
			write(t, filepath.Join(tree.Dir(), file), text)
		}
		if err := os.Chmod(filepath.Join(tree.Dir(), "one.bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(tree.Dir(), "link.bin")), os.Remove(filepath.Join(tree.Dir(), "two.bin")),
			os.Symlink(t.TempDir(), filepath.Join(tree.Dir(), "elsewhere"))); err != nil {
			t.Fatal(err)
		}
		made, err := end(tree)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		show := func(what string) string {
			return run(t, "", "git", "--git-dir="+s.Dir, "cat-file", "blob", made+":"+what)
		}
		for file, want := range map[string]string{"one.bin": large + "more", "new dir/new.bin": "new"} {
			pointer, ok := lfs.Parse(show(file) + "\n")
			if !ok || pointer.Size != int64(len(want)) || !Content(s.Objects()).Has(pointer) {
				t.Errorf("%s: %s is %q", name, file, show(file))
			}
		}
		if got := show("empty.bin") + show("code") + show("link.bin"); got != "y/etc/passwd" {
			t.Errorf("%s: others are %q", name, got)
		}
		files := run(t, "", "git", "--git-dir="+s.Dir, "diff", "--raw", "--abbrev=4", commit, made)
		if strings.Contains(files, "build") || !strings.Contains(files, ":100644 100755") || strings.Count(files, "\n") != 6 {
			t.Errorf("%s: it changes\n%s", name, files)
		}
		next := prepared(t, s, made)
		isFile(t, filepath.Join(next.Dir(), "one.bin"), large+"more")
		isFile(t, filepath.Join(next.Dir(), "new dir", "new.bin"), "new")
	}
}

// A tool that knew nothing of git LFS has committed content: its commits get pointers, all of them, and
// are else as they were. One with git-lfs has its content beside its objects.
func TestContentOfToolsCommits(t *testing.T) {
	t.Parallel()
	p := lfsPerson(t)
	at := p.pointer(large)
	commit := p.commit("one.bin", at)
	s := p.lfsStore(at)
	tree := prepared(t, s, commit)
	git := func(args ...string) string { return run(t, tree.Dir(), "git", args...) }

	toolCommits(t, tree, "code", "first\n")
	first := git("rev-parse", "HEAD")
	toolCommits(t, tree, "new.bin", large+"new")
	git("checkout", "-q", "-b", "side", first)
	toolCommits(t, tree, "side", "side\n")
	git("checkout", "-q", "main")
	git("merge", "-q", "--no-edit", "side")
	theirs := lfs.Objects(filepath.Join(tree.Dir(), ".git", "lfs", "objects"))
	byLFS, err := theirs.Put(t.Context(), strings.NewReader("by git-lfs"))
	if err != nil {
		t.Fatal(err)
	}
	nowhere := lfs.Pointer{Hash: strings.Repeat("ef", 32), Size: 9}
	write(t, filepath.Join(string(theirs), "ef", "ef", nowhere.Hash), "something")
	write(t, filepath.Join(tree.Dir(), "by.bin"), byLFS.Text())
	write(t, filepath.Join(tree.Dir(), "nowhere.bin"), nowhere.Text())
	last := toolCommits(t, tree, "one.bin", "x")

	for range 2 { // it may be asked again
		took, err := s.Take(t.Context(), tree.Offer(last, []string{commit}), Artefact("took"))
		if err != nil {
			t.Fatal(err)
		}
		bare := func(args ...string) string {
			return run(t, "", "git", append([]string{"--git-dir=" + s.Dir}, args...)...)
		}
		if took == last || bare("rev-list", "--count", commit+".."+took) != "5" || bare("log", "-1", "--format=%an %s", took) != "tool tool's work" {
			t.Errorf("took %s for %s:\n%s", took, last, bare("log", "--graph", took))
		}
		if bare("merge-base", "--is-ancestor", first, took) != "" || bare("show", took+":side") != "side" {
			t.Error("commits that needed nothing are others now")
		}
		for file, want := range map[string]string{"new.bin": large + "new", "one.bin": "x", "by.bin": "by git-lfs"} {
			for rev := range strings.SplitSeq(bare("rev-list", commit+".."+took, "--", file), "\n") {
				if _, ok := lfs.Parse(bare("cat-file", "blob", rev+":"+file) + "\n"); !ok {
					t.Errorf("%s of %s is no pointer", file, rev)
				}
			}
			pointer, _ := lfs.Parse(bare("cat-file", "blob", took+":"+file) + "\n")
			if pointer.Size != int64(len(want)) || !Content(s.Objects()).Has(pointer) {
				t.Errorf("%s: %v is not stored", file, pointer)
			}
		}
		if Content(s.Objects()).Has(nowhere) {
			t.Error("a tool's file counts for a content that it is not")
		}
		bare("fsck", "--strict", took)
	}

	// A look finds nothing that is left.
	left, err := tree.Look(t.Context(), commit, Artefact("looked"))
	if err != nil || len(left.Files) > 0 || len(left.Commits) != 5 {
		t.Errorf("a look finds %v, %v", left, err)
	}

	// Sett's commit on top of such commits has them in that form, too.
	content := git("hash-object", "new.bin")
	write(t, filepath.Join(tree.Dir(), "one.bin"), "y")
	made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("made"))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "git", "--git-dir="+s.Dir, "rev-list", "--objects", commit+".."+made.Commit); strings.Contains(got, content) {
		t.Error("the content is in git")
	}
	tooLarge := tree.Offer(last, []string{commit})
	tooLarge.Size = 20
	if _, err := s.Take(t.Context(), tooLarge, Artefact("large")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than is allowed: %v", err)
	}
	few := prepared(t, s, commit)
	tooLarge = few.Offer(toolCommits(t, few, "cut.bin", strings.Repeat("y", 3000)), []string{commit})
	tooLarge.Size = 2900
	if _, err := s.Take(t.Context(), tooLarge, Artefact("cut")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file that is larger than is allowed: %v", err)
	}
	cut := run(t, "", "find", string(Content(s.Objects())), "-type", "f", "-size", "+2890c", "-size", "-3001c")
	if cut != "" {
		t.Errorf("a part of the file is stored: %s", cut)
	}
}

// A tool may begin with git LFS, with git-lfs or without.
func TestContentBegins(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	commit := p.commit("code", "x\n")
	for name, end := range map[string]func(*Store, *Tree) (string, error){
		"without": func(_ *Store, tree *Tree) (string, error) {
			write(t, filepath.Join(tree.Dir(), "new.bin"), large)
			made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("made"))
			return made.Commit, err
		},
		"without, in commits": func(s *Store, tree *Tree) (string, error) {
			toolCommits(t, tree, "code", "y\n")
			write(t, filepath.Join(tree.Dir(), "new.bin"), large)
			return s.Take(t.Context(), tree.Offer(toolCommits(t, tree, "late", "z\n"), []string{commit}), Artefact("made"))
		},
		"with": func(s *Store, tree *Tree) (string, error) {
			theirs, err := lfs.Objects(filepath.Join(tree.Dir(), ".git", "lfs", "objects")).Put(t.Context(), strings.NewReader(large))
			if err != nil {
				return "", err
			}
			return s.Take(t.Context(), tree.Offer(toolCommits(t, tree, "new.bin", theirs.Text()), []string{commit}), Artefact("made"))
		},
	} {
		s := p.store()
		tree := prepared(t, s, commit)
		write(t, filepath.Join(tree.Dir(), "dir", "x"), "x")
		write(t, filepath.Join(tree.Dir(), ".gitattributes"), "*.bin filter=lfs -text\n")
		made, err := end(s, tree)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pointer, ok := lfs.Parse(run(t, "", "git", "--git-dir="+s.Dir, "cat-file", "blob", made+":new.bin") + "\n")
		if !ok || pointer.Size != int64(len(large)) || !Content(s.Objects()).Has(pointer) {
			t.Errorf("%s: pointer %v, stored %t", name, pointer, Content(s.Objects()).Has(pointer))
		}
		isFile(t, filepath.Join(prepared(t, s, made).Dir(), "new.bin"), large)
	}
}

// Content goes with commits to the person's repository, whichever way they get there.
func TestContentSent(t *testing.T) {
	t.Parallel()
	p := lfsPerson(t)
	at := p.pointer(large)
	commit := p.commit("one.bin", at)
	p.git("branch", "release")
	s := p.lfsStore(at)
	tree := prepared(t, s, commit)
	write(t, filepath.Join(tree.Dir(), "one.bin"), large+"more")
	unknown := lfs.Pointer{Hash: strings.Repeat("ab", 32), Size: 7}
	write(t, filepath.Join(tree.Dir(), "unknown.bin"), unknown.Text())
	made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("made"))
	if err != nil {
		t.Fatal(err)
	}
	pointer, ok := lfs.Parse(run(t, "", "git", "--git-dir="+s.Dir, "cat-file", "blob", made.Commit+":one.bin") + "\n")
	if !ok || p.content().Has(pointer) {
		t.Fatal(pointer, ok)
	}
	user := filepath.Join(p.dir, ".git")
	moved, err := Lander{Store: s, User: OpenUser(user)}.Land(t.Context(), "release", commit, made.Commit)
	if err != nil || !moved.Done || !slices.Equal(moved.Lacking, []string{"unknown.bin"}) || !p.content().Has(pointer) {
		t.Errorf("%v, %v, has %t", moved, err, p.content().Has(pointer))
	}
	// In the other direction: the branch got content that the next result builds on.
	next := p.pointer("theirs")
	p.git("checkout", "-q", "release")
	tip := p.commit("theirs.bin", next)
	p.git("checkout", "-q", "main")
	plan, err := Lander{Store: s, User: OpenUser(user)}.Plan(t.Context(), Landing{Name: "goal", Commit: made.Commit, Branch: "release", How: FastForward})
	if err != nil || plan.Tip != tip {
		t.Fatal(plan, err)
	}
	isFile(t, filepath.Join(prepared(t, s, tip).Dir(), "theirs.bin"), "theirs")

	other := lfsPerson(t)
	run(t, other.dir, "git", "fetch", "-q", p.dir, "main")
	run(t, other.dir, "git", "branch", "-f", "main2", "FETCH_HEAD")
	for range 2 {
		lacking, err := SendContent(t.Context(), s, made.Commit, filepath.Join(other.dir, ".git"))
		if err != nil || !slices.Equal(lacking, []string{"unknown.bin"}) || !other.content().Has(pointer) {
			t.Errorf("it lacks %q, %v", lacking, err)
		}
	}
	if err := errors.Join(os.RemoveAll(string(other.content())), os.MkdirAll(string(other.content()), 0o700),
		os.Symlink(t.TempDir(), filepath.Join(string(other.content()), pointer.Hash[:2]))); err != nil {
		t.Fatal(err)
	}
	if _, err := SendContent(t.Context(), s, made.Commit, filepath.Join(other.dir, ".git")); err == nil {
		t.Error("written through a link")
	}
	if err := s.Hold(t.Context(), Goal(oneGoal), made.Commit); err != nil {
		t.Fatal(err)
	}
	if got, err := LFSFiles(t.Context(), s, []string{Goal(oneGoal)}); err != nil || !slices.Equal(got, []string{"one.bin", "unknown.bin"}) {
		t.Errorf("files of git LFS: %q, %v", got, err)
	}
	if err := os.RemoveAll(string(Content(s.Objects()))); err != nil {
		t.Fatal(err)
	}
	for _, from := range []lfs.Objects{"", p.content()} {
		want := []string{"one.bin", "unknown.bin"}
		if from != "" {
			want = want[1:]
		}
		if got, err := FillContent(t.Context(), s, []string{Goal(oneGoal)}, from); err != nil || !slices.Equal(got, want) {
			t.Errorf("from %q: %q, %v", from, got, err)
		}
	}
}

// No filter runs that the tool or a commit names, whatever git LFS is for.
func TestContentRunsNoFilter(t *testing.T) {
	t.Parallel()
	p := lfsPerson(t)
	at := p.pointer(large)
	commit := p.commit("one.bin", at)
	s := p.lfsStore(at)
	tree := prepared(t, s, commit)
	ran := filepath.Join(t.TempDir(), "ran")
	plant := func() {
		for _, key := range []string{"clean", "smudge", "process"} {
			run(t, tree.Dir(), "git", "config", "filter.lfs."+key, "touch '"+ran+"'; false; #")
		}
		write(t, filepath.Join(tree.Dir(), ".lfsconfig"), "[lfs]\n\tstorage = /\n\turl = https://127.0.0.1:1/\n")
	}
	plant()
	write(t, filepath.Join(tree.Dir(), "one.bin"), "changed")
	made, err := tree.Commit(t.Context(), Changes{Start: commit}, nil, Artefact("made"))
	if err != nil {
		t.Fatal(err)
	}
	plant()
	prepare(t, tree, Plan{Commit: made.Commit})
	isFile(t, filepath.Join(tree.Dir(), "one.bin"), "changed")
	plant()
	if _, err := tree.Keep(t.Context(), Changes{Start: made.Commit}, Leftover("claim", "writer", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); !gone(err) {
		t.Error("a filter ran")
	}
}
