package instance

import (
	"path/filepath"
	"slices"

	"sett/contract/config"
)

// Rights returns the rights of a configuration that was read from file. Its folder counts
// from the root of its repository. The runtime is the one that the file itself names,
// whatever a flag says, for the digest; else the one that is used. Empty: none.
func Rights(l *Locator, c *config.Config, runtime, file string) ([]config.Right, error) {
	root, err := l.Workspace()
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Rel(repositoryOf(root, file), filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	own := *c
	own.Runtime = runtime
	return own.Rights(filepath.ToSlash(folder)), nil
}

// Without returns the rights that others do not have.
func Without(rights, others []config.Right) []config.Right {
	return slices.DeleteFunc(slices.Clone(rights), func(r config.Right) bool { return slices.Contains(others, r) })
}

// repositoryOf is the root that a configuration's rights count from: that of its
// workspace. A file elsewhere, which only -f can name, has its own folder. Empty: unknown.
func repositoryOf(workspace, file string) string {
	if file == "" || Within(file, workspace) {
		return workspace
	}
	return filepath.Dir(file)
}
