package landing

import (
	"cmp"
	"context"
	"fmt"

	"sett/roles/role"
	"sett/roles/role/git"
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
