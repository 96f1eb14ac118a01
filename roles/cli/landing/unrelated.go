package landing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// unrelated is the error of a branch that has no history in common with the result, as after a person has made it anew. The
// way on takes the goal's commits alone.
func (l *looker) unrelated(ctx context.Context) error {
	id := l.result.Short()
	none := fmt.Errorf("%s and the commit of %s have no history in common", l.Branch, id)
	if l.finder.Board == nil {
		return role.Fail(role.Failed, none, "%s, then land again: the ledger tells from which commit its goal began", l.at.UpLine(l.in))
	}
	base, err := l.finder.Base(ctx, l.result)
	if err != nil {
		return err
	}
	why, from := "its goal began with an empty repository", "--root"
	if base != "" {
		from = base[:min(len(base), 12)]
		why = fmt.Sprintf("its goal began from commit %s, which %s does not have", from, l.Branch)
	}
	first := ""
	if git.Shallow(ctx, l.repo) {
		why, first = why+", as far as this shallow clone tells", "git fetch --unshallow brings the older history, and may be all that is missing; else "
	}
	command, branch := l.command(cmp.Or(l.Directory, l.in.Workspace)), role.ShellWord(l.Branch)
	return role.Fail(role.Failed, fmt.Errorf("%w: %s", none, why),
		"%s%s --branch NAME && %s rebase --onto %s %s NAME puts the goal's commits on top of %s; then switch to it, and git merge NAME",
		first, l.at.CommandLine(l.in, "checkout "+id), command, branch, from, branch)
}

// sameFormat refuses a result of another hash algorithm than the repository's, as an imported ledger may have: git knows no
// way from one to the other.
func sameFormat(ctx context.Context, at *instance.Locator, p *Plan) error {
	want, err := git.Format(ctx, p.repo)
	if has := git.FormatOf(p.Commit); err == nil && has != want {
		return role.Fail(role.Failed, fmt.Errorf("the repository has another object format than the commit of %s: %s, and the commit is of %s", p.short, want, has),
			"land it in a clone of the repository that it came from, or take the change alone: %s | git apply", at.CommandLine(p.in, "diff "+p.short))
	}
	return err
}

// older finds the commits that the branch gets though they were there before the goal: it began from a commit that the branch
// does not have, of another branch, or of before a git commit --amend.
func (l *looker) older(ctx context.Context, since string) error {
	if l.finder.Board == nil || l.How == Already || since == "" {
		return nil // nobody knows; or the branch has nothing yet
	}
	base, err := l.finder.Base(ctx, l.result)
	if err != nil || base == "" {
		return err
	}
	all, err := l.both.Subjects(ctx, since, base)
	if err != nil {
		return err
	}
	for _, c := range all {
		if l.How != Rebase || slices.Contains(l.picked, c[0]) { // a rebase leaves out those that change nothing any more
			l.Older = append(l.Older, Step{c[0], c[1]})
		}
	}
	if len(l.Older) == 0 {
		return nil
	}
	branch := role.ShellWord(l.Branch)
	l.alone = fmt.Sprintf("%s --branch NAME && %s rebase --onto %s %s NAME", l.at.CommandLine(l.in, "checkout "+l.result.Short()),
		l.command(cmp.Or(l.Directory, l.in.Workspace)), branch, words.Commit(base))
	return nil
}

// tellOlder says which commits come along that are not of the goal.
func (p *Plan) tellOlder(on *term.Terminal) {
	if len(p.Older) == 0 {
		return
	}
	on.Sayf("sett: warning: %s older than the goal, which began from a commit that %s does not have, as after git commit --amend:\n",
		words.Count(len(p.Older), "commit comes along that is", "commits come along that are"), role.Clean(p.Branch))
	for i, c := range p.Older {
		if i == mostNamed {
			on.Sayf("  and %d more\n", len(p.Older)-mostNamed)
			break
		}
		on.Sayf("  %s %s\n", words.Commit(c.Hash), words.Shorten(role.Clean(c.Subject), 72))
	}
	on.Sayf("sett: hint: undo a landing first; then the goal's commits alone: %s\n", role.Clean(p.alone))
}
