package landing

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
)

// treesOf returns the working trees of the user's repository.
func treesOf(ctx context.Context, at *instance.Locator, repo git.Repository) ([]git.Worktree, error) {
	dir, err := at.Directory()
	if err != nil {
		return nil, err
	}
	return repo.Worktrees(ctx, dir)
}

// target finds the branch and its working tree.
func (l *looker) target(ctx context.Context) error {
	trees, err := treesOf(ctx, l.at, l.repo)
	if err != nil {
		return err
	}
	if l.onto == "" {
		here := here(l.at, l.in, trees)
		if here.Hidden {
			return l.hidden(here)
		}
		if here.Branch == "" {
			if err := git.Unborn(ctx, l.repo, "HEAD"); err != nil { // git lists the branch of a damaged one as none
				return err
			}
			return role.Fail(role.Failed, fmt.Errorf("land on the current branch: HEAD of %s is on none", here.Path), "--onto BRANCH, or git switch BRANCH first")
		}
		l.Branch, l.Directory = here.Branch, here.Path
	} else {
		if l.Branch, err = git.Aliased(ctx, l.repo, l.onto); err != nil {
			return role.Fail(role.Failed, fmt.Errorf("land on %s: %w", role.Clean(l.onto), err), "land --onto a branch")
		}
		for _, t := range trees {
			if t.Branch != l.Branch {
				continue
			}
			if t.Gone { // somewhere else it may still be, with an index of its own
				return role.Fail(role.Failed, fmt.Errorf("land on %s: its working tree %s is not there", role.Clean(l.onto), role.Clean(t.Path)),
					"%s, or git worktree repair DIRECTORY if it was moved", role.Clean(t.Forget()))
			}
			if t.Hidden {
				return l.hidden(t)
			}
			l.Directory = t.Path
		}
		awaited := Awaits(l.result.Goal) && l.result.Goal.Landing.Branch == l.onto // then it is made
		if l.Directory == "" && !awaited && l.repo.Tip(ctx, l.onto) == "" {
			if err := git.Unborn(ctx, l.repo, git.BranchRef(l.Branch)); err != nil {
				return err
			}
			return role.Fail(role.NotFound, fmt.Errorf("there is no branch %s", role.Clean(l.onto)),
				"%s makes it", l.at.CommandLine(l.in, "checkout "+l.result.Short()+" --branch "+role.ShellWord(l.onto)))
		}
	}
	return l.idle(ctx, trees)
}

// hidden refuses to land on a branch that is checked out where Sett cannot write the files: a commit made
// there later would take the landing back off.
func (l *looker) hidden(t git.Worktree) error {
	branch := cmp.Or(t.Branch, "HEAD")
	return role.Fail(role.Failed, fmt.Errorf("land on %s: it is checked out in %s, and git does not know its directory", role.Clean(branch), t.Place()),
		"type sett land in that directory, or land --onto another branch; if the directory is gone: %s update-ref --no-deref main-worktree/HEAD %s",
		l.command(l.in.Workspace), role.ShellWord(role.Clean(branch)))
}

// OnBranch says whether a landing without a named branch has one: the current one. It is
// true where git does not tell.
func OnBranch(ctx context.Context, at *instance.Locator, in *instance.Instance) bool {
	trees, err := treesOf(ctx, at, instance.Repository(at, in))
	return err != nil || here(at, in, trees).Branch != ""
}

// here returns the working tree that the command was typed in, else the instance's own.
func here(at *instance.Locator, in *instance.Instance, trees []git.Worktree) git.Worktree {
	best := git.Worktree{}
	dir, _ := at.Directory()
	for _, base := range []string{dir, in.Workspace} {
		for _, t := range trees {
			path, err := filepath.EvalSymlinks(t.Path)
			if err == nil && (base == path || strings.HasPrefix(base, path+string(filepath.Separator))) && len(t.Path) > len(best.Path) {
				best = t
			}
		}
		if best.Path != "" {
			return best
		}
	}
	return git.Worktree{Path: in.Workspace}
}

// idle refuses a branch with which git is at work.
func (l *looker) idle(ctx context.Context, trees []git.Worktree) error {
	for _, t := range trees {
		if t.Path == l.Directory {
			what, _, err := l.repo.Unfinished(ctx, t.Path)
			if err != nil {
				return err
			}
			if what != "" {
				return role.Fail(role.Failed, fmt.Errorf("a %s is under way in %s", what, t.Path), "git -C %s status", role.ShellWord(t.Path))
			}
			continue
		}
		held, err := git.HeldIn(ctx, l.repo, t.Path, l.Branch)
		switch {
		case err != nil: // the tree is gone, or its directory is unknown
		case held == git.Rebasing:
			return role.Fail(role.Failed, fmt.Errorf("a rebase is under way in %s, and will move %s", t.Path, role.Clean(l.Branch)), "git -C %s status", role.ShellWord(t.Path))
		case held == git.Bisecting:
			return role.Fail(role.Failed, fmt.Errorf("a bisect is under way in %s, and will go back to %s", t.Path, role.Clean(l.Branch)), "git -C %s bisect reset ends it", role.ShellWord(t.Path))
		}
	}
	return nil
}
