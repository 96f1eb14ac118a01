package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/repository"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/runtime"
)

// source is the repository that an instance's store is made of. Outside of a repository
// the store is made empty.
type source struct {
	objects []string // directories, its own one first
	format  string   // of their hashes
}

// lookAtRepository finds the source of a store that is still to be made. It refuses a
// repository that lacks objects of its HEAD, and a machine where trees cannot be made.
func lookAtRepository(ctx context.Context, u *upRun) error {
	f := u.facts
	f.source.format = "sha1"
	var err error
	if f.care, err = lookAtCare(f.desired, f.root); err != nil {
		return err
	}
	if !f.desired.HasTrees() {
		return nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("prepare the agents' trees: %w", git.ErrMissing),
			"install git, or give no agent a tree: workspace: {mode: none}")
	}
	if !f.repository {
		if f.desired.Land != nil {
			return role.Fail(role.Usage, errors.New("land: results can land in a git repository only, and this directory is none"), "git init, or take land out of sett.yml")
		}
		return nil
	}
	g := instance.Repository(u.at, u.in)
	head := g.Head(ctx)
	if head == "" {
		if err := git.Unborn(ctx, g, "HEAD"); err != nil {
			return err
		}
	}
	if f.landing, err = landingDoubt(ctx, g, f.desired.Land); err != nil {
		return err
	}
	if err := lookOutside(ctx, f, g); err != nil {
		return err
	}
	if !store.Open(u.in.StoreDir()).Exists() {
		if f.source, err = sourceOf(ctx, g); err != nil {
			return err
		}
	}
	if head != "" {
		f.pointers.lines, f.pointers.remember, err = instance.UntoldPointers(ctx, g, u.in, head)
		return err
	}
	return nil
}

// lookOutside finds the directories with objects of the repository that are not in its git directory, and refuses a
// repository that lacks one of which HEAD needs objects.
func lookOutside(ctx context.Context, f *facts, g git.Repository) error {
	b := git.BorrowedBy(ctx, g)
	if len(b.Lost) > 0 {
		if err := git.Complete(ctx, g, "HEAD"); err != nil {
			return err
		}
		f.borrows = "the repository lacks nothing of HEAD, though " + b.Why() + ": remove that line, or " + b.Mend()
	}
	if f.desired.Land == nil || f.desired.Runtime != config.RuntimeDocker {
		return nil
	}
	dir, _, err := g.Own(ctx)
	if err != nil {
		return err
	}
	parts, err := git.PartsOutside(dir)
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("land: results cannot land from a container: %w", err), "take land out of sett.yml and type sett land, or sett up --runtime process")
	}
	var all []config.Outside
	if parts.Objects != "" {
		all = append(all, config.Outside{Dir: parts.Objects, Write: true})
	}
	for _, lent := range parts.Lent {
		all = append(all, config.Outside{Dir: lent})
	}
	f.desired.Services.Repository.Resolved = &config.Resolved{Outside: all} // and its image, once that is known
	return nil
}

