package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/cli/landing"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view"
)

// following are the flags of commands that start work and can follow its goal to the
// end.
type following struct {
	Wait    waitFlag      `placeholder:"[=DURATION]" help:"Follow the goal to its end, or for so long."`
	Timeout time.Duration `placeholder:"DURATION" help:"With --wait: no longer than this (default: for ever)."`
	Logs    bool          `help:"With --wait: also what the goal's tools say."`
}

// limit is how long the command may take in all; 0: for ever.
func (f following) limit(command string) (time.Duration, error) {
	_, err := time.ParseDuration(f.Wait.next)
	switch {
	case f.Wait.given && f.Wait.limit == 0 && err == nil:
		return 0, role.Fail(role.Usage, fmt.Errorf("%s after --wait would be a word of the text, not how long to wait", f.Wait.next), "--wait=%s", f.Wait.next)
	case f.Timeout > 0 && !f.Wait.given:
		return 0, role.Fail(role.Usage, errors.New("--timeout is how long --wait may take"), "sett %s --wait --timeout 10m", command)
	case f.Logs && !f.Wait.given:
		return 0, role.Fail(role.Usage, errors.New("--logs belongs to --wait"), "sett %s --wait --logs", command)
	case f.Timeout > 0 && f.Wait.limit > 0:
		return 0, role.Fail(role.Usage, errors.New("how long to wait is given twice"), "either --wait=%s or --timeout %s", f.Wait.limit, f.Timeout)
	}
	return max(f.Timeout, f.Wait.limit), nil
}

// waitFlag is a flag that may have a duration: --wait or --wait=10m.
type waitFlag struct {
	given bool
	limit time.Duration // 0: for ever
	next  string        // the argument after it, where it has no value
}

// IsBool makes kong take the flag without a value.
func (*waitFlag) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (p *waitFlag) Decode(ctx *kong.DecodeContext) error {
	p.given = true
	if next := ctx.Scan.Peek(); next.Type != kong.FlagValueToken {
		p.next = next.String()
		return nil
	}
	s := fmt.Sprint(ctx.Scan.Pop().Value)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no duration such as 90s or 10m", s)
	}
	p.limit = d
	return nil
}

// await follows a goal to its end, as long as the context allows, and returns how
// that went. The limit is the context's, for the message.
func (a *app) await(ctx context.Context, b *instance.Board, in *instance.Instance, id, from string, limit time.Duration, logs bool) error {
	v := a.ledgerView(b, in, a.Stderr)
	v.of(id)
	v.brief, v.waits = true, true
	v.asks, v.logs = askerFor(a, b, in, id), logs
	v.atTerminal()
	end, err := v.toEnd(ctx, from)
	switch {
	case err == nil:
		return end
	case a.ctx.Err() != nil:
		if now := fares(in); now != "goes on" {
			return term.Interrupted(fmt.Sprintf("interrupted; goal %s %s", words.Short(id), now))
		}
		return term.Interrupted(fmt.Sprintf("interrupted; goal %s goes on; %s follows it, %s says what it waits for%s",
			words.Short(id), a.at.CommandLine(in, "watch --workflow "+words.Short(id)), a.at.CommandLine(in, "show "+words.Short(id)), v.asks.later()))
	case ctx.Err() != nil:
		return a.notEnough(b, in, id, limit)
	}
	return err
}

// ending returns how a goal ended, or that it waits for people, as the command's end.
// err is set when the goal cannot be read, and is errGoesOn while its work goes on.
func (a *app) ending(ctx context.Context, b *instance.Board, in *instance.Instance, id string) (end, err error) {
	w, err := b.Records.Workflow(ctx, id)
	if err != nil {
		return nil, err
	}
	took := words.Span(w.EndedAt.Sub(w.CreatedAt))
	if w.Status.Ended() {
		sayOver(ctx, a, b, id)
	}
	switch w.Status {
	case blackboard.WorkflowAchieved:
		t, err := b.Records.Artefact(ctx, w.TerminalID)
		if err == nil {
			a.Sayf("sett: goal achieved in %s: %s%s\n", took, view.Named(t), words.Because(view.Gist(&t)))
			a.sayResult(t)
			if left := view.LeftInModules(t); left != "" {
				a.Sayf("sett: note: %s\n", left)
			}
			o := a.outcome(ctx, b, in, w)
			onto := o == nil || landing.OnBranch(ctx, a.at, in)
			a.sayOutcome(in, o, onto)
			a.sayNext(in, w, o, onto)
		}
		return nil, err
	case blackboard.WorkflowFailed:
		f, err := b.Records.Artefact(ctx, w.FailureID)
		code, next := role.Failed, "show "+words.Short(f.ID)
		if f.Type == blackboard.TypeBudgetExceeded {
			code, next = role.OverBudget, "retry "+words.Short(f.ID)+" --budget "+view.BudgetUnit(f)+"=…"
		}
		why := fmt.Sprintf("goal failed after %s: %s of %s", took, view.Title(f), view.Maker(f))
		if reason := view.Reason(&f); reason != "" {
			why += ": " + reason
		}
		if kept := view.KeptOf(f); kept != "" {
			a.Sayf("sett: note: %s; %s lists what tools left\n", kept, a.at.CommandLine(in, "leftovers"))
		}
		return role.Fail(code, errors.New(why),
			"%s", a.at.CommandLine(in, next)), err
	case blackboard.WorkflowStalled:
		return role.Fail(role.NoTerminal, fmt.Errorf("goal ended after %s without a Terminal: no agent bid on the last artefact", took),
			"%s", a.at.CommandLine(in, "show "+words.Short(id))), nil
	}
	return a.waitsForPeople(ctx, b, in, id)
}

