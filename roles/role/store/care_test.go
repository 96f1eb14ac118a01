package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/roles/role/hosttest"
)

// carer is an agent's place with care, and the person's repository.
type carer struct {
	*person
	store *Store
	trees string
	base  string
}

func newCarer(t *testing.T) *carer {
	t.Helper()
	p := newPerson(t)
	base := p.commit("file", "one\n", "web/page", "p\n", "lib/a/x", "x\n", "lib/b/y", "y\n", "docs/d", "d\n")
	return &carer{p, p.store(), filepath.Join(t.TempDir(), "trees"), base}
}

// grant prepares the agent's tree for a grant, and has its tool work there.
func (c *carer) grant(care Care, commit, tool string) *Tree {
	c.t.Helper()
	tree := CaredFor(c.store.Tree(c.trees, "writer", Seen{}), care)
	prepare(c.t, tree, Plan{Commit: commit, Branch: "main", User: Author{"writer", "w@x"}})
	run(c.t, tree.Dir(), "sh", "-ec", tool)
	return tree
}

// files are the tree's, without its repository.
func (c *carer) files(tree *Tree) string {
	c.t.Helper()
	return strings.Join(strings.Fields(run(c.t, tree.Dir(), "sh", "-ec", `find . -name .git -prune -o ! -type d -print | sort`)), " ")
}

const allFiles = "./docs/d ./file ./lib/a/x ./lib/b/y ./web/page"

// Kept paths survive in their own tree and nowhere else: no commit has them, whatever .gitignore says.
func TestKeptPaths(t *testing.T) {
	t.Parallel()
	c := newCarer(t)
	care := Care{Keep: []string{"target", "web/modules", "cache"}}
	ctx := t.Context()
	tree := c.grant(care, c.base, `mkdir -p target/deep web/modules/.git; echo o >target/deep/o; echo m >web/modules/m; echo c >cache
		test -z "$(git status --porcelain)"; chmod 500 target/deep; printf '!/target\n!cache\n' >.gitignore; echo junk >junk; echo two >file`)
	kept := " ./target/deep/o ./web/modules/m"
	made, err := tree.Commit(ctx, Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}, Own: tree.Own()}, []string{c.base}, Artefact("a"))
	if err != nil || !slices.Equal(tree.Own(), care.Keep) {
		t.Fatalf("%v, own %q", err, tree.Own())
	}
	if got := run(t, c.store.Dir, "git", "diff", "--name-only", c.base, made.Commit); got != ".gitignore\nfile\njunk" {
		t.Errorf("the commit has %q", got)
	}
	if _, err := os.Stat(filepath.Join(tree.Dir(), "web/modules/.git")); err != nil {
		t.Errorf("a repository among the kept: %v", err)
	}
	if err := tree.Tidy(ctx, c.base); err != nil || c.files(tree) != "./cache "+allFiles[:len(allFiles)-len("./web/page")]+strings.TrimSpace(kept)+" ./web/page" {
		t.Errorf("tidied: %v, it has %q", err, c.files(tree))
	}
	tree = c.grant(care, made.Commit, "rm cache; mkdir cache; echo x >cache/x; echo left >left")
	left, err := tree.Keep(ctx, Changes{Start: made.Commit, Message: "left", Own: tree.Own()}, Leftover("c", "writer", 1))
	if err != nil || run(t, c.store.Dir, "git", "diff", "--name-only", made.Commit, left.Commit) != "left" {
		t.Errorf("leftovers: %v", err)
	}
	other := prepared(t, c.store, c.base)
	if got := c.files(other); got != allFiles {
		t.Errorf("another tree has %q", got)
	}
	for name, tool := range map[string]string{
		"committed": `git add -f target; git commit -qm own`,
		"hidden":    `git add -f cache; git commit -qm one; git rm -rq --cached cache; echo two >file; git commit -qam two`,
	} {
		tree = c.grant(care, c.base, tool)
		hash := run(t, tree.Dir(), "git", "rev-parse", "HEAD")
		offer := tree.Offer(hash, []string{c.base})
		offer.Own = tree.Own()
		if _, err := c.store.Take(ctx, offer, Artefact(name)); !errors.Is(err, ErrOwn) || !ToolsFault(err) {
			t.Errorf("%s: taken: %v", name, err)
		}
		if _, err := tree.Commit(ctx, Changes{Start: c.base, Message: "m", Own: tree.Own()}, []string{c.base}, Artefact(name)); !errors.Is(err, ErrOwn) {
			t.Errorf("%s: committed: %v", name, err)
		}
	}
	tree = c.grant(Care{Keep: []string{"cache"}}, c.base, "")
	if got := c.files(tree); got != "./cache/x "+allFiles {
		t.Errorf("kept no more: %q", got)
	}
	tracked := c.commit("cache", "committed\n")
	fetch(t, c.store, c.person, tracked)
	tree = c.grant(care, tracked, "grep -q committed cache")
	if slices.Contains(tree.Own(), "cache") {
		t.Errorf("own: %q", tree.Own())
	}
	if err := tree.Empty(); err != nil || c.files(tree) != "" {
		t.Errorf("emptied: %v, it has %q", err, c.files(tree))
	}
}

