package cub

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"sett/blackboard"
	"sett/roles/cub/worktree"
)

// leftoverRef is the ref under refs/sett/ for the changes that a tool left behind.
func leftoverRef(claim, agent string, attempt int) string {
	return fmt.Sprintf("leftovers/%s/%s-%d", claim, agent, attempt)
}

// gitTries is the number of runs of git before its failure counts.
const gitTries = 3

// insist runs git again after a failure of git itself, as for lack of memory or
// processes; an answer of git stands. An unrestored tree would go to the next tool.
func insist(ctx context.Context, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if err == nil || try == gitTries || final(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(try) * 50 * time.Millisecond):
		}
	}
}

// final says whether an error about the tree is an answer of git.
func final(err error) bool {
	return errors.Is(err, worktree.ErrNoCommit) || errors.Is(err, worktree.ErrNoRepository) || noGit(err)
}

// noGit says whether git is missing: an agent's image need not have one.
func noGit(err error) bool { return errors.Is(err, worktree.ErrNoGit) }

// regretGit logs once that git is missing.
func (c *state) regretGit() {
	c.gitless.Do(func() { c.log.Warn("no git: a half-changed working tree cannot be restored") })
}

// noteBase records the commit at a writer's start, here and on the blackboard.
// Without a repository, a commit or git there is nothing to go back to.
func (x *executor) noteBase(ctx context.Context, w *work) error {
	if x.settings.Mode != blackboard.ReadWrite {
		return nil
	}
	var commit, branch string
	err := insist(ctx, func() (err error) {
		if commit, branch, err = x.tree.Head(ctx); err != nil { // the tool waits for this: a second look only after an error
			if _, none := x.tree.Root(ctx); none != nil {
				err = none
			}
		}
		return err
	})
	if err != nil && !final(err) {
		return fmt.Errorf("read working tree: %w", err)
	}
	if noGit(err) {
		x.regretGit()
	}
	if commit == "" {
		return nil
	}
	w.commit, w.branch = commit, branch
	return x.patiently(ctx, func() error { return x.board.work.NoteBase(ctx, w.ref, commit, branch) })
}

// putBack restores the tree to the commit of the work's start.
func (x *executor) putBack(ctx context.Context, w *work) {
	kept, err := x.restore(ctx, w.commit, w.branch, leftoverRef(w.Claim.ID, x.settings.Agent, w.Grant.Attempt),
		"left by a tool that failed or was stopped")
	if err != nil {
		w.log.Error("working tree not restored", "error", err)
	}
	if w.kept = kept; kept != "" {
		w.log.Warn("working tree restored", "leftovers", kept)
	}
}

func (c *state) restore(ctx context.Context, commit, branch, ref, message string) (kept string, err error) {
	err = insist(ctx, func() (err error) {
		kept, err = c.tree.Restore(ctx, commit, branch, ref, message)
		return err
	})
	return kept, err
}

// restoreOrphans restores the working tree after the death of an incarnation or a
// worker of this agent, and for an agent that nobody starts any more.
func (c *cub) restoreOrphans(ctx context.Context) {
	uses, err := c.board.workspace(ctx)
	if err != nil {
		return
	}
	for _, u := range uses {
		if !u.Restore {
			continue
		}
		if _, err := exec.LookPath("git"); err != nil {
			c.regretGit()
			return // an agent with git does it
		}
		if c.board.adoptRestore(ctx, u, c.settings.Agent, c.settings.Incarnation) != nil {
			continue
		}
		log := c.log.With("claim", u.Claim, "attempt", u.Attempt)
		kept, err := c.restore(ctx, u.Base, u.Branch, leftoverRef(u.Claim, u.Agent, u.Attempt), "left by a tool whose cub died")
		if err != nil {
			log.Error("working tree not restored, trying again", "error", err)
			continue
		}
		if err := c.board.work.Release(ctx, u.Claim, u.Agent, u.Holder, kept); err != nil {
			log.Warn("workspace not released", "error", err)
			continue
		}
		log.Info("working tree restored", "commit", u.Base, "branch", u.Branch, "leftovers", kept)
	}
}
