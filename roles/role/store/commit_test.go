package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// committed is a tree whose tool has done its work, and the person's base.
type committed struct {
	*Tree
	t    *testing.T
	base string
}

// worked has a tool work in a new tree at the base, and prepares for its commit.
func worked(t *testing.T, s *Store, base, tool string) *committed {
	t.Helper()
	c := &committed{prepared(t, s, base), t, base}
	run(t, c.Dir(), "sh", "-ec", tool)
	return c
}

// commit commits all changes.
func (c *committed) commit(ref string, size int64) (Made, error) {
	c.t.Helper()
	return c.Commit(c.t.Context(), Changes{Start: c.base, Message: "subject\n\nbody", Author: Author{"writer", "w@x"}, Size: size}, []string{c.base}, ref)
}

// in runs git in the store.
func (c *committed) in(args ...string) string {
	c.t.Helper()
	return run(c.t, "", "git", append([]string{"-C", c.store.Dir, "-c", "core.quotePath=false"}, args...)...)
}

// TestCommit: what a tool changed is one commit on top of its own ones, whatever it did
// with its repository.
func TestCommit(t *testing.T) {
	p := newPerson(t)
	old := p.commit("file", "zero\n")
	base := p.commit("file", "one\n", "gone", "g\n", "moved from", "m\nm\nm\n", "script", "s\n", ".gitignore", "ignored/\n*.log\n")
	s := p.store()
	for name, c := range map[string]struct {
		tool     string
		log      string // the subjects since the start, newest first
		changed  string // names and kinds of changes since the start
		embedded string
	}{
		"files":            {`echo two > file; echo n > 'new ä b'; mkdir -p d/e; echo x > d/e/f`, "subject", "A\td/e/f\nM\tfile\nA\tnew ä b", ""},
		"deleted":          {`rm gone; rm -r file; mkdir file; echo x > file/x`, "subject", "D\tfile\nA\tfile/x\nD\tgone", ""},
		"renamed":          {`mv 'moved from' moved`, "subject", "R100\tmoved from\tmoved", ""},
		"mode":             {`chmod +x script`, "subject", "M\tscript", ""},
		"a link":           {`rm gone; ln -s /etc/passwd gone; ln -s / d`, "subject", "A\td\nT\tgone", ""},
		"ignored":          {`mkdir ignored; echo x > ignored/x; echo x > a.log; echo two > file`, "subject", "M\tfile", ""},
		"added, ignored":   {`echo x > a.log; git add -f a.log; echo two > file`, "subject", "A\ta.log\nM\tfile", ""},
		"own, then added":  {`echo two > file; git commit -qam own; echo x > a.log; git add -f a.log`, "subject own", "A\ta.log\nM\tfile", ""},
		"added below":      {`mkdir -p 'ignored/ä *'; echo x > 'ignored/ä */x'; echo y > ignored/y; echo k > 'ignored/:(top)k'; git add -f 'ignored/ä */x' './ignored/:(top)k'; echo z > 'ignored/ä */x'`, "subject", "A\tignored/:(top)k\nA\tignored/ä */x", ""},
		"added, taken out": {`echo x > a.log; git add -f a.log; git rm -q --cached a.log; echo x > b.log; git add -f b.log; rm b.log; echo two > file`, "subject", "M\tfile", ""},
		"added, then away": {`mkdir ignored; echo x > ignored/x; git add -f ignored/x; rm -r ignored; ln -s / ignored; echo two > file`, "subject", "M\tfile\nA\tignored", ""},
		"spoiled index":    {`echo two > file; echo x > a.log; git add -f a.log; dd if=/dev/zero of=.git/index bs=1 seek=20 count=60 conv=notrunc 2>/dev/null`, "subject", "M\tfile", ""},
		"index of a pipe":  {`echo two > file; rm .git/index; mkfifo .git/index`, "subject", "M\tfile", ""},
		"own commit":       {`echo two > file; git commit -qam own`, "own", "M\tfile", ""},
		"own, ignored":     {`echo x > a.log; git add -f a.log; git commit -qam own`, "own", "A\ta.log", ""},
		"own and more":     {`echo two > file; git commit -qam own; echo n > new`, "subject own", "M\tfile\nA\tnew", ""},
		"staged":           {`echo two > file; git add file; echo three > file`, "subject", "M\tfile", ""},
		"same size":        {`echo two > gone; echo ONE > file`, "subject", "M\tfile\nM\tgone", ""},
		"nothing":          {`cat file; touch file; git status`, "", "", ""},
		"ignored alone":    {`echo x > a.log; mkdir empty`, "", "", ""},
		"empty own":        {`git commit -q --allow-empty -m own`, "own", "", ""},
		"detached":         {`git checkout -q --detach; echo two > file; git commit -qam own; rm gone`, "subject own", "M\tfile\nD\tgone", ""},
		"other branch":     {`git checkout -q -b feature/ä; echo two > file; git commit -qam own; git branch -D main`, "own", "M\tfile", ""},
		"back again":       {`git checkout -q -b feature; git commit -q --allow-empty -m lost; git checkout -q main; echo two > file`, "subject", "M\tfile", ""},
		"packed":           {`echo two > file; git commit -qam own; git gc -q --prune=now`, "own", "M\tfile", ""},
		"an older commit":  {`git checkout -q ` + old, "subject", "D\t.gitignore\nM\tfile\nD\tgone\nD\tmoved from\nD\tscript", ""},
		"amended":          {`echo two > file; git commit -qa --amend -m amended`, "subject amended", "M\tfile", ""},
		"orphan":           {`git checkout -q --orphan o; git rm -qrf .; echo x > x; git add x; git commit -qm orphan`, "subject orphan", "D\t.gitignore\nD\tfile\nD\tgone\nD\tmoved from\nD\tscript\nA\tx", ""},
		"no repository":    {`rm -rf .git; echo two > file`, "subject", "M\tfile", ""},
		"a new repository": {`rm -rf .git; git init -q .; echo two > file; git add -A; git commit -qm anew`, "subject anew", "M\tfile", ""},
		"begun anew":       {`rm -rf .git; git init -q .; echo two > file`, "subject", "M\tfile", ""},
		"a link to git":    {`mv .git /tmp/x-$$; ln -s /tmp/x-$$ .git; echo two > file; rm -rf /tmp/x-$$`, "subject", "M\tfile", ""},
		"half a merge":     {`git checkout -q -b o; echo o > file; git commit -qam o; git checkout -q main; echo m > file; git commit -qam m; git merge -q o >/dev/null || echo both > file`, "subject m", "M\tfile", ""},
		"embedded":         {`git init -q d/sub; cd d/sub; echo x > x; git add x; git commit -qm inner; cd ../..; mkdir e; echo "gitdir: ../d/sub/.git" > e/.git; echo y > e/y`, "subject", "A\td/sub/x\nA\te/y", "d/sub e"},
		"embedded, taken":  {`git init -q sub; cd sub; echo x > x; git add x; git commit -qm inner; cd ..; git add sub 2>/dev/null; echo z > z`, "subject", "A\tsub/x\nA\tz", "sub"},
		"no gitlink ways":  {`mkfifo pipe; mkdir shut; echo s > shut/s; chmod 0 shut/s shut`, "subject", "A\tshut/s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, ref := worked(t, s, base, c.tool), Artefact(strings.NewReplacer(" ", "-", ",", "").Replace(name))
			made, err := w.commit(ref, 0)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := w.commit(ref, 0); err != nil || again.Commit != made.Commit {
				t.Errorf("again: %+v %v, want %+v", again, err, made)
			}
			if c.log == "" {
				if made.Commit != "" || w.in("for-each-ref", ref) != "" {
					t.Errorf("made %+v of nothing", made)
				}
				return
			}
			if got := w.in("rev-parse", ref); got != made.Commit {
				t.Errorf("the ref has %s, want %s", got, made.Commit)
			}
			if got := strings.ReplaceAll(w.in("log", "--format=%s", "--topo-order", made.Commit, "^"+base), "\n", " "); got != c.log {
				t.Errorf("commits %q, want %q", got, c.log)
			}
			if w.in("merge-base", base, made.Commit) != base {
				t.Error("it does not build on the start")
			}
			if got := w.in("diff-tree", "-r", "-M", "--name-status", base, made.Commit); got != c.changed {
				t.Errorf("changed:\n%s\nwant:\n%s", got, c.changed)
			}
			if strings.HasPrefix(c.log, "subject") && w.in("log", "-1", "--format=%an <%ae> %cn: %B", made.Commit) != "writer <w@x> writer: subject\n\nbody" {
				t.Errorf("the commit: %s", w.in("log", "-1", made.Commit))
			}
			if got := strings.Join(made.Embedded, " "); got != c.embedded {
				t.Errorf("embedded: %q, want %q", got, c.embedded)
			}
			run(t, "", "git", "-C", s.Dir, "fsck", "--strict", "--connectivity-only", made.Commit)
			prepare(t, w.Tree, Plan{Commit: made.Commit, Branch: "main"})
			if got := run(t, w.Dir(), "git", "status", "--porcelain"); got != "" {
				t.Errorf("the next tool finds:\n%s", got)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "taking-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "objects", "pack", "*.keep")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestHostileChanges: a tree that names programs has none of them run, and one that git
// refuses is the tool's fault.
func TestHostileChanges(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	ran := filepath.Join(t.TempDir(), "ran")
	evil := `touch "` + ran + `"; cat`
	for name, c := range map[string]struct {
		tool string
		want error
	}{
		"filters and hooks": {`echo '* filter=evil diff=evil merge=evil' > .gitattributes; git config filter.evil.clean '` + evil + `'; git config filter.evil.process '` + evil + `'
			git config filter.evil.required true; git config core.fsmonitor '` + evil + `'; git config core.hooksPath "$PWD/hooks"; mkdir hooks
			for h in pre-commit post-commit post-index-change reference-transaction; do printf '#!/bin/sh\n` + evil + `\n' > hooks/$h; cp hooks/$h .git/hooks/; done; chmod +x hooks/* .git/hooks/*
			git config commit.gpgSign true; git config gpg.program "$PWD/hooks/pre-commit"; echo two > file`, nil},
		"another's objects": {`mkdir -p .git/objects/info; echo "` + p.dir + `/.git/objects" > .git/objects/info/alternates; echo two > file`, nil},
		"no such commit":    {`echo ` + strings.Repeat("1234", 10) + ` > .git/HEAD; echo two > file`, ErrNoCommit},
		"a missing object":  {`echo x > f; git add f; git commit -qm x; b=$(git rev-parse HEAD:f); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); rm f`, ErrRefused},
		"modules":           {`printf '[submodule "x"]\n\tpath = x\n\turl = -u./evil\n' > .gitmodules`, ErrRefused},
		"dot git":           {`mkdir -p .GIT/hooks; echo x > .GIT/hooks/pre-commit`, nil},
		"a bad encoding":    {`echo '*.x working-tree-encoding=UTF-16' > .gitattributes; printf 'a' > a.x`, ErrRefused},
		"too much":          {`head -c 3000000 /dev/urandom > big`, ErrTooLarge},
		"too much below":    {`head -c 3000000 /dev/urandom > big; git add big; git commit -qm big; git rm -q big; git commit -qm small; echo two > file`, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			w := worked(t, s, base, c.tool)
			_ = os.Remove(ran) // the tool's own git may run what it likes
			made, err := w.commit(Artefact("x-"+strings.ReplaceAll(name, " ", "-")), 1<<20)
			if !errors.Is(err, c.want) || (c.want != nil) != ToolsFault(err) {
				t.Errorf("made %+v: %v, want %v", made, err, c.want)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("a program of the tree was run")
			}
			if held := w.in("for-each-ref", Artefact("x-"+strings.ReplaceAll(name, " ", "-"))); (held != "") != (made.Commit != "") {
				t.Errorf("held: %q", held)
			}
		})
	}
	run(t, "", "git", "-C", s.Dir, "fsck", "--strict", "--full")
}

// TestToolsDoNotSign: the settings of the person that has Sett run do not have the commits and tags of tools signed.
func TestToolsDoNotSign(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "config")
	write(t, settings, "[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n\tforceSignAnnotated = true\n[gpg]\n\tprogram = /bin/false\n")
	for _, readOnly := range []bool{false, true} {
		p := newPerson(t)
		commit := p.commit("file", "1\n")
		tree := prepared(t, p.store(), commit)
		prepare(t, tree, Plan{Commit: commit, Branch: "main", ReadOnly: readOnly})
		script := "export GIT_CONFIG_GLOBAL=" + settings + "; git commit -q --allow-empty -m one && git tag -a -m two two && git tag -m three three"
		if out, err := try(tree.Dir(), "sh", "-c", script); err != nil {
			t.Errorf("read-only %t: %v\n%s", readOnly, err, out)
		}
	}
}

// TestCommitOfResumedWork: changes until a question are the tool's result, whatever it does after the answer, but
// for taking them back.
func TestCommitOfResumedWork(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	for name, c := range map[string]struct {
		tools   []string // each but the last one asks
		log     string   // the subjects since the beginning, newest first
		changed string
	}{
		"no more":           {[]string{`echo n > new`, `cat new`}, "asked", "A\tnew"},
		"more":              {[]string{`echo n > new`, `echo two > file`}, "subject asked", "M\tfile\nA\tnew"},
		"asks twice":        {[]string{`echo n > new`, `true`, `true`}, "asked", "A\tnew"},
		"asks twice, more":  {[]string{`echo n > new`, `true`, `echo two > file`}, "subject asked", "M\tfile\nA\tnew"},
		"taken back":        {[]string{`echo n > new`, `rm new`}, "", ""},
		"taken back, asks":  {[]string{`echo n > new`, `rm new`, `true`}, "", ""},
		"to the beginning":  {[]string{`echo n > new`, `git reset -q --hard HEAD~`}, "", ""},
		"begun late":        {[]string{`true`, `echo n > new`}, "subject", "A\tnew"},
		"nothing":           {[]string{`true`, `true`}, "", ""},
		"own commit":        {[]string{`echo n > new; git add new; git commit -qm own`, `true`}, "asked own", "A\tnew"},
		"own commit, later": {[]string{`echo n > new`, `git commit -q --allow-empty -m own`}, "own asked", "A\tnew"},
		"a stash":           {[]string{`echo two > file; git stash -q`, `true`}, "", ""},
		"and a stash":       {[]string{`echo two > file; git stash -q; echo n > new`, `true`, `true`}, "asked", "A\tnew"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, id := prepared(t, s, base), strings.NewReplacer(" ", "-", ",", "").Replace(name)
			start, before, known := base, "", []string{base}
			for i, script := range c.tools[:len(c.tools)-1] {
				run(t, tree.Dir(), "sh", "-ec", script)
				kept, err := tree.Keep(t.Context(), Changes{Start: start, Before: before, Known: known, Message: "asked", Author: Author{"writer", "w@x"}}, Leftover(id, "writer", i+1))
				if err != nil {
					t.Fatal(err)
				}
				if kept.Commit == "" { // the role starts it where the first attempt did
					kept.Files = base
				}
				if start, before = kept.Files, ""; start != base {
					before = base
				}
				known = append(known, start)
				prepare(t, tree, Plan{Commit: start, Branch: "main", Refs: kept.Beside})
			}
			w := &committed{tree, t, base}
			run(t, tree.Dir(), "sh", "-ec", c.tools[len(c.tools)-1])
			made, err := w.Commit(t.Context(), Changes{Start: start, Before: before, Message: "subject", Author: Author{"writer", "w@x"}}, known, Artefact(id))
			if err != nil {
				t.Fatal(err)
			}
			if c.log == "" {
				if made.Commit != "" || w.in("for-each-ref", Artefact(id)) != "" {
					t.Errorf("made %+v of nothing", made)
				}
				return
			}
			if got := w.in("rev-parse", Artefact(id)); got != made.Commit {
				t.Fatalf("the ref has %s, want %s", got, made.Commit)
			}
			if got := strings.ReplaceAll(w.in("log", "--format=%s", "--topo-order", made.Commit, "^"+base), "\n", " "); got != c.log {
				t.Errorf("commits %q, want %q", got, c.log)
			}
			if got := w.in("diff-tree", "-r", "--name-status", base, made.Commit); got != c.changed {
				t.Errorf("changed:\n%s\nwant:\n%s", got, c.changed)
			}
		})
	}
}
