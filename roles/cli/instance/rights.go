package instance

import (
	"path/filepath"

	"sett/contract/config"
)

// Rights returns the rights of a configuration that was read from file. Its folder counts
// from the root of its repository. The runtime is the one that the file itself names,
// whatever a flag says; empty: none.
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

// repositoryOf is the root that a configuration's rights count from: that of its
// workspace. A file elsewhere, which only -f can name, has its own folder. Empty: unknown.
func repositoryOf(workspace, file string) string {
	if file == "" || Within(file, workspace) {
		return workspace
	}
	return filepath.Dir(file)
}
