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

// leftoverRef is where, under refs/sett/, what a tool left in the tree is kept.
func leftoverRef(claim, agent string, attempt int) string {
	return fmt.Sprintf("leftovers/%s/%s-%d", claim, agent, attempt)
}

// gitTries is how often git is run before its failure counts.
const gitTries = 3

// insist runs git again when it failed itself, as it does when memory or
// processes are short; what it found out stands. A tree that is not put back
// would be the next tool's.
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

// final says whether an error about the tree is an answer.
func final(err error) bool {
	return errors.Is(err, worktree.ErrNoCommit) || errors.Is(err, worktree.ErrNoRepository) || noGit(err)
}

// noGit says whether an error comes of there being no git to run: an agent's image
// need not have one.
func noGit(err error) bool { return errors.Is(err, worktree.ErrNoGit) }

// regretGit says, once, what is missing where there is no git.
func (c *cub) regretGit() {
	c.gitless.Do(func() { c.log.Warn("there is no git here: a tree that a tool leaves half changed stays so") })
}

// noteBase remembers, here and on the blackboard, where a writer finds the tree.
// Without a repository, a commit or git there is nothing to go back to.
func (x *executor) noteBase(ctx context.Context, w *work) error {
	if x.settings.Mode != blackboard.ReadWrite {
		return nil
	}
	var commit, branch string
	err := insist(ctx, func() (err error) {
		if commit, branch, err = x.tree.Head(ctx); err != nil { // the tool waits for this: one look where one does
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
	return x.patiently(ctx, func() error { return x.board.NoteBase(ctx, w.ref, commit, branch) })
}

// putBack puts the tree back where the work found it.
func (x *executor) putBack(ctx context.Context, w *work) {
	kept, err := x.restore(ctx, w.commit, w.branch, leftoverRef(w.Claim.ID, x.settings.Agent, w.Grant.Attempt),
		"left by a tool that failed or was stopped")
	if err != nil {
		w.log.Error("working tree not put back", "error", err)
	}
	if w.kept = kept; kept != "" {
		w.log.Warn("working tree put back", "leftovers", kept)
	}
}

func (c *cub) restore(ctx context.Context, commit, branch, ref, message string) (kept string, err error) {
	err = insist(ctx, func() (err error) {
		kept, err = c.tree.Restore(ctx, commit, branch, ref, message)
		return err
	})
	return kept, err
}

// restoreOrphans puts the working tree back where a dead incarnation, or a dead
// worker, of this agent found it; also that of an agent which nobody starts any
// more.
func (c *cub) restoreOrphans(ctx context.Context) {
	uses, err := c.board.Workspace(ctx)
	if err != nil {
		return
	}
	for _, u := range uses {
		if !u.Restore {
			continue
		}
		if _, err := exec.LookPath("git"); err != nil {
			c.regretGit()
			return // and leaves it to those who have one
		}
		if c.board.AdoptRestore(ctx, u, c.settings.Agent, c.settings.Incarnation) != nil {
			continue
		}
		log := c.log.With("claim", u.Claim, "attempt", u.Attempt)
		kept, err := c.restore(ctx, u.Base, u.Branch, leftoverRef(u.Claim, u.Agent, u.Attempt), "left by a tool whose cub died")
		if err != nil {
			log.Error("working tree not put back, trying again", "error", err)
			continue
		}
		if err := c.board.Release(ctx, u.Claim, u.Agent, u.Holder, kept); err != nil {
			log.Warn("workspace not released", "error", err)
			continue
		}
		log.Info("working tree put back", "commit", u.Base, "branch", u.Branch, "leftovers", kept)
	}
}
