package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// person is somebody's repository.
type person struct {
	t   *testing.T
	dir string
}

func newPerson(t *testing.T, options ...string) *person {
	t.Helper()
	p := &person{t, filepath.Join(t.TempDir(), "person")}
	run(t, "", "git", append(append([]string{"init", "-q", "-b", "main"}, options...), p.dir)...)
	return p
}

func (p *person) git(args ...string) string {
	p.t.Helper()
	return run(p.t, p.dir, "git", args...)
}

// commit writes files and commits them; it returns the hash.
func (p *person) commit(files ...string) string {
	p.t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		write(p.t, filepath.Join(p.dir, files[i]), files[i+1])
	}
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", "work")
	return p.git("rev-parse", "HEAD")
}

// store makes the store of the repository.
func (p *person) store() *Store {
	p.t.Helper()
	s, err := Create(p.t.Context(), filepath.Join(p.t.TempDir(), "store"), p.git("rev-parse", "--show-object-format"),
		[]string{filepath.Join(p.dir, ".git", "objects")})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a program as a tool or a person would, and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := try(dir, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func try(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=tool", "GIT_AUTHOR_EMAIL=tool@localhost", "GIT_COMMITTER_NAME=tool", "GIT_COMMITTER_EMAIL=tool@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// prepared returns a tree that starts at a commit.
func prepared(t *testing.T, s *Store, commit string) *Tree {
	t.Helper()
	tree := s.Tree(filepath.Join(t.TempDir(), "trees"), "writer", Seen{})
	prepare(t, tree, Plan{Commit: commit, Branch: "main"})
	return tree
}

func prepare(t *testing.T, tree *Tree, p Plan) {
	t.Helper()
	if err := tree.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// toolCommits makes a commit as a tool would, in its tree.
func toolCommits(t *testing.T, tree *Tree, file, text string) string {
	t.Helper()
	write(t, filepath.Join(tree.Dir(), file), text)
	run(t, tree.Dir(), "git", "add", "-A")
	run(t, tree.Dir(), "git", "commit", "-q", "-m", "tool's work")
	return run(t, tree.Dir(), "git", "rev-parse", "HEAD")
}

func TestCommitOfATool(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			p := newPerson(t, "--object-format="+format)
			base := p.commit("a b/ü.txt", "one\n")
			s := p.store()
			tree := prepared(t, s, base)
			if got := run(t, tree.Dir(), "git", "status", "--porcelain", "-b"); got != "## main" {
				t.Errorf("the tool finds %q", got)
			}
			made := toolCommits(t, tree, "new.txt", "new\n")
			took, err := s.Take(t.Context(), tree.Offer(made[:12], []string{base}), Artefact("a1"))
			if err != nil || took != made {
				t.Fatalf("took %s: %v", took, err)
			}
			again, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact("a1"))
			if err != nil || again != made {
				t.Fatalf("took again %s: %v", again, err)
			}
			prepare(t, tree, Plan{Commit: base, Branch: "main"})
			run(t, "", "git", "-C", s.Dir, "fsck", "--strict", "--full")
			run(t, "", "git", "-C", s.Dir, "gc", "-q", "--prune=now")
			if got := run(t, "", "git", "-C", s.Dir, "show", Artefact("a1")+":new.txt"); got != "new" {
				t.Errorf("the store has %q", got)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir, "objects", "pack", "*.keep")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir, "taking-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestStoreStandsAlone: a store keeps its commits when the person's repository is gone.
func TestStoreStandsAlone(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1\n")
	p.git("gc", "-q")
	last := p.commit("b", "2\n")
	s := p.store()
	if err := s.Hold(t.Context(), Goal("g"), last); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	run(t, "", "git", "-C", s.Dir, "fsck", "--strict", "--full")
	if got := run(t, "", "git", "-C", s.Dir, "log", "--format=%H", Goal("g")); got != last+"\n"+base {
		t.Errorf("the store's history: %s", got)
	}
}

// TestEmptiedTree: nothing of one grant is there in the next, whatever the tool did.
func TestEmptiedTree(t *testing.T) {
	p := newPerson(t)
	base := p.commit("dir/file", "one\n", "keep", "k\n", ".gitignore", "ignored/\n", "link-me", "l\n")
	s := p.store()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "person's\n")
	for name, tool := range map[string]string{
		"changes":            `echo two > dir/file; rm keep; echo x > new; mkdir -p ignored/deep; echo y > ignored/deep/z`,
		"modes":              `mkdir -p ro/deep; echo x > ro/deep/f; chmod 0555 ro/deep ro dir; chmod 0 keep`,
		"no modes at all":    `mkdir -p a/b/c; echo x > a/b/c/d; chmod 0 a/b/c a/b a`,
		"tree itself":        `chmod 0555 .`,
		"links":              `rm -rf dir; ln -s "` + filepath.Dir(secret) + `" dir; rm link-me; ln -s "` + secret + `" link-me`,
		"kinds":              `rm keep; mkdir keep; echo x > keep/x; rm -rf dir; echo f > dir`,
		"pipes":              `mkfifo pipe .gitattributes; rm .gitignore; mkfifo .gitignore`,
		"ignores everything": `echo '*' > .gitignore; echo x > hidden; git add -A; git commit -qm hide`,
		"repository gone":    `rm -rf .git; git init -q .; echo x > y; git add -A; git commit -qm other`,
		"repository a link":  `rm -rf .git; ln -s "` + p.dir + `/.git" .git`,
		"repository a file":  `rm -rf .git; echo "gitdir: ` + p.dir + `/.git" > .git`,
		"within":             `git init -q sub; (cd sub; echo x > y; git add -A; git commit -qm sub); git add sub; git commit -qm gitlink`,
		"branch":             `git checkout -q -b other; git branch -D main; git config user.name evil; git worktree add -q ../outside 2>/dev/null || true`,
		"half a merge":       `git checkout -q -b o; echo o > keep; git commit -qam o; git checkout -q main; echo m > keep; git commit -qam m; git merge o || true`,
		"lock":               `touch .git/index.lock`,
	} {
		t.Run(name, func(t *testing.T) {
			tree := prepared(t, s, base)
			if out, err := try(tree.Dir(), "sh", "-c", tool); err != nil {
				t.Fatalf("the tool: %v\n%s", err, out)
			}
			began := time.Now()
			prepare(t, tree, Plan{Commit: base, Branch: "main"})
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("waited %s", took)
			}
			if got := run(t, tree.Dir(), "git", "status", "--porcelain", "-b", "--ignored"); got != "## main" {
				t.Errorf("the next tool finds:\n%s", got)
			}
			if got := run(t, tree.Dir(), "git", "rev-parse", "HEAD"); got != base {
				t.Errorf("it starts at %s", got)
			}
			if got := run(t, tree.Dir(), "git", "config", "--local", "--list", "--name-only"); strings.Contains(got, "user") || strings.Contains(got, "remote") {
				t.Errorf("configuration: %s", got)
			}
			if text, err := os.ReadFile(secret); err != nil || string(text) != "person's\n" {
				t.Errorf("the person's file: %q %v", text, err)
			}
			if got := p.git("status", "--porcelain"); got != "" {
				t.Errorf("the person's repository:\n%s", got)
			}
		})
	}
}

// TestHostileObjects: a tool that hands over something else than its own commit gets nothing
// read, and nothing waits.
func TestHostileObjects(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	other := newPerson(t)
	foreign := other.commit("secret", "of another repository\n")
	for name, c := range map[string]struct {
		tool string // prints the hash
		want error
	}{
		"alternates elsewhere": {`echo "` + other.dir + `/.git/objects" > .git/objects/info/alternates; echo ` + foreign, ErrNoCommit},
		"objects a link":       {`rm -rf .git/objects; ln -s "` + other.dir + `/.git/objects" .git/objects; echo ` + foreign, ErrNoCommit},
		"git a link":           {`rm -rf .git; ln -s "` + other.dir + `/.git" .git; echo ` + foreign, ErrNoCommit},
		"folder a link": {`cd .git/objects; rm -rf ` + foreign[:2] + `; ln -s "` + other.dir + `/.git/objects/` + foreign[:2] + `" .; echo ` + foreign,
			ErrNoCommit},
		"object a link": {`cd .git/objects; mkdir -p ` + foreign[:2] + `; ln -s "` + other.dir + `/.git/objects/` + foreign[:2] + `/` + foreign[2:] + `" ` + foreign[:2] + `/; echo ` + foreign,
			ErrNoCommit},
		"a pipe":        {`mkdir -p .git/objects/aa; mkfifo .git/objects/aa/` + strings.Repeat("a", 38) + `; echo aa` + strings.Repeat("a", 38), ErrNoCommit},
		"a tree":        {`git rev-parse HEAD^{tree}`, ErrNoCommit},
		"a branch":      {`git branch deadbeef; echo deadbeef`, ErrNoCommit},
		"not hex":       {`echo --upload-pack=x`, ErrNoCommit},
		"unrelated":     {`git checkout -q --orphan o; git commit -qm o; git rev-parse HEAD`, ErrElsewhere},
		"an older one":  {`git commit -q --allow-empty -m x; git commit-tree -m old "HEAD^{tree}"`, ErrElsewhere},
		"missing blob":  {`echo x > f; git add f; git commit -qm x; b=$(git rev-parse HEAD:f); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); git rev-parse HEAD`, ErrRefused},
		"missing tree":  {`echo x > f; git add f; git commit -qm x; b=$(git rev-parse HEAD^{tree}); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); git rev-parse HEAD`, ErrRefused},
		"dot git":       {`b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\t.git\n' $b | git mktree); git commit-tree -p HEAD -m x $t`, ErrRefused},
		"dot git below": {`b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\tconfig\n' $b | git mktree); t=$(printf '040000 tree %s\t.GIT\n' $t | git mktree); git commit-tree -p HEAD -m x $t`, ErrRefused},
		"dot dot":       {`b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\tx\n' $b | git mktree); t=$(printf '040000 tree %s\t..\n' $t | git mktree); git commit-tree -p HEAD -m x $t`, ErrRefused},
		"a lie":         {`git commit -q --allow-empty -m x; h=$(git rev-parse HEAD); f=.git/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-); git commit -q --allow-empty -m y; g=$(git rev-parse HEAD); chmod u+w $f; cat .git/objects/$(echo $g | cut -c1-2)/$(echo $g | cut -c3-) > $f; echo $h`, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			tree := prepared(t, s, base)
			out, err := try(tree.Dir(), "sh", "-c", c.tool)
			if err != nil {
				t.Fatalf("the tool: %v\n%s", err, out)
			}
			hash := out[strings.LastIndex(out, "\n")+1:]
			took, err := s.Take(t.Context(), tree.Offer(hash, []string{base}), Artefact("x"))
			if !errors.Is(err, c.want) {
				t.Errorf("took %q: %v, want %v", took, err, c.want)
			}
			if commit, _ := s.Commit(t.Context(), Artefact("x")); commit != "" {
				t.Errorf("a ref holds %s", commit)
			}
			if foreign := run(t, "", "git", "-C", s.Dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"); strings.Contains(foreign, hash) && errors.Is(c.want, ErrNoCommit) && len(hash) == 40 && name != "a tree" {
				t.Errorf("the store has %s", hash)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	tree := prepared(t, s, base)
	run(t, tree.Dir(), "sh", "-c", "head -c 3000000 /dev/urandom > big")
	made := toolCommits(t, tree, "x", "y")
	o := tree.Offer(made, []string{base})
	o.Size = 1 << 20
	if _, err := s.Take(t.Context(), o, Artefact("x")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("took it: %v", err)
	}
	o.Size = 0
	if _, err := s.Take(t.Context(), o, Artefact("x")); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(tree.Dir(), "more"), strings.Repeat("more", 1<<19))
	if _, err := tree.Commit(t.Context(), Changes{Start: base, Size: 1 << 20}, nil, Artefact("y")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("committed it: %v", err)
	}
	write(t, filepath.Join(tree.Dir(), "file"), "changed\n")
	write(t, filepath.Join(tree.Dir(), "small"), "small\n")
	kept, err := tree.Keep(t.Context(), Changes{Start: base, Message: "m", Size: 1 << 20}, Leftover("c", "a", 1))
	at := func(args ...string) string { return run(t, "", "git", append([]string{"-C", s.Dir}, args...)...) }
	if err != nil || at("diff", "--name-only", base, kept.Commit) != "file\nsmall\nx" {
		t.Fatalf("kept %+v: %v", kept, err)
	}
	told := strings.Join(kept.LeftOut, "\n")
	if !strings.Contains(told, "big (3.0 MB), more (2.1 MB): the changes are above workspace.max_size (1.0 MB)") || !strings.Contains(told, "HEAD "+made[:12]+": ") {
		t.Errorf("left out:\n%s", told)
	}
	if read, err := ReadKept(t.Context(), s, kept.Commit); err != nil || fmt.Sprint(read) != fmt.Sprint(kept) {
		t.Errorf("read %+v: %v", read, err)
	}
}

// TestAnotherArtefactsCommit: a commit that the store holds already may be handed over by anybody.
func TestAnotherArtefactsCommit(t *testing.T) {
	p := newPerson(t)
	first := p.commit("file", "one\n")
	second := p.commit("file", "two\n")
	s := p.store()
	if err := s.Hold(t.Context(), Goal("g"), first); err != nil {
		t.Fatal(err)
	}
	tree := prepared(t, s, second)
	if took, err := s.Take(t.Context(), tree.Offer(first, []string{second}), Artefact("x")); err != nil || took != first {
		t.Errorf("took %s: %v", took, err)
	}
}

// TestLeftoversWithoutRefused: a leftover says which files of the tool it lacks, because git takes none of such a name.
func TestLeftoversWithoutRefused(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n", ".gitignore", "*.log\n")
	s := p.store()
	for tool, want := range map[string]struct{ files, told string }{
		`mkdir sub; echo v > good; echo x > sub/git~1; echo y > sub/after; echo l > a.log; echo two > file`: {"file\ngood\nsub/after", "sub/git~1: git takes no file of such a name"},
		`mkdir .GIT; echo v > good; echo x > .GIT/config`:                                                   {"good", ".GIT: git takes such a name for its own"},
		`for i in 1 2 3 4 5 6 7; do mkdir d$i; echo x > "d$i/.git "; done; echo v > good`:                   {"good", "d1/.git , d2/.git , d3/.git , d4/.git , d5/.git  and 2 more: git takes no file of such a name"},
	} {
		tree := prepared(t, s, base)
		run(t, tree.Dir(), "sh", "-ec", tool)
		kept, err := tree.Keep(t.Context(), Changes{Start: base, Message: "m"}, Leftover("refused", fmt.Sprint(len(tool)), 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "git", "-C", s.Dir, "diff", "--name-only", base, kept.Commit); got != want.files || strings.Join(kept.LeftOut, "\n") != want.told {
			t.Errorf("%s: it has\n%s\nand says\n%s", tool, got, strings.Join(kept.LeftOut, "\n"))
		}
	}
}

func TestLeftovers(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n", ".gitignore", "target/\n")
	s := p.store()
	ref := Leftover("claim", "writer", 1)
	tree := prepared(t, s, base)
	if kept, err := tree.Keep(t.Context(), Changes{Start: base, Message: "m"}, ref); err != nil || kept.Commit != "" {
		t.Fatalf("kept of an untouched tree: %v %v", kept, err)
	}
	prepare(t, tree, Plan{Commit: base, Branch: "main"})
	own := toolCommits(t, tree, "committed", "c\n")
	run(t, tree.Dir(), "sh", "-c", `echo changed > file; echo new > 'an ümlaut'; mkdir target d; echo x > target/y; mkfifo d/pipe; echo s > d/shut; chmod 0 d/shut d;
		git init -q sub; echo z > sub/z; printf '[core]\n\tfsmonitor = touch /tmp/ran-$$\n' >> sub/.git/config`)
	left, err := tree.Keep(t.Context(), Changes{Start: base, Message: "left", Author: Author{"writer", "w@x"}}, ref)
	if err != nil || left.Files != left.Commit || len(left.Beside)+len(left.LeftOut) > 0 {
		t.Fatal(left, err)
	}
	kept := left.Commit
	at := func(args ...string) string { return run(t, "", "git", append([]string{"-C", s.Dir}, args...)...) }
	if got := at("rev-parse", ref); got != kept {
		t.Errorf("the ref has %s", got)
	}
	if got := at("log", "-1", "--format=%P %an %s", kept); got != base+" "+own+" writer left" {
		t.Errorf("commit: %s", got)
	}
	if got := at("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", kept); got != ".gitignore\nan ümlaut\ncommitted\nd/shut\nfile\nsub/z" {
		t.Errorf("files:\n%s", got)
	}
	if again, err := tree.Keep(t.Context(), Changes{Start: base, Message: "left"}, ref); err != nil || again.Commit != kept {
		t.Errorf("kept again: %v %v", again, err)
	}
	prepare(t, tree, Plan{Commit: kept, Branch: "main"}) // as after a question
	if got := run(t, tree.Dir(), "cat", "file"); got != "changed" {
		t.Errorf("the resumed tool finds %q", got)
	}
}

// TestKeepAfterKilledGit: a git that was killed while it kept changes leaves a lock, for which nobody waits.
func TestKeepAfterKilledGit(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	tree := prepared(t, p.store(), base)
	write(t, filepath.Join(tree.Dir(), "file"), "left\n")
	write(t, tree.index()+".lock", "")
	if kept, err := tree.Keep(t.Context(), Changes{Start: base, Message: "m"}, Leftover("claim", "writer", 1)); err != nil || kept.Commit == "" {
		t.Errorf("kept %v: %v", kept, err)
	}
}

// TestKeepStaged: what a tool staged is kept and committed although it is ignored, and the next grant's tree has nothing of it.
func TestKeepStaged(t *testing.T) {
	p := newPerson(t)
	base := p.commit(".gitignore", "ignored/\n", "file", "one\n")
	s := p.store()
	for name, keep := range map[string]func(tree *Tree, c Changes) (string, error){
		"kept": func(tree *Tree, c Changes) (string, error) {
			kept, err := tree.Keep(t.Context(), c, Leftover("claim", "writer", 1))
			return kept.Files, err
		},
		"committed": func(tree *Tree, c Changes) (string, error) {
			made, err := tree.Commit(t.Context(), c, []string{base}, Artefact("a"))
			return made.Commit, err
		},
	} {
		tree := prepared(t, s, base)
		run(t, tree.Dir(), "sh", "-ec", "mkdir -p ignored/own; echo x > ignored/x; echo y > ignored/y; echo o > ignored/own/o; git add -f ignored/x ignored/own/o")
		write(t, tree.index()+".lock", "") // of a call that was cut off
		commit, err := keep(tree, Changes{Start: base, Message: "m", Own: []string{"ignored/own"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := run(t, "", "git", "-C", s.Dir, "diff", "--name-status", base, commit); got != "A\tignored/x" {
			t.Errorf("%s:\n%s", name, got)
		}
		prepare(t, tree, Plan{Commit: base, Branch: "main"})
		if got := run(t, tree.Dir(), "git", "status", "--porcelain", "-b", "--ignored"); got != "## main" {
			t.Errorf("%s: the next tool finds:\n%s", name, got)
		}
		prepare(t, tree, Plan{Commit: commit, Branch: "main"})
		if got := run(t, tree.Dir(), "cat", "ignored/x"); got != "x" {
			t.Errorf("%s: the next tool finds %q", name, got)
		}
	}
}

func TestMerge(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1\n2\n3\n", "b", "b\n")
	s := p.store()
	change := func(file, text string) string {
		tree := prepared(t, s, base)
		made := toolCommits(t, tree, file, text)
		if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact(made)); err != nil {
			t.Fatal(err)
		}
		return made
	}
	one, two, clash := change("a", "one\n2\n3\n"), change("c", "c\n"), change("a", "other\n2\n3\n")
	m, err := s.Merge(t.Context(), []string{one, two, clash, base})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(m.Unmerged, m.Files) != fmt.Sprint([]string{clash}, []string{"a"}) {
		t.Errorf("unmerged %v, files %v", m.Unmerged, m.Files)
	}
	if got := run(t, "", "git", "-C", s.Dir, "log", "-1", "--format=%P", m.Commit); got != one+" "+two {
		t.Errorf("parents %s", got)
	}
	again, err := s.Merge(t.Context(), []string{one, two, clash, base})
	if err != nil || again.Commit != m.Commit {
		t.Errorf("again: %v, %v", again, err)
	}
	if line, err := s.Merge(t.Context(), []string{base, one}); err != nil || line.Commit != one {
		t.Errorf("one line of history: %v, %v", line, err)
	}
	tree := prepared(t, s, m.Commit)
	if got := run(t, tree.Dir(), "cat", "a", "c"); got != "one\n2\n3\nc" {
		t.Errorf("the merge's tree: %q", got)
	}
}

// A lock that a killed git left is removed after a while; until then, and for a living
// one, a run waits.
func TestLeftLock(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	lock := filepath.Join(s.Dir, filepath.FromSlash(Goal("g"))+".lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, lock, "")
	old := time.Now().Add(-2 * lockLife)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Hold(t.Context(), Goal("g"), base); err != nil {
		t.Errorf("with the lock of a dead git: %v", err)
	}
	write(t, lock, "")
	go func() {
		time.Sleep(3 * lockPause)
		_ = os.Remove(lock)
	}()
	if err := s.Hold(t.Context(), Goal("g"), base); err != nil {
		t.Errorf("with another's lock: %v", err)
	}
	write(t, lock, "")
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := OpenUser(s.Dir).store.Hold(t.Context(), Goal("g"), base); err == nil || !strings.Contains(err.Error(), filepath.Base(lock)) {
		t.Errorf("with an old lock in a person's repository: %v", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("a lock in a person's repository was broken: %v", err)
	}
	write(t, lock, "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPause)
	defer cancel()
	if err := s.Hold(ctx, Goal("g"), base); err == nil {
		t.Error("a lock of now was broken")
	}
}
