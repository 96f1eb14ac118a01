package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sett/contract/config"
)

// agreedFolder is the folder with the records of agreed rights, beside the instances. No
// instance can have its name.
const agreedFolder = ".agreed"

// Agreed is the record of the rights that a person agreed to for one repository. It is
// not in the repository, which could change it, and no container has it. Rights stay in
// it when sett.yml drops them: taken up again they are not asked for again.
type Agreed struct {
	Repository string         `json:"repository"`   // its root
	ID         string         `json:"id,omitempty"` // the identity of its git directory; empty: an older sett wrote the record, or there is no git
	Rights     []config.Right `json:"rights"`       // sorted, each once

	// Images are the ids that names of images stood for at their first use, where Sett chose the name.
	Images map[string]string `json:"images,omitempty"`

	path    string         // empty: there is none that counts
	older   []config.Right // that an older sett used without a record
	foreign bool           // there is a record of another repository at this path
}

// AgreedFor reads the record of the repository of a configuration. Without one, or with
// one that cannot be read, nothing was agreed to. A record in the workspace, where tools
// may write, does not count.
func AgreedFor(l *Locator, file string) (*Agreed, error) {
	workspace, err := l.Workspace()
	if err != nil {
		return nil, err
	}
	a, err := agreedIn(l, repositoryOf(workspace, file))
	if err == nil && leadsInto(a.path, workspace) {
		a.Rights, a.Images, a.path = nil, nil, ""
	}
	if err == nil && a.ID == "" && !a.foreign {
		a.older, err = usedRights(l, a.Repository)
	}
	return a, err
}

// usedRights are the rights of programs that instances of a repository run with. An older sett did not remember those
// that were agreed to by --runtime process.
func usedRights(l *Locator, repository string) (used []config.Right, err error) {
	all, err := l.All()
	if err != nil {
		return nil, err
	}
	for _, in := range all {
		if in.Runtime != config.RuntimeProcess || repositoryOf(in.Workspace, in.ConfigFile) != repository || firstIs(context.Background(), l, in) == firstGone {
			continue
		}
		c, err := in.Config()
		if err != nil {
			continue // its rights are not known, and are asked for
		}
		folder, err := filepath.Rel(repository, filepath.Dir(in.ConfigFile))
		if err != nil {
			continue
		}
		c.Runtime = config.RuntimeProcess
		used = append(used, slices.DeleteFunc(c.Rights(filepath.ToSlash(folder)), func(r config.Right) bool { return !r.OfPrograms() })...)
	}
	return used, nil
}

// leadsInto says whether a path that need not exist is in a folder or below, once its
// links are followed.
func leadsInto(path, folder string) bool {
	at, err := filepath.EvalSymlinks(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		at, err = filepath.EvalSymlinks(path)
	}
	return err == nil && Within(at, folder)
}

func agreedIn(l *Locator, repository string) (*Agreed, error) {
	root, err := l.Root()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(repository))
	path := filepath.Join(root, agreedFolder, hex.EncodeToString(sum[:])+".json")
	a := &Agreed{path: path}
	if err := ReadFile(path, a); err != nil || a.Repository != repository {
		a.Rights, a.Images, a.ID = nil, nil, ""
	}
	if a.ID != "" && a.ID != identityOf(repository) {
		a.Rights, a.Images, a.ID, a.foreign = nil, nil, "", true
	}
	a.Repository = repository
	return a, nil
}

// Growth returns those of the rights that nobody agreed to yet.
func (a *Agreed) Growth(rights []config.Right) []config.Right {
	grown := []config.Right{}
	for _, r := range rights {
		if !covers(slices.Concat(a.Rights, a.older), r) {
			grown = append(grown, r)
		}
	}
	return grown
}

// covers says whether agreed rights have a right.
func covers(agreed []config.Right, r config.Right) bool {
	return config.Covers(agreed, r) || r == tryRight && config.CoversPrograms(agreed)
}

// unbound says whether the record has rights that are not bound to the repository's id yet.
func (a *Agreed) unbound() bool {
	return a.ID == "" && len(a.Rights)+len(a.older) > 0 && identityOf(a.Repository) != ""
}

// Add adds rights to the record, binds it to the repository, and writes it, as a whole or not at all.
func (a *Agreed) Add(rights []config.Right) error {
	if a.path == "" {
		return nil // the next command asks again
	}
	a.ID = identityOf(a.Repository)
	all := slices.Concat(a.Rights, a.older, rights)
	slices.SortFunc(all, config.CompareRights)
	a.Rights = slices.Compact(all)
	return a.write()
}

// AddImage remembers the id that the name of an image stands for.
func (a *Agreed) AddImage(ref, id string) error {
	if a.path == "" {
		return nil
	}
	images := map[string]string{ref: id}
	for name, other := range a.Images {
		if name != ref {
			images[name] = other
		}
	}
	a.Images = images
	return a.write()
}

// write writes the record, as a whole or not at all.
func (a *Agreed) write() error {
	err := os.MkdirAll(filepath.Dir(a.path), 0o700)
	if err == nil {
		err = WriteFile(a.path, a)
	}
	if err != nil {
		return fmt.Errorf("remember the agreed rights: %w", err)
	}
	return nil
}

// ForgetAgreed removes the record of an instance's repository, unless another instance
// of it is left.
func ForgetAgreed(l *Locator, in *Instance) error {
	repository := repositoryOf(in.Workspace, in.ConfigFile)
	all, err := l.All()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name != in.Name && repositoryOf(other.Workspace, other.ConfigFile) == repository {
			return nil
		}
	}
	a, err := agreedIn(l, repository)
	if err != nil {
		return err
	}
	if err := os.Remove(a.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the agreed rights: %w", err)
	}
	_ = os.Remove(filepath.Dir(a.path)) // fails while there are others
	return nil
}