// Whatever a tool makes of a kept path, Sett follows no link, waits for no pipe, and leaves all else alone.
func TestHostileKeptPaths(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{
		"a link":             `ln -s "$OUT" target`,
		"a link above":       `rm -rf web; ln -s "$OUT" web`,
		"a link in the tree": `rm -rf web; ln -s .git web`,
		"a pipe":             `mkfifo target; rm -rf web; mkfifo web`,
		"links within":       `mkdir -p target; ln -s "$OUT" target/out; ln -s "$OUT/secret" target/file; mkfifo target/pipe`,
		"no rights":          `mkdir -p target/a/b; echo x >target/a/b/x; chmod 0 target/a/b target/a target; chmod 0 web`,
		"git's own":          `mkdir -p web/modules; mv .git web/modules/.git; cp -r web/modules/.git .git`,
		"a file above":       `rm -rf web; echo x >web`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCarer(t)
			hosttest.Removable(t, c.trees)
			out := t.TempDir()
			write(t, filepath.Join(out, "secret"), "s\n")
			write(t, filepath.Join(out, "modules", "theirs"), "t\n")
			care := Care{Keep: []string{"target", "web/modules"}, Copy: []string{"web/env"}, From: t.TempDir()}
			write(t, filepath.Join(care.From, "web/env"), "KEY=1\n")
			tree := c.grant(care, c.base, `OUT="`+out+`"; `+tool)
			if made, err := tree.Commit(t.Context(), Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}, Own: tree.Own()}, []string{c.base}, Artefact("a")); err == nil && made.Commit != "" {
				if got := run(t, c.store.Dir, "git", "ls-tree", "-r", "--name-only", made.Commit); strings.Contains(got, "target/") || strings.Contains(got, "modules") || strings.Contains(got, "env") {
					t.Errorf("the commit has %q", got)
				}
			}
			tree = c.grant(care, c.base, "")
			if text, err := os.ReadFile(filepath.Join(tree.Dir(), "web/env")); err != nil || string(text) != "KEY=1\n" {
				t.Errorf("the copy: %q %v", text, err)
			}
			if got := run(t, out, "find", ".", "-type", "f"); !strings.Contains(got, "./secret") || !strings.Contains(got, "./modules/theirs") || strings.Contains(got, "env") {
				t.Errorf("outside is %q", got)
			}
			for _, p := range []string{"target", "web", "web/modules"} {
				if info, err := os.Lstat(filepath.Join(tree.Dir(), p)); err == nil && !info.IsDir() {
					t.Errorf("%s is %s", p, info.Mode())
				}
			}
			c.git("status")
		})
	}
}

// Each grant gets its own copies of files that are not committed; no commit has them.
func TestCopies(t *testing.T) {
	t.Parallel()
	c := newCarer(t)
	set := func(text string, agents ...string) {
		t.Helper()
		all := map[string]Care{}
		for _, a := range agents {
			all[a] = Care{Copy: []string{".env.test", "bin/run", "file"}}
		}
		if err := SetCare(c.trees, all, map[string]Copied{".env.test": {Text: []byte(text)}, "bin/run": {[]byte("#!/bin/sh\n"), true}, "file": {Text: []byte("no")}}); err != nil {
			t.Fatal(err)
		}
	}
	care := func(agent string) Care {
		t.Helper()
		is, err := CareOf(c.trees, agent)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	set("A=1\n", "writer", "other")
	tree := c.grant(care("writer"), c.base, `test -x bin/run; test ! -x .env.test; grep -q one file; test -z "$(git status --porcelain)"; echo B=2 >.env.test; rm -r bin; ln -s /tmp bin; echo n >new`)
	made, err := tree.Commit(t.Context(), Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}, Own: tree.Own()}, []string{c.base}, Artefact("a"))
	if err != nil || strings.Contains(run(t, c.store.Dir, "git", "ls-tree", "-r", "--name-only", made.Commit), "env") {
		t.Errorf("%v %+v", err, made)
	}
	set("A=2\n", "writer")
	c.grant(care("writer"), c.base, `test "$(cat .env.test)" = A=2; test -x bin/run; test ! -L bin`)
	if left := care("other"); len(left.Copy) > 0 {
		t.Errorf("an agent without care: %+v", left)
	}
	if got := run(t, filepath.Join(c.trees, ".care"), "find", ".", "-type", "f", "-name", ".env*"); strings.Count(got, "env") != 1 {
		t.Errorf("old copies: %q", got)
	}
}

