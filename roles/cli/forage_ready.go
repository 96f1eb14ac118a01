package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view"
)

// beginning says where a goal starts from.
type beginning struct {
	Base       string `placeholder:"COMMIT" help:"Start from COMMIT of your repository, or from a branch or tag there (default: HEAD)."`
	AllowDirty bool   `help:"Start from HEAD though files are not committed: agents do not see them."`
}

// find returns the commit that the goal starts from, and its branch. Without --base
// everything has to be committed, or the user says that it need not.
func (c beginning) find(a *app, in *instance.Instance) (base blackboard.Base, err error) {
	g := instance.Repository(a.at, in)
	inside, err := g.Inside(a.ctx)
	if err != nil {
		return base, err
	}
	if !inside {
		return base, role.Fail(role.Usage, fmt.Errorf("workspace %s is no git repository", in.Workspace), "git init && git add -A && git commit")
	}
	base.Commit, base.Branch = g.Named(a.ctx, cmp.Or(c.Base, "HEAD"))
	switch {
	case base.Commit == "" && c.Base != "":
		return base, role.Fail(role.NotFound, fmt.Errorf("%s names no commit of %s", role.Clean(c.Base), in.Workspace), "--base takes a hash, a branch or a tag")
	case base.Commit == "":
		if err := git.Unborn(a.ctx, g, "HEAD"); err != nil {
			return base, err
		}
		return base, role.Fail(role.Usage, fmt.Errorf("workspace %s has no commit yet", in.Workspace), `git add -A && git commit -m "first commit"`)
	case c.Base != "":
		return base, nil
	}
	files, err := g.Dirt(a.ctx)
	if err != nil || len(files) == 0 {
		return base, err
	}
	if !c.AllowDirty {
		return base, notCommitted(a.ctx, g, files)
	}
	a.Sayf("sett: note: agents start from %s without %s: %s\n", words.Commit(base.Commit),
		words.Count(len(files), "file that is not committed", "files that are not committed"), few(files, 5))
	return base, nil
}

// post brings the commit that a goal starts from into the store, and posts the goal. A
// goal that is refused leaves no ref there; one of which nothing is known may be posted,
// and keeps it.
func post(a *app, b *instance.Board, in *instance.Instance, goal blackboard.Artefact, base blackboard.Base) error {
	var err error
	if goal.Metadata, err = json.Marshal(base); err != nil {
		return err
	}
	if err := instance.Bring(a.ctx, a.at, in, base.Commit, store.Goal(goal.ID)); err != nil {
		return err
	}
	err = b.People.PostGoal(a.ctx, goal, a.Who())
	if errors.Is(err, blackboard.ErrStopping) || errors.Is(err, blackboard.ErrRefused) {
		err = errors.Join(err, store.Open(in.StoreDir()).LetGo(a.ctx, store.Goal(goal.ID)))
	}
	return err
}

// few names files in a line.
func few(files []git.Dirt, most int) string {
	var names []string
	for _, f := range files[:min(len(files), most)] {
		names = append(names, role.Clean(f.Path))
	}
	if more := len(files) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// notCommitted is an error with the uncommitted files, ten at most. It proposes no commit of the marks of a conflict.
func notCommitted(ctx context.Context, g git.Repository, files []git.Dirt) error {
	const most = 10
	lines := []string{"the working tree is not clean; agents work on what is committed"}
	for i, f := range files {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(files)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%-11s  %s", f.Kind(), role.Clean(f.Path)))
	}
	hint := `git add -A && git commit -m "…"`
	if slices.ContainsFunc(files, git.Dirt.Unmerged) {
		hint = "settle the conflicts in the unmerged files and commit them"
	}
	if what, _, err := g.Unfinished(ctx, g.Dir); err == nil && what != "" {
		lines[0] = fmt.Sprintf("a %s is under way; agents work on what is committed", what)
		hint = fmt.Sprintf("git add the settled files and git %s --continue, or git %s --abort", what, what)
	}
	return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")), "%s, or --allow-dirty leaves them out", hint)
}

// warnOfAbsent warns of agents that do not work, with the consequence for the goal. That is
// no error: a person may mend it, and the goal may not need them.
func warnOfAbsent(a *app, b *instance.Board, in *instance.Instance) {
	c, err := in.Config()
	if err != nil {
		return
	}
	s, err := status.Reader(a.at, b, in).Scene(a.ctx, view.Open{})
	if err != nil {
		return
	}
	const waits, fails, ignores = "not at work: %s; the goal waits for them", "unable to work: %s; every goal that reaches them will fail", "unable to bid: %s; they bid ignore"
	troubles, names := map[string][]string{}, map[string][]string{}
	for i, name := range c.Names() {
		t := s.AgentTrouble(name)
		so := ignores
		switch {
		case t == "":
			continue
		case s.Heard(name) && s.Agents[name].Unfit:
			so = fails
		case !s.Heard(name), c.Agents[i].BidsRequired:
			so = waits
		}
		troubles[so], names[so] = append(troubles[so], fmt.Sprintf("%s (%s)", name, t)), append(names[so], name)
	}
	for _, so := range []string{waits, fails, ignores} {
		if len(names[so]) > 0 {
			a.Sayf("sett: warning: "+so+" (%s, %s)\n", strings.Join(troubles[so], ", "), a.at.CommandLine(in, "list"), a.at.CommandLine(in, "logs "+names[so][0]))
		}
	}
}

// noteUnapplied says that agents run other programs than the working tree has.
func noteUnapplied(a *app, in *instance.Instance) {
	if changes := deploy.Unapplied(in); len(changes) > 0 {
		a.Sayf("sett: note: agents run their programs as they were at the last sett up (since then: %s); %s applies the changes\n",
			deploy.ChangedFiles(changes), a.at.UpLine(in))
	}
}
