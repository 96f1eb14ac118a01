package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
	"sett/roles/view"
)

// readyForWork makes sure that the workspace is a git repository with everything
// committed. While an agent is changing the working tree it waits, as long as the
// context allows. The limit is the context's, for the message.
func readyForWork(ctx context.Context, a *app, b *instance.Board, in *instance.Instance, limit time.Duration) error {
	g := git.At(a.Environ(), in.Workspace)
	inside, err := g.Inside(a.ctx)
	if err != nil {
		return err
	}
	if !inside {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s is no git repository", in.Workspace), "git init && git add -A && git commit")
	}
	if g.Head(a.ctx) == "" {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s has no commit yet", in.Workspace), `git add -A && git commit -m "first commit"`)
	}
	writer := ""
	err = awaitCommitted(ctx, a, b, g, func(now string) {
		if now != writer {
			a.Sayf("sett: waiting for %s, which is changing the working tree\n", now)
			writer = now
		}
	})
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || a.ctx.Err() != nil {
		return err
	}
	return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough for %s, which is changing the working tree; nothing was posted", limit, writer),
		"%s", a.at.CommandLine(in, "list -v"))
}

// awaitCommitted waits while an agent is changing the working tree, until everything
// is committed, and names that agent. The context bounds the wait. Uncommitted files
// that no agent is changing are an error.
func awaitCommitted(ctx context.Context, a *app, b *instance.Board, g git.Repository, waits func(writer string)) error {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		files, err := g.Dirt(a.ctx)
		if err != nil || len(files) == 0 {
			return err
		}
		// Read after the status: a writer that has ended by now may have left a
		// clean tree behind in between, so the tree is looked at once more.
		writer, err := workspaceWriter(a.ctx, b)
		if err != nil {
			return err
		}
		if writer == "" {
			if files, err = g.Dirt(a.ctx); err != nil || len(files) == 0 {
				return err
			}
			if writer, err = workspaceWriter(ctx, b); err != nil {
				return err
			}
		}
		if writer == "" {
			return notCommitted(files)
		}
		waits(writer)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// workspaceWriter names the grant that may change the working tree now, if any.
func workspaceWriter(ctx context.Context, b *instance.Board) (string, error) {
	uses, err := b.Roster.Workspace(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range uses {
		if u.Mode == blackboard.ReadWrite && !u.Waiting {
			return fmt.Sprintf("%s (claim %s)", role.Clean(u.Agent), words.Short(u.Claim)), nil
		}
	}
	return "", nil
}

// notCommitted is an error with the uncommitted files, ten at most.
func notCommitted(files []git.Dirt) error {
	const most = 10
	lines := []string{"the working tree is not clean; agents work on what is committed"}
	for i, f := range files {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(files)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%-11s  %s", f.Kind(), role.Clean(f.Path)))
	}
	return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")),
		`git add -A && git commit -m "…", or put them aside with git stash -u`)
}

// warnOfAbsent warns when agents do not run. That is no error: the goal waits for
// them.
func warnOfAbsent(a *app, b *instance.Board, in *instance.Instance) {
	c, err := in.Config()
	if err != nil {
		return
	}
	s, err := status.Reader(a.at, b, in).Scene(a.ctx, view.Open{})
	if err != nil {
		return
	}
	var absent, names []string
	for _, name := range c.Names() {
		if t := s.AgentTrouble(name); t != "" {
			absent, names = append(absent, fmt.Sprintf("%s (%s)", name, t)), append(names, name)
		}
	}
	if len(absent) > 0 {
		a.Sayf("sett: warning: not at work: %s; the goal waits for them (%s, %s)\n", strings.Join(absent, ", "),
			a.at.CommandLine(in, "list"), a.at.CommandLine(in, "logs "+names[0]))
	}
}

// noteUnapplied says that agents run other programs than the working tree has.
func noteUnapplied(a *app, in *instance.Instance) {
	if changes := deploy.Unapplied(in); len(changes) > 0 {
		a.Sayf("sett: note: agents run their programs as they were at the last sett up (since then: %s); %s applies the changes\n",
			deploy.ChangedFiles(changes), a.at.UpLine(in))
	}
}