// sayOver says that the calls of a goal took more than its budget had, which parallel calls can.
func sayOver(ctx context.Context, a *app, b *instance.Board, id string) {
	spent, err := b.Calls.Spending(ctx, id)
	if err == nil && spent.Over != nil {
		a.Sayf("sett: note: %s\n", role.Clean(spent.Over.Over()))
	}
}

// sayResult shows the beginning of a final result, where the line above has not all of it.
func (a *app) sayResult(t blackboard.Artefact) {
	if isHash(t) {
		return
	}
	if text := view.Excerpt(t); strings.TrimSpace(text) != "" && text != view.Gist(&t) {
		a.Sayf("\n%s\n", words.Indent(text, "  "))
	}
}

// sayNext names the command that a person may want next. Where HEAD is on no branch, a
// commit gets a new one.
func (a *app) sayNext(in *instance.Instance, goal blackboard.Workflow, o *landing.Outcome, onBranch bool) {
	id := words.Short(goal.ID)
	next := "result " + id
	switch lands := o != nil && !o.Landed && o.Onto == ""; {
	case lands && onBranch:
		next = "land " + id
	case lands:
		next = "checkout " + id + " --branch result-" + id
	}
	a.Sayf("\nNext:\n  %s\n", a.at.CommandLine(in, next))
}

// outcome is the change that came of a goal, as far as git can tell; nil: none.
func (a *app) outcome(ctx context.Context, b *instance.Board, in *instance.Instance, goal blackboard.Workflow) *landing.Outcome {
	o, err := landing.Finder{Board: b, Repo: commit.In(ctx, a.at, in)}.Outcome(ctx, goal)
	if err != nil {
		return nil // sett diff says why
	}
	return o
}

// sayOutcome names the commit that came of a goal, and the command that lands it.
func (a *app) sayOutcome(in *instance.Instance, o *landing.Outcome, onBranch bool) {
	if o == nil {
		return
	}
	next := a.at.CommandLine(in, "land") + " brings it to your branch"
	switch {
	case o.Onto != "":
		next = "branch " + role.Clean(o.Onto) + " has it; " + a.at.CommandLine(in, "diff") + " shows it"
	case o.Landed:
		next = "your branch has it; " + a.at.CommandLine(in, "diff") + " shows it"
	case !onBranch:
		next = "HEAD is on no branch; " + a.at.CommandLine(in, "land --onto BRANCH") + " brings it to one"
	}
	a.Sayf("sett: commit %s: %s, +%d -%d; %s\n", words.Commit(o.Commit), words.Count(o.Files, "file"), o.Added, o.Deleted, next)
}

// waitsForPeople lists the open questions and gates of a goal, and its work that waits for a model, each with its commands; of a goal without
// any, those of the goal that has to land before it. Without a goal it lists all, and the goals that cannot land.
// errGoesOn when there is none: a person has just acted.
func (a *app) waitsForPeople(ctx context.Context, b *instance.Board, in *instance.Instance, id string) (end, err error) {
	ahead, all, err := mattersLeft(ctx, view.MatterReader{Reader: status.Reader(a.at, b, in), Workflow: id})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return a.barred(ctx, b, in, id)
	}
	first := "waiting for you: " + view.Count(all)
	if ahead != "" {
		first += fmt.Sprintf(" of goal %s, which lands before goal %s", words.Short(ahead), words.Short(id))
	}
	lines := []string{first}
	hint := "" // the commands stand below each
	for _, m := range all {
		lines = append(lines, m.Brief())
		if len(m.Commands) == 0 {
			hint = a.at.CommandLine(in, "questions")
		}
	}
	return role.Fail(role.Waiting, errors.New(strings.Join(lines, "\n")), "%s", hint), nil
}

