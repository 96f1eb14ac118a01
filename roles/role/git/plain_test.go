package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile are settings of users that change git's output or its work. diff.ignoreSubmodules is none:
// changes that git status hides from the user count as little for Sett.
var hostile = []string{
	"color.ui=always", "color.diff=always", "color.status=always", "color.branch=always", "column.ui=always",
	"core.abbrev=5", "core.pager=false", "core.quotePath=false", "core.splitIndex=true", "core.untrackedCache=true", "core.fsmonitor=false", "index.version=4",
	"diff.orderFile=/nonexistent/order", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.relative=true", "diff.submodule=log", "diff.external=false",
	"diff.context=0", "diff.interHunkContext=9", "diff.suppressBlankEmpty=true", "diff.renames=copies", "diff.algorithm=patience",
	"diff.colorMoved=zebra", "diff.wsErrorHighlight=all", "diff.statNameWidth=1", "diff.indentHeuristic=false",
	"log.showSignature=true", "log.decorate=full", "log.abbrevCommit=true", "log.date=relative", "log.follow=true", "log.showRoot=false", "log.mailmap=false",
	"format.pretty=fuller", "notes.displayRef=*", "trailer.separators==", "i18n.logOutputEncoding=ISO-8859-1", "i18n.commitEncoding=ISO-8859-1",
	"status.relativePaths=true", "status.short=true", "status.branch=true", "status.showStash=true", "status.renames=copies", "status.showUntrackedFiles=no", "status.submoduleSummary=true",
	"blame.showEmail=true", "blame.date=relative", "blame.blankBoundary=true", "blame.coloring=highlightRecent", "blame.ignoreRevsFile=/nonexistent/revs",
	"merge.conflictStyle=diff3", "merge.ff=only", "merge.verbosity=5", "pull.rebase=true", "rebase.autoStash=true", "rerere.enabled=true", "commit.gpgSign=true", "gpg.program=false",
	"commit.verbose=true", "commit.template=/nonexistent/template", "tag.gpgSign=true", "push.default=nothing",
	"submodule.recurse=true", "fetch.recurseSubmodules=true", "fetch.prune=true", "clone.defaultRemoteName=elsewhere", "clone.rejectShallow=true", "protocol.allow=never",
	"protocol.file.allow=never", "init.defaultBranch=elsewhere", "init.defaultRefFormat=files", "safe.bareRepository=explicit", "checkout.defaultRemote=elsewhere",
	"checkout.guess=false", "worktree.guessRemote=true", "advice.detachedHead=true", "branch.sort=-committerdate", "tag.sort=-version:refname", "versionsort.suffix=-x",
	"core.warnAmbiguousRefs=false", "core.commentChar=auto", "grep.lineNumber=true", "feature.experimental=true", "feature.manyFiles=true", "pager.log=false", "pager.diff=false",
}

