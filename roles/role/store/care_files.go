package store

// This file keeps the care for all agents' trees, with the files that they get copies of.

import (
	hashes "crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// careFolder is the directory of the care for all agents among the trees, trusted. No tree has such a name.
const careFolder = ".care"

// careFile is the file of an agent's care in its directory there.
const careFile = "care.json"

// stored is a care as its file has it.
type stored struct {
	Care
	Files string `json:"files,omitempty"` // the folder of the files to copy, beside this file
}

// CareOf returns the care for an agent's trees, as SetCare left it; zero: there is none.
func CareOf(trees, agent string) (Care, error) {
	dir := filepath.Join(trees, careFolder, agent)
	text, err := os.ReadFile(filepath.Join(dir, careFile))
	if gone(err) {
		return Care{}, nil
	}
	var s stored
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return Care{}, fmt.Errorf("read the care of %s: %w", agent, err)
	}
	s.From = filepath.Join(dir, s.Files)
	return s.Care, nil
}

// Copied is a file of the user's that trees get a copy of.
type Copied struct {
	Text       []byte
	Executable bool
}

// SetCare says how the trees of all agents are cared for, with the files that they get copies
// of, by path. Agents that are not named have no care. The role may read it meanwhile.
func SetCare(trees string, care map[string]Care, files map[string]Copied) error {
	top := filepath.Join(trees, careFolder)
	old, err := os.ReadDir(top)
	if err != nil && !gone(err) {
		return err
	}
	for _, o := range old {
		if _, stays := care[o.Name()]; !stays {
			if err := RemoveAll(filepath.Join(top, o.Name())); err != nil {
				return err
			}
		}
	}
	for agent, c := range care {
		if err := setCare(filepath.Join(top, agent), c, files); err != nil {
			return fmt.Errorf("write the care of %s: %w", agent, err)
		}
	}
	owner := ownerOf(trees)
	if owner == nil || len(care) == 0 {
		return nil
	}
	if err := giveBelow(top, int(owner.Uid), int(owner.Gid)); err != nil {
		return err
	}
	return inherit(trees, top)
}

// setCare writes the files first, under a name of their content, then the file that names them.
func setCare(dir string, c Care, files map[string]Copied) error {
	sum := hashes.New()
	for _, p := range c.Copy {
		fmt.Fprintf(sum, "%q %t %q\n", p, files[p].Executable, files[p].Text)
	}
	s := stored{c, "files-" + hex.EncodeToString(sum.Sum(nil)[:16])}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, s.Files)); gone(err) {
		next := filepath.Join(dir, ".new")
		if err := errors.Join(RemoveAll(next), os.Mkdir(next, 0o700)); err != nil {
			return err
		}
		for _, p := range c.Copy {
			at, mode := filepath.Join(next, filepath.FromSlash(p)), fs.FileMode(0o600)
			if files[p].Executable {
				mode = 0o700
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, files[p].Text, mode)); err != nil {
				return err
			}
		}
		if err := os.Rename(next, filepath.Join(dir, s.Files)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := WriteWhole(filepath.Join(dir, careFile), string(text)); err != nil {
		return err
	}
	all, err := os.ReadDir(dir)
	for _, f := range all {
		if f.Name() != s.Files && f.Name() != careFile {
			err = errors.Join(err, RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
	return err
}
