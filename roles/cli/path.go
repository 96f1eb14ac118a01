package cli

import "path/filepath"

// pathOf returns the path of a file that somebody typed, who may have said -C.
func (a *app) pathOf(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := a.directory()
	return filepath.Join(dir, name), err
}
