package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// readyForWork makes sure that the workspace is a git repository with everything
// committed. An agent's unfinished work is waited for, as long as the context
// allows; the limit is its, for the message.
func (a *app) readyForWork(ctx context.Context, b *redis.Board, in *instance, limit time.Duration) error {
	g := a.repository(in.Workspace)
	inside, err := g.inside(a.ctx)
	if err != nil {
		return err
	}
	if !inside {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s is no git repository", in.Workspace), "git init && git add -A && git commit")
	}
	if g.head(a.ctx) == "" {
		return role.Fail(role.Usage, fmt.Errorf("workspace %s has no commit yet", in.Workspace), `git add -A && git commit -m "first commit"`)
	}
	writer := ""
	err = a.awaitCommitted(ctx, b, g, func(now string) {
		if now != writer {
			a.sayf("sett: waiting for %s, which is changing the working tree\n", now)
			writer = now
		}
	})
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || a.ctx.Err() != nil {
		return err
	}
	return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough for %s, which is changing the working tree; nothing was posted", limit, writer),
		"%s", a.commandLine(in, "list -v"))
}

// awaitCommitted waits until nothing uncommitted is left that an agent is changing,
// and tells whom it waits for: the context bounds this only, and not what it takes
// to look. What is nobody's is an error.
func (a *app) awaitCommitted(ctx context.Context, b *redis.Board, g repository, waits func(writer string)) error {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		files, err := g.dirt(a.ctx)
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
			if files, err = g.dirt(a.ctx); err != nil || len(files) == 0 {
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
func workspaceWriter(ctx context.Context, b *redis.Board) (string, error) {
	uses, err := b.Workspace(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range uses {
		if u.Mode == blackboard.ReadWrite && !u.Waiting {
			return fmt.Sprintf("%s (claim %s)", clean(u.Agent), short(u.Claim)), nil
		}
	}
	return "", nil
}

// notCommitted names the files that are in the way, ten at most.
func notCommitted(files []dirt) error {
	const most = 10
	lines := []string{"the working tree is not clean; agents work on what is committed"}
	for i, f := range files {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(files)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%-11s  %s", f.what(), clean(f.path)))
	}
	return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")),
		`git add -A && git commit -m "…", or put them aside with git stash -u`)
}

// warnOfAbsent says when nobody is there to do the work now. The goal is kept, so
// that is no error.
func (a *app) warnOfAbsent(b *redis.Board, in *instance) {
	c, err := in.config()
	if err != nil {
		return
	}
	s, err := a.readScene(a.ctx, b, in, openWork{})
	if err != nil {
		return
	}
	var absent, names []string
	for _, name := range c.Names() {
		if t := s.agentTrouble(name); t.what != "" {
			absent, names = append(absent, fmt.Sprintf("%s (%s)", name, s.lasting(t))), append(names, name)
		}
	}
	if len(absent) > 0 {
		a.sayf("sett: warning: not at work: %s; the goal waits for them (%s, %s)\n", strings.Join(absent, ", "),
			a.commandLine(in, "list"), a.commandLine(in, "logs "+names[0]))
	}
}
