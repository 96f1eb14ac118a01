package orchestrator

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/container"
	"sett/runtime"
)

// Repository describes the unit that prepares the agents' trees.
func (u specs) Repository(c *config.Config) (runtime.Spec, error) {
	at, err := url.Parse(u.settings.RepositoryURL)
	if err != nil {
		return runtime.Spec{}, fmt.Errorf("describe repository: %w", err)
	}
	r := env.Repository{
		Instance: u.settings.Instance, Addr: at.Host, Key: u.settings.RepositoryKey, Store: u.settings.Store, Trees: u.settings.Trees,
		HealthAddr: "off", // the address for cubs serves it, too
	}
	if c.Land != nil {
		r.User = u.settings.LandInto
	}
	s := runtime.Spec{
		Name: runtime.ComponentRepository, Args: []string{"repository"}, Dir: u.settings.Trees,
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: runtime.ComponentRepository,
			runtime.LabelRun: u.settings.Run, runtime.LabelIncarnation: u.env.NewID(), runtime.LabelConfig: c.RepositoryDigest(),
		},
	}
	if u.settings.containers() {
		if err := u.encloseRepository(&s, &r, c.Services.Repository, at); err != nil {
			return s, err
		}
	}
	vars, err := u.environ(nil)
	s.Env = slices.Concat(vars, r.Environ())
	return s, err
}

// Places in the repository's container.
const (
	storeDir = "/.sett-store" // no path of this machine that is mounted at its own place
	treesDir = "/.sett-trees"
	userDir  = "/repository.git" // of the user, only where results land by themselves
)

// repositoryMemory is for git, which keeps much of a large repository in memory.
const repositoryMemory = 1 << 30

// encloseRepository makes a container of it. It writes the store and all trees, and has
// nothing else of this machine, unless results land by themselves: then the git directory of the user's
// repository, whose branches and objects it writes.
func (u specs) encloseRepository(s *runtime.Spec, r *env.Repository, wanted config.RepositoryService, at *url.URL) error {
	p := wanted.Resolved
	if p == nil {
		return errors.New("describe repository: no image was found for it")
	}
	r.Addr, s.Dir = ":"+at.Port(), treesDir
	r.Store, r.Trees, r.Objects, r.TreeGit = storeDir, treesDir, container.Objects, container.TreeGit
	s.Container = runtime.Container{
		Image: p.Image, Binary: p.Binary, User: u.settings.AgentsUser,
		Mounts:  []runtime.Mount{{Source: u.settings.Store, Target: storeDir}, {Source: u.settings.Trees, Target: treesDir}},
		Network: wanted.Network, Aliases: []string{at.Hostname()},
		Memory: repositoryMemory, Pids: container.Pids, Tmp: repositoryMemory / 16,
	}
	if r.User != "" {
		mounts, gitDir := userMounts(r.User, p.Outside)
		s.Container.Mounts = append(s.Container.Mounts, mounts...)
		r.User = gitDir
	}
	return nil
}

// userMounts returns the mounts of the user's repository, and its git directory in the container. One with objects
// outside of it is where it is on this machine, as they are: it may name them by paths that begin at its own.
func userMounts(gitDir string, outside []config.Outside) (mounts []runtime.Mount, inside string) {
	if len(outside) == 0 {
		return []runtime.Mount{{Source: gitDir, Target: userDir}}, userDir
	}
	mounts = []runtime.Mount{{Source: gitDir, Target: gitDir}}
	for _, o := range outside {
		mounts = append(mounts, runtime.Mount{Source: o.Dir, Target: o.Dir, ReadOnly: !o.Write})
	}
	return mounts, gitDir
}
