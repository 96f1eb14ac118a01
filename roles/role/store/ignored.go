package store

// This file has git ignore in all trees the files that it ignores in the person's repository.

import (
	"fmt"
	"os"
	"path/filepath"

	"sett/roles/role"
)

// ignoredFile is the store's list of ignored files. Git reads it wherever it runs with the store.
func ignoredFile(s *Store) string { return filepath.Join(s.Dir, "info", "exclude") }

// SetIgnored has git ignore the files of a list of patterns in all trees, as far as no .gitignore says otherwise. The tools'
// own repositories get the list when their trees are prepared.
func SetIgnored(s *Store, list string) error {
	if has, err := os.ReadFile(ignoredFile(s)); err == nil && string(has) == list || gone(err) && list == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(ignoredFile(s)), 0o700)
	if err == nil {
		err = WriteWhole(ignoredFile(s), list)
	}
	if err != nil {
		return fmt.Errorf("write the list of ignored files: %w", role.Cause(err))
	}
	return nil
}

// ignored is that list; empty: there is none.
func ignored(s *Store) (string, error) {
	text, err := os.ReadFile(ignoredFile(s))
	if gone(err) {
		return "", nil
	}
	return string(text), err
}
