package instance

import "sett/roles/role/git"

// Repository returns the user's git repository, for a working tree of an instance. Git
// reads there what is written, not what a ref has in its place.
func Repository(l *Locator, in *Instance) git.Repository {
	g := git.At(l.Environ(), in.Workspace)
	g.Environ = append(g.Environ, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1")
	return g
}

// Store returns the repository that holds the commits of an instance's artefacts, and the
// leftovers of its tools. It is the user's own.
func Store(l *Locator, in *Instance) git.Repository { return Repository(l, in) }
