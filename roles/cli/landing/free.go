package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// free refuses to overwrite files that are not committed, and to meet a git that is at work.
func (l *looker) free(ctx context.Context) error {
	if l.cut = git.CutOff(ctx, l.both, l.Directory); l.cut != nil && l.cut.Branch != l.Branch {
		l.cut = nil
	}
	lock, err := git.IndexLock(ctx, l.both, l.Directory)
	if err != nil {
		return err
	}
	if lock != "" {
		return role.Fail(role.Failed, fmt.Errorf("the index of %s is locked: git is at work there, or was killed, and left %s%s", role.Clean(l.Directory), role.Clean(lock), l.afterCut()),
			"once nothing of git runs there, remove that file; git status says what a killed git has changed")
	}
	unmerged, err := git.Unmerged(ctx, l.both, l.Directory)
	if err != nil {
		return err
	}
	if len(unmerged) > 0 {
		lines := append([]string{fmt.Sprintf("%s has files with a conflict that is not settled", role.Clean(l.Directory))}, few(unmerged)...)
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s status shows them; git add, or git checkout with --ours or --theirs and git add, settles them",
			l.command(l.Directory))
	}
	files, err := l.both.InTheWay(ctx, l.Directory, l.From, l.To)
	if err != nil {
		return err
	}
	if l.resumes() {
		missing := l.cut.Missing(l.Directory, files)
		files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(missing, f) })
	}
	if len(files) == 0 {
		return l.overlooked(ctx)
	}
	if err := l.repositories(ctx, files); err != nil {
		return err
	}
	if l.From != "" {
		unread, filters, err := git.Unread(ctx, l.both, l.Directory, l.From, l.filters, files)
		switch {
		case err != nil:
			return err
		case len(unread) == len(files):
			return l.unread(ctx, unread, filters)
		}
		files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(unread, f) })
	}
	return l.inTheWay(ctx, files)
}

// inTheWay refuses a landing that would overwrite files, with the way on.
func (l *looker) inTheWay(ctx context.Context, files []string) error {
	lines := append([]string{fmt.Sprintf("landing on %s would overwrite files that are not committed%s", l.Branch, l.afterCut())}, few(files)...)
	intended, err := git.Intended(ctx, l.both, l.Directory)
	if err != nil {
		return err
	}
	switch {
	case len(intended) > 0: // no stash takes them, nor any other file beside them
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s add %s, or %[1]s rm --cached %[2]s, since git stash refuses files of git add -N; then git stash -u puts all aside, or commit them; ignored files have to be moved",
			l.command(l.Directory), quoted(intended))
	case l.resumes():
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")),
			"the landing may have written a part of them: where they have no work of yours, %s restore FILE brings one back, and a new one can be removed; else git stash -u puts them aside",
			l.command(l.Directory))
	case l.cut != nil:
		return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s finishes that one; else git stash -u puts them aside, or commit them; ignored files have to be moved",
			l.at.CommandLine(l.in, words.Land(l.cut.Name, l.onto)))
	}
	return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "git stash -u puts them aside, or commit them; ignored files have to be moved")
}

// resumes says whether the landing that was cut off is one of the same result.
func (p *Plan) resumes() bool {
	return p.cut != nil && p.cut.Artefact != "" && p.cut.Artefact == p.Artefact
}

// afterCut ends a sentence with the landing that was cut off, if one was.
func (p *Plan) afterCut() string {
	if p.cut == nil {
		return ""
	}
	return "; a landing of " + p.cut.Name + " was cut off here"
}

// unread refuses to overwrite files that may be committed: git alone can tell, since it runs their filters.
func (l *looker) unread(ctx context.Context, files, filters []string) error {
	l.outlast(ctx, files)
	lines := append([]string{fmt.Sprintf("landing on %s would overwrite files that Sett cannot compare with the commit: their times have changed, and %s not run, which only the repository's own configuration names",
		l.Branch, isAre(filters))}, few(files)...)
	return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s status compares them: if it lists none of them, land again; else git stash -u puts them aside, or commit them",
		l.command(l.Directory))
}

// outlast waits until the second is over, a full one at most, in which one of the files was changed last: git trusts
// no time that is as new as its index, and the status that the hint names would help nobody before.
func (l *looker) outlast(ctx context.Context, files []string) {
	var last time.Time
	for _, f := range files {
		if info, err := os.Lstat(filepath.Join(l.Directory, filepath.FromSlash(f))); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(time.Until(last.Truncate(time.Second).Add(time.Second)), time.Second)):
	}
}

// isAre names filters, with their verb.
func isAre(filters []string) string {
	if len(filters) == 1 {
		return fmt.Sprintf("the filter %q is", role.Clean(filters[0]))
	}
	return fmt.Sprintf("the filters %s are", strings.Join(few(filters), ", "))
}

// overlooked refuses to overwrite changes of files that a person has git overlook.
func (l *looker) overlooked(ctx context.Context) error {
	marked, err := git.Overlooked(ctx, l.both, l.Directory, l.From, l.To)
	if err != nil {
		return err
	}
	var all, commands []string
	for _, mark := range []string{git.SkipWorktree, git.AssumeUnchanged} {
		if len(marked[mark]) == 0 {
			continue
		}
		command := l.command(l.Directory) + " update-index --no-" + mark
		for _, f := range marked[mark] {
			all = append(all, f)
			command += " " + role.ShellWord(role.Clean(f))
		}
		commands = append(commands, command)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// A stash of all files would reset those with a mark that are not in the way.
	commands = append(commands, l.command(l.Directory)+" stash push -- "+quoted(all))
	lines := append([]string{fmt.Sprintf("landing on %s would overwrite changes that git overlooks (skip-worktree or assume-unchanged)", l.Branch)}, few(all)...)
	return role.Fail(role.Failed, errors.New(strings.Join(lines, "\n")), "%s puts them aside", strings.Join(commands, " && "))
}

// quoted names files for a command line.
func quoted(files []string) string {
	var out []string
	for _, f := range files {
		out = append(out, role.ShellWord(role.Clean(f)))
	}
	return strings.Join(out, " ")
}

// mostNamed is how many files an error names.
const mostNamed = 10

// few names files, ten at most.
func few(files []string) []string {
	var out []string
	for _, f := range files[:min(len(files), mostNamed)] {
		out = append(out, role.Clean(f))
	}
	if more := len(files) - mostNamed; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}