// Sett reads the same from git, and does the same with it, whatever the user has set for git.
func TestPlain(t *testing.T) {
	t.Parallel()
	alone := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@localhost", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z"}
	dir := filepath.Join(t.TempDir(), "repository")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, alone
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as git makes it
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as git makes it
		t.Fatal(err)
	}
	text := strings.Repeat("a line\n\n", 12)
	run("init", "-q", "-b", "main")
	write("song", text+"one\n")
	write("sub/käse", "a\n")
	run("add", "-A")
	run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",module")
	run("commit", "-qm", "first")
	first := run("rev-parse", "HEAD")
	run("checkout", "-q", "-b", "side")
	write("song", text+"two\n")
	write("new", "n\n")
	run("add", "song", "new")
	run("commit", "-qm", "side: grüße\n\nArtefact: 2246XH5H")
	side := run("rev-parse", "HEAD")
	run("checkout", "-q", "main")
	write("song", "zero\n"+text+"one\n")
	run("commit", "-qm", "zero", "--", "song")
	other := run("rev-parse", "HEAD")
	write("other", text+"three\n")
	run("checkout", "-q", "-b", "apart", first)
	write("song", text+"three\n")
	run("commit", "-qm", "three", "--", "song")
	apart := run("rev-parse", "HEAD")
	run("checkout", "-q", "main")
	write("song", "ZERO\n"+text+"one\n")
	run("notes", "add", "-m", "a note", side)
	run("stash", "-q")
	run("stash", "apply", "-q")
	run("update-ref", HeldRef("x", "1"), side)
	// A commit whose signature is shown before its text.
	program := filepath.Join(t.TempDir(), "gpg")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '[GNUPG:] GOODSIG 1 t'\necho 'Good signature' >&2\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	raw := strings.Replace(run("cat-file", "commit", side), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1)
	write("signed", raw)
	signed := run("hash-object", "-t", "commit", "-w", "signed")
	if err := os.Remove(filepath.Join(dir, "signed")); err != nil {
		t.Fatal(err)
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	run("clone", "-q", "--depth=1", "-b", "side", "file://"+dir, shallow)

	ctx := t.Context()
	readings := []struct {
		name string
		read func(g Repository) (any, error)
	}{
		{"Inside", func(g Repository) (any, error) { return g.Inside(ctx) }},
		{"Named", func(g Repository) (any, error) { c, b := g.Named(ctx, "side"); return c + b, nil }},
		{"Dirt", func(g Repository) (any, error) { return g.Dirt(ctx) }},
		{"Dirt below", func(g Repository) (any, error) { g.Dir = filepath.Join(g.Dir, "sub"); return g.Dirt(ctx) }},
		{"Branches", func(g Repository) (any, error) { return g.Branches(ctx), nil }},
		{"Worktrees", func(g Repository) (any, error) { return g.Worktrees(ctx) }},
		{"InTheWay", func(g Repository) (any, error) { return g.InTheWay(ctx, g.Dir, other, side) }},
		{"Commits", func(g Repository) (any, error) { return g.Commits(ctx, first, side) }},
		{"Subjects", func(g Repository) (any, error) { return g.Subjects(ctx, "", side) }},
		{"read", func(g Repository) (any, error) { return g.read(ctx, side) }},
		{"Compare", func(g Repository) (any, error) { return Compare(ctx, g, other, side, true) }},
		{"Merge", func(g Repository) (any, error) { return g.Merge(ctx, other, side, "merge: grüße") }},
		{"a conflict", func(g Repository) (any, error) {
			_, err := g.Merge(ctx, apart, side, "merge")
			return fmt.Sprintf("%+v", err), nil
		}},
		{"Squash", func(g Repository) (any, error) { return g.Squash(ctx, other, side, "squash: grüße") }},
		{"Rebase", func(g Repository) (any, error) {
			last, _, err := g.Rebase(ctx, other, side)
			return last, err
		}},
		{"PointersOf", func(g Repository) (any, error) { return g.Run(ctx, "ls-tree", "-r", "-z", "--full-tree", side, "--") }},
		{"plumbing's patch", func(g Repository) (any, error) {
			return g.Run(ctx, "diff-tree", "-p", "-r", "--root", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", first, side)
		}},
		{"a comparison", func(g Repository) (any, error) {
			return g.Run(ctx, "diff", "--name-status", "--no-renames", "--no-ext-diff", first, side)
		}},
		{"a comparison below", func(g Repository) (any, error) {
			g.Dir = filepath.Join(g.Dir, "sub")
			return g.Run(ctx, "diff", "--name-status", "--no-renames", "--no-ext-diff", first, side)
		}},
		{"a comparison with the index", func(g Repository) (any, error) {
			_, err := g.Run(ctx, "diff", "--cached", "--quiet", "--no-ext-diff")
			return nil, err
		}},
		{"a trailer", func(g Repository) (any, error) {
			return g.Run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--no-color", "--format=%(trailers:key=Artefact,valueonly)", side, "--")
		}},
		{"a signed commit's log", func(g Repository) (any, error) { return g.Run(ctx, "log", "-1", "--format=%H %s", signed) }},
		{"a log", func(g Repository) (any, error) { return g.Run(ctx, "log", "-1", "--format=%H %s", side) }},
		{"blame", func(g Repository) (any, error) {
			return g.Run(ctx, "blame", "--porcelain", "--no-ignore-revs-file", "--no-textconv", "--encoding=UTF-8", side, "--", "song")
		}},
		{"Clone", func(g Repository) (any, error) {
			to := filepath.Join(t.TempDir(), "clone")
			if err := g.Clone(ctx, to, side, func(string) error { return nil }); err != nil {
				return nil, err
			}
			return At(alone, to).Head(ctx), nil
		}},
		{"Clone of a part", func(g Repository) (any, error) {
			g.Dir = shallow
			to := filepath.Join(t.TempDir(), "clone")
			if err := g.Clone(ctx, to, side, func(string) error { return nil }); err != nil {
				return nil, err
			}
			return At(alone, to).Head(ctx), nil
		}},
	}
	want := map[string]string{}
	for _, r := range readings {
		got, err := r.read(At(alone, dir))
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		want[r.name] = fmt.Sprintf("%q", fmt.Sprintf("%+v", got))
	}
	// unlike names the readings that are others with some settings.
	unlike := func(settings ...string) (all []string) {
		config := filepath.Join(t.TempDir(), "config")
		for _, setting := range settings {
			key, value, _ := strings.Cut(setting, "=")
			if out, err := exec.Command("git", "config", "--file", config, key, value).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", setting, err, out)
			}
		}
		for _, r := range readings {
			got, err := r.read(At(append(alone, "GIT_CONFIG_GLOBAL="+config), dir))
			if is := fmt.Sprintf("%q", fmt.Sprintf("%+v", got)); err != nil || is != want[r.name] {
				all = append(all, fmt.Sprintf("%s: %s is %s, %v\nwant %s", settings, r.name, is, err, want[r.name]))
			}
		}
		return all
	}
	for _, text := range unlike("log.showSignature=true", "gpg.program="+program) {
		t.Error(text)
	}
	for some := range slices.Chunk(hostile, 12) {
		found := unlike(some...)
		for _, setting := range some {
			if len(found) > 0 {
				found = append(found, unlike(setting)...)
			}
		}
		for _, text := range found {
			t.Error(text)
		}
	}
	for _, variable := range []string{"GIT_EXTERNAL_DIFF=false", "GIT_DIFF_OPTS=-u0", "GIT_CONFIG=/dev/null", "GIT_IMPLICIT_WORK_TREE=0", "GIT_SHALLOW_FILE=/nonexistent"} {
		for _, r := range readings {
			if got, err := r.read(At(append(alone, variable), dir)); err != nil || fmt.Sprintf("%q", fmt.Sprintf("%+v", got)) != want[r.name] {
				t.Errorf("%s: %s is %+v, %v\nwant %s", variable, r.name, got, err, want[r.name])
			}
		}
	}
}