// mattersLeft reads the matters of waitsForPeople. The goal ahead is empty where they are not of that one.
func mattersLeft(ctx context.Context, r view.MatterReader) (ahead string, all []view.Matter, err error) {
	if r.Workflow != "" {
		if all, err = view.Holding(ctx, r); err != nil || len(all) > 0 {
			return "", all, err
		}
		return view.MattersAhead(ctx, r)
	}
	if all, err = r.Open(ctx); err != nil {
		return "", nil, err
	}
	others, err := view.Obstacles(ctx, r)
	return "", append(all, others...), err
}

// barred is the end of a command whose goal cannot land until a person acts.
// errGoesOn when there is none, or several goals are meant: a person has just acted.
func (a *app) barred(ctx context.Context, b *instance.Board, in *instance.Instance, id string) (end, err error) {
	if id == "" {
		return nil, errGoesOn
	}
	w, err := b.Records.Workflow(ctx, id)
	if err != nil || !landing.Awaits(w) {
		return nil, cmp.Or(err, errGoesOn)
	}
	return role.Fail(role.Waiting, fmt.Errorf("waiting for you: goal %s cannot land: %s", words.Short(id), role.Clean(w.Landing.Reason)),
		"%s, or %s: it lands by itself then", a.at.CommandLine(in, words.Land(words.Short(id), w.Landing.Branch)), unbars(ctx, instance.Repository(a.at, in), w.Landing)), nil
}

// unbars is the remedy for a branch on which nothing can land. The repository is asked here: its container does
// not see the directories of working trees.
func unbars(ctx context.Context, g git.Repository, l *blackboard.Landing) string {
	branch := role.Clean(l.Branch)
	if name, err := git.Aliased(ctx, g, l.Branch); err == nil && name != l.Branch {
		return fmt.Sprintf("land: {onto: %s} in sett.yml and sett up", role.Clean(name))
	}
	trees, _ := g.Worktrees(ctx) // without them the branch is free, or the reason names one
	for _, t := range trees {
		if t.Gone && t.Branch == l.Branch {
			return role.Clean(t.Forget())
		}
	}
	switch {
	case strings.HasPrefix(l.Reason, store.LacksObjects):
		return "mend the repository"
	case l.Tip != "" || l.Branch == "":
		return "free the branch"
	case git.Unborn(ctx, g, git.BranchRef(l.Branch)) != nil: // it is there, and damaged
		return "git fsck and mend branch " + branch
	}
	return "git branch " + role.ShellWord(branch)
}

// fares says how a goal, or work, is after a command that waited for it.
func fares(in *instance.Instance) string {
	switch fate := instance.FateOf(in); {
	case fate.WaitsForUp():
		return "waits for sett up"
	case fate == instance.Removed:
		return "went with the instance " + in.Name + ", which was removed"
	}
	return "goes on"
}

// mostTimedOut is how many waits a command names when its time is over.
const mostTimedOut = 20

// notEnough is the end of a command that reached its time limit: it names the waits of
// a goal, or (empty) of all work.
func (a *app) notEnough(b *instance.Board, in *instance.Instance, goal string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(a.ctx, 3*time.Second)
	defer cancel()
	now := fares(in)
	text, hint := fmt.Sprintf("%s was not enough; work %s", limit, now), a.at.CommandLine(in, "list -v")
	if goal != "" {
		text, hint = fmt.Sprintf("%s was not enough; goal %s %s", limit, words.Short(goal), now), a.at.CommandLine(in, "show "+words.Short(goal))
	}
	if now != "goes on" {
		return role.Fail(role.TimedOut, errors.New(text), "%s", a.at.UpLine(in))
	}
	waits, more, err := status.Reader(a.at, b, in).Waits(ctx, goal)
	switch {
	case err != nil:
		text += " when the blackboard is back: " + words.FirstLine(err)
	case len(waits) > 0:
		text += ", and waits for"
		for _, w := range waits[:min(len(waits), mostTimedOut)] {
			text += "\n  " + role.Clean(w.Line())
		}
		if more += max(len(waits)-mostTimedOut, 0); more > 0 {
			text += fmt.Sprintf("\n  and %d more", more)
		}
	}
	return role.Fail(role.TimedOut, errors.New(text), "%s", hint)
}
