package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

type checkoutCmd struct {
	ID     string `arg:"" name:"id" help:"A goal, an artefact or a claim with a commit: any part of its id's beginning or end that is unique, or @last."`
	Dir    string `arg:"" optional:"" help:"The directory to make (default: beside the repository, named after it and the id)."`
	Branch string `placeholder:"NAME" help:"Make a branch at the commit instead of a directory."`
}

// Help is shown by `sett checkout --help`.
func (checkoutCmd) Help() string {
	return `Makes a directory with the files of a result's commit, to look at and to try: a clone with
its own objects, whose remote origin is your repository. It locks no branch, and sett down
--purge leaves it alone. Its path goes to stdout, and the command that removes it to stderr.
With --branch it makes nothing but a branch in your repository, to push or to merge.

Examples:
  sett checkout 7XK2ABCD
  sett checkout @last ../look
  sett checkout 7XK2ABCD --branch review/sing`
}

// Run makes the directory or the branch.
func (c *checkoutCmd) Run(a *app) error {
	if c.Branch != "" && c.Dir != "" {
		return role.Fail(role.Usage, errors.New("either a directory or --branch"), "sett checkout --help")
	}
	r, _, in, done, err := resultOf(a, c.ID)
	if err != nil {
		return err
	}
	defer done()
	if c.Branch != "" {
		return c.branch(a, in, r.Commit)
	}
	return checkOut(a, in, c.Dir, r.Short(), r.Commit, r.Commit)
}

// branch makes a branch at a commit.
func (c *checkoutCmd) branch(a *app, in *instance.Instance, commit string) error {
	g := instance.Repository(a.at, in)
	own, _, err := g.Own(a.ctx)
	if err != nil {
		return err
	}
	release, lacking, err := instance.Deliver(a.ctx, in, commit, own)
	defer release()
	if err != nil {
		return err
	}
	if err := g.NewBranch(a.ctx, c.Branch, commit); err != nil {
		return err
	}
	a.Printf("%s\n", role.Clean(c.Branch))
	a.Sayf("sett: branch %s is at %s; to remove it: git branch -D %s\n", role.Clean(c.Branch), words.Commit(commit), role.ShellWord(role.Clean(c.Branch)))
	instance.TellLacking(a.Sayf, lacking)
	return nil
}

// checkOut makes a directory with a commit's files; by default beside the repository and
// named after it. In the repository it would be an untracked file, for which sett forage refuses.
// The directory's own repository has all that the commit `whole` reaches, too.
func checkOut(a *app, in *instance.Instance, dir, short, commit, whole string) (err error) {
	if dir == "" {
		dir = filepath.Join(filepath.Dir(in.Workspace), filepath.Base(in.Workspace)+"-"+short)
	} else if dir, err = a.at.Path(dir); err != nil {
		return err
	}
	var lacking []string
	err = git.At(a.Environ(), in.Workspace).Clone(a.ctx, dir, commit, func(gitDir string) error {
		if _, err := store.Open(in.StoreDir()).Resolve(a.ctx, whole); errors.Is(err, store.ErrNoCommit) {
			return nil // an older Sett left it in the repository
		}
		release, files, err := instance.Deliver(a.ctx, in, whole, gitDir)
		lacking = files
		release() // nobody else works there
		return err
	})
	if err != nil {
		return err
	}
	if whole != commit {
		if _, err := git.At(a.Environ(), dir).Run(a.ctx, "update-ref", "refs/sett/leftover", whole); err != nil {
			return err
		}
	}
	lacking = slices.DeleteFunc(lacking, func(name string) bool { // of an older commit alone
		_, err := os.Lstat(filepath.Join(dir, name))
		return err != nil
	})
	a.Printf("%s\n", role.Clean(dir))
	a.Sayf("sett: it has %s; to remove it: rm -rf %s\n", words.Commit(commit), role.ShellWord(role.Clean(dir)))
	instance.TellLacking(a.Sayf, lacking)
	return nil
}