// landingDoubt says why results cannot land on the branch of sett.yml for now; empty: they can.
func landingDoubt(ctx context.Context, g git.Repository, l *config.Land) (string, error) {
	if l == nil {
		return "", nil
	}
	if name, err := git.Aliased(ctx, g, l.Onto); err != nil || name != l.Onto {
		if err != nil {
			return fmt.Sprintf("land: nothing can land on %s: %v", l.Onto, err), nil //nolint:nilerr // the goals wait
		}
		return fmt.Sprintf("land: branch %s is another name of %s: goals wait until it is not; land: {onto: %s} lands there", l.Onto, role.Clean(name), role.Clean(name)), nil
	}
	trees, err := g.Worktrees(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range trees {
		if t.Branch == l.Onto && t.Gone {
			return fmt.Sprintf("land: branch %s is checked out in %s, which is not there: goals wait until git forgets it (%s)", l.Onto, t.Path, t.Forget()), nil
		}
		if t.Branch == l.Onto {
			return fmt.Sprintf("land: branch %s is checked out in %s: goals wait until it is not, or until you land them (sett %s)", l.Onto, t.Place(), words.Land("ID", l.Onto)), nil
		}
	}
	if g.Tip(ctx, l.Onto) == "" {
		if err := git.Unborn(ctx, g, git.BranchRef(l.Onto)); err != nil {
			return fmt.Sprintf("land: %v: goals wait until it can (git fsck)", err), nil //nolint:nilerr // and what is there can be seen
		}
		return fmt.Sprintf("land: there is no branch %s: goals wait until there is (git branch %s)", l.Onto, role.ShellWord(l.Onto)), nil
	}
	return "", nil
}

// pointers are paths that agents see without their content.
type pointers struct {
	lines    []string     // that the user was not told yet
	remember func() error // that they were; nil: there is no commit
}

// sourceOf reads where a repository has its objects.
func sourceOf(ctx context.Context, g git.Repository) (source, error) {
	_, objects, err := g.Own(ctx)
	if err != nil {
		return source{}, err
	}
	format, err := g.Run(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return source{}, err
	}
	if err := git.Complete(ctx, g, "HEAD"); err != nil {
		return source{}, err
	}
	b, err := git.Borrowed(objects) // like git it goes without those that are gone
	return source{b.Objects, strings.TrimSpace(format)}, err
}

// makeTrees makes what the role that prepares the trees works with: its secret, the store,
// and a directory for each tree. What is there stays.
func makeTrees(ctx context.Context, u *upRun) error {
	in := u.in
	if in.RepositoryKey == "" {
		in.RepositoryKey = rand.Text()
	}
	if u.facts.repository {
		var err error
		if in.GitDir, _, err = instance.Repository(u.at, in).Own(ctx); err != nil && !errors.Is(err, git.ErrMissing) { // without git nothing lands
			return err
		}
		instance.NoteFirst(ctx, u.at, in)
	}
	s, err := store.Create(ctx, in.StoreDir(), u.facts.source.format, u.facts.source.objects)
	if err != nil {
		return role.Fail(role.Environment, err, "")
	}
	if remember := u.facts.pointers.remember; remember != nil {
		if err := remember(); err != nil {
			return role.Fail(role.Environment, err, "")
		}
	}
	if err := os.MkdirAll(in.TreesDir(), 0o700); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	if os.Geteuid() == 0 { // the workspace, and so the containers, may be another user's
		uid, gid := u.launch.owner()
		if err := store.Give(uid, gid, in.StoreDir(), in.TreesDir()); err != nil {
			return role.Fail(role.Environment, err, "")
		}
	}
	if u.facts.repository {
		err := instance.BringIgnored(ctx, instance.Repository(u.at, in), s, u.at.Sayf)
		if err != nil && !errors.Is(err, git.ErrMissing) { // no goal comes without git, which brings it, too
			return err
		}
	}
	if err := store.SetCare(in.TreesDir(), u.facts.care.of, u.facts.care.files); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	for _, name := range treeNames(u.c) {
		if err := s.Tree(in.TreesDir(), name, store.Seen{}).Make(); err != nil {
			return role.Fail(role.Environment, fmt.Errorf("make the tree %s: %w", name, err), "")
		}
	}
	return nil
}

// treeNames are the names of all trees. A tool needs a working directory also where
// it has no tree: that of its agent's name, which stays empty.
func treeNames(c *config.Config) (all []string) {
	for _, a := range c.Agents {
		trees := a.Trees()
		if c.Runtime != config.RuntimeDocker && !slices.Contains(trees, a.Name) {
			trees = append(trees, a.Name)
		}
		all = append(all, trees...)
	}
	return all
}

// repositoryEnviron has the orchestrator's variables about the agents' trees.
func repositoryEnviron(in *instance.Instance, url string) []string {
	return []string{
		env.LandInto + "=" + in.GitDir, env.Store + "=" + in.StoreDir(), env.Trees + "=" + in.TreesDir(), env.RepositoryURL + "=" + url, env.RepositoryKey + "=" + in.RepositoryKey,
	}
}

// dropTrees removes the trees of agents that sett.yml has no more. One that a unit still
// uses stays, and so does one with changes that nobody kept.
func dropTrees(ctx context.Context, u *upRun) {
	ours := func(name string) bool {
		return slices.ContainsFunc(u.c.Names(), func(agent string) bool { return name == agent || strings.HasPrefix(name, agent+".") })
	}
	used, err := strangersTrees(ctx, u, ours)
	if err != nil {
		u.at.Sayf("sett: warning: trees of agents that left are not removed: %v\n", err)
		return
	}
	places, _ := filepath.Glob(filepath.Join(u.in.TreesDir(), "[^.]*")) // its one error is about the pattern
	for _, place := range places {
		name := filepath.Base(place)
		agent, _, _ := strings.Cut(name, ".") // of a unit with several
		if ours(name) || used[name] || used[agent] {
			continue
		}
		last, err := repository.ReadLent(place)
		if err == nil && last.Unsettled() {
			u.plan.note(&u.plan.atEnd, "the tree of %s has changes that nobody kept, and stays: %s", name, store.Open(u.in.StoreDir()).Tree(u.in.TreesDir(), name, store.Seen{}).Dir())
			continue
		}
		if err == nil {
			if err = store.RemoveAll(place); err != nil {
				err = fmt.Errorf("%w; to remove it: %s", err, store.Remedy(place))
			}
		}
		if err == nil {
			err = store.Open(u.in.StoreDir()).LetGo(ctx, store.Start(name))
		}
		if err != nil {
			u.at.Sayf("sett: warning: the tree of %s is not removed: %v\n", name, err)
		}
	}
}

// strangersTrees returns the trees that units of agents which left still use. It gives those
// units some seconds to end.
func strangersTrees(ctx context.Context, u *upRun, ours func(tree string) bool) (map[string]bool, error) {
	const patience, look = 5 * time.Second, 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += look {
		units, err := u.place.List(ctx, nil)
		if err != nil {
			return nil, err
		}
		used := map[string]bool{}
		for _, unit := range units {
			if tree := unit.Labels[runtime.LabelTree]; tree != "" && !ours(tree) {
				used[tree] = true
			}
		}
		if len(used) == 0 || waited >= patience || ctx.Err() != nil {
			return used, nil
		}
		role.Pause(ctx, look)
	}
}