// A sparse tree has some folders; its commits have all. Other folders come and go.
func TestSparseTrees(t *testing.T) {
	t.Parallel()
	c := newCarer(t)
	for _, sparse := range []struct {
		folders []string
		want    string
	}{
		{[]string{"lib/a"}, "./file ./lib/a/x"}, {[]string{"lib", "lib/a", "docs"}, "./docs/d ./file ./lib/a/x ./lib/b/y"}, {nil, allFiles},
		{[]string{"web"}, "./file ./web/page"}, {[]string{"nowhere"}, "./file"},
	} {
		tree := c.grant(Care{Sparse: sparse.folders}, c.base, `test -z "$(git status --porcelain)"`)
		if got := c.files(tree); got != sparse.want {
			t.Errorf("%q has %q, want %q", sparse.folders, got, sparse.want)
		}
	}
	tree := c.grant(Care{Sparse: []string{"lib/a"}}, c.base, "echo n >lib/a/new; rm lib/a/x; echo two >file")
	made, err := tree.Commit(t.Context(), Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}}, []string{c.base}, Artefact("a"))
	if err != nil || run(t, c.store.Dir, "git", "diff", "--name-status", c.base, made.Commit) != "M\tfile\nA\tlib/a/new\nD\tlib/a/x" {
		t.Errorf("the commit: %v\n%s", err, run(t, c.store.Dir, "git", "diff", "--name-status", c.base, made.Commit))
	}
	tree = c.grant(Care{Sparse: []string{"lib/a"}}, made.Commit, "echo 3 >file; git commit -qam own")
	if got := c.files(tree); got != "./file ./lib/a/new" {
		t.Errorf("the next has %q", got)
	}
	if hash := run(t, tree.Dir(), "git", "rev-parse", "HEAD"); run(t, tree.Dir(), "git", "diff", "--name-only", made.Commit, hash) != "file" {
		t.Errorf("the tool's own commit: %s", run(t, tree.Dir(), "git", "diff", "--name-only", made.Commit, hash))
	}
}

// A submodule with a commit that the store has is checked out, anew for each grant, and is to git as it was; others are empty.
func TestModules(t *testing.T) {
	t.Parallel()
	p, lib := newPerson(t), newPerson(t)
	p.commit("file", "one\n")
	one := lib.commit("a/b", "b\n", ".gitmodules", "x\n")
	p.git("update-index", "--add", "--cacheinfo", "160000,"+one+",deep/module", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",away")
	p.git("commit", "-qm", "modules")
	c := &carer{person: p, store: p.store(), trees: filepath.Join(t.TempDir(), "trees"), base: p.git("rev-parse", "HEAD")}
	const without = "./file"
	if got := c.files(c.grant(Care{}, c.base, "")); got != without {
		t.Errorf("before: %q", got)
	}
	for range 2 {
		if err := FetchModule(t.Context(), c.store, lib.objects(), one); err != nil {
			t.Fatal(err)
		}
	}
	const with = "./deep/module/.gitmodules ./deep/module/a/b ./file"
	for change, want := range map[string]string{"": "", "touch deep/module/a/b": "", "echo >deep/module/new": "deep/module", "rm deep/module/a/b": "deep/module", "echo >>deep/module/a/b": "deep/module"} {
		tree := c.grant(Care{}, c.base, "")
		run(t, tree.Dir(), "sh", "-ec", change)
		made, err := tree.Commit(t.Context(), Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}}, []string{c.base}, Artefact(c.base))
		if err != nil || made.Commit != "" || strings.Join(made.Modules, " ") != want {
			t.Errorf("%q alone: %v %+v", change, err, made)
		}
		if changed, err := ChangedModules(t.Context(), tree); err != nil || strings.Join(changed, " ") != want {
			t.Errorf("%q beside a commit of the tool's: %v %v", change, changed, err)
		}
	}
	for i := range 2 {
		tree := c.grant(Care{}, c.base, `test -z "$(git status --porcelain)"; test b = "$(cat deep/module/a/b)"; test -z "$(ls -A away)"`)
		if got := c.files(tree); got != with {
			t.Errorf("it has %q", got)
		}
		run(t, tree.Dir(), "sh", "-ec", `echo x >deep/module/a/b; rm -r deep/module/.gitmodules; ln -s /tmp deep/module/tmp; mkfifo deep/module/pipe; echo two >file`)
		made, err := tree.Commit(t.Context(), Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}}, []string{c.base}, Artefact(c.base))
		if err != nil || run(t, c.store.Dir, "git", "diff", "--name-only", c.base, made.Commit) != "file" ||
			i == 0 && !slices.Equal(made.Modules, []string{"deep/module"}) { // a call that is repeated finds the commit
			t.Errorf("the commit: %v %+v", err, made)
		}
		run(t, tree.Dir(), "sh", "-ec", `rm -rf deep; ln -s /tmp deep`)
	}
	run(t, "", "git", "--git-dir="+c.store.Dir, "gc", "-q", "--prune=now")
	run(t, "", "git", "--git-dir="+c.store.Dir, "rev-list", "--objects", "--quiet", one)
}

