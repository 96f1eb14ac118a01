package instance

import (
	"path/filepath"

	"sett/contract/config"
)

// Rights returns the rights of a configuration that was read from file. Its folder counts
// from the workspace's root. A file elsewhere, which only -f can name, is its own root.
func Rights(l *Locator, c *config.Config, file string) ([]config.Right, error) {
	root, err := l.Workspace()
	if err != nil {
		return nil, err
	}
	folder := "."
	if Within(file, root) {
		if folder, err = filepath.Rel(root, filepath.Dir(file)); err != nil {
			return nil, err
		}
	}
	return c.Rights(filepath.ToSlash(folder)), nil
}