// TestModulesReplaced: a tool may take a submodule out, and have files of its own in its place; both the commit and the leftovers have them.
func TestModulesReplaced(t *testing.T) {
	p, lib := newPerson(t), newPerson(t)
	one := lib.commit("a", "a\n")
	const named = "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n[submodule \"other\"]\n\tpath = other\n\turl = ../o\n"
	p.commit("file", "one\n", ".gitmodules", named)
	p.git("update-index", "--add", "--cacheinfo", "160000,"+one+",lib", "--cacheinfo", "160000,"+one+",other")
	p.git("commit", "-qm", "modules")
	c := &carer{person: p, store: p.store(), trees: filepath.Join(t.TempDir(), "trees"), base: p.git("rev-parse", "HEAD")}
	if err := FetchModule(t.Context(), c.store, lib.objects(), one); err != nil {
		t.Fatal(err)
	}
	const forget, vendored = `printf '[submodule "other"]\n\tpath = other\n' >.gitmodules`, "M\t.gitmodules\nD\tlib\nA\tlib/a\nA\tlib/new"
	for name, tc := range map[string]struct{ tool, want string }{
		"by git":               {"git rm -q --cached lib; echo new >lib/new", "D\tlib\nA\tlib/a\nA\tlib/new"},
		"by hand":              {forget + "; echo new >lib/new", vendored},
		"by both, own commit":  {"echo two >file; git commit -qam own; git rm -q --cached lib; " + forget + "; echo new >lib/new", "M\t.gitmodules\nM\tfile\nD\tlib\nA\tlib/a\nA\tlib/new"},
		"all of them":          {"git rm -qf --cached lib other; rm -r .gitmodules other; echo new >lib/new", "D\t.gitmodules\nD\tlib\nA\tlib/a\nA\tlib/new\nD\tother"},
		"by a file":            {"rm -r lib; echo x >lib", "T\tlib"},
		"by nothing":           {"git rm -qf --cached lib; rm -r lib; " + forget, "M\t.gitmodules\nD\tlib"},
		"too long a list":      {"head -c 1100000 /dev/zero | tr '\\0' '#' >>.gitmodules; echo new >lib/new; echo two >file", "M\t.gitmodules\nM\tfile"},
		"not at all":           {"echo new >lib/new; echo two >file", "M\tfile"},
		"another repository's": {"rm -rf .git; git init -q .; echo two >file; git add -A", "M\tfile"},
	} {
		for how, keep := range map[string]func(tree *Tree, c Changes) (string, error){
			"kept": func(tree *Tree, ch Changes) (string, error) {
				kept, err := tree.Keep(t.Context(), ch, Leftover(strings.ReplaceAll(name, " ", "-"), "writer", 1))
				return kept.Files, err
			},
			"committed": func(tree *Tree, ch Changes) (string, error) {
				made, err := tree.Commit(t.Context(), ch, []string{c.base}, Artefact(strings.ReplaceAll(name, " ", "-")))
				return made.Commit, err
			},
		} {
			tree := c.grant(Care{}, c.base, tc.tool)
			commit, err := keep(tree, Changes{Start: c.base, Message: "m", Author: Author{"writer", "w@x"}})
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				continue
			}
			if got := run(t, c.store.Dir, "git", "diff", "--no-renames", "--name-status", c.base, commit); got != tc.want {
				t.Errorf("%s, %s:\n%s\nwant:\n%s", name, how, got, tc.want)
			}
			if got := c.files(c.grant(Care{}, c.base, `test -z "$(git status --porcelain)"`)); got != "./.gitmodules ./file ./lib/a ./other/a" {
				t.Errorf("%s, %s: the next tool finds %s", name, how, got)
			}
		}
	}
}

// TestOwnBelowIgnored: a path of the agent's own may lie in a folder that git ignores.
func TestOwnBelowIgnored(t *testing.T) {
	p := newPerson(t)
	base := p.commit(".gitignore", "build/\n", "file", "one\n")
	s := p.store()
	tree := prepared(t, s, base)
	run(t, tree.Dir(), "sh", "-ec", "mkdir -p build/cache; echo o > build/cache/o; echo two >file; echo n >new")
	made, err := tree.Commit(t.Context(), Changes{Start: base, Message: "m", Own: []string{"build/cache"}}, []string{base}, Artefact("a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, s.Dir, "git", "diff", "--name-status", base, made.Commit); got != "M\tfile\nA\tnew" {
		t.Errorf("committed:\n%s", got)
	}
}
