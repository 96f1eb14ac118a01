package instance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
)

// Repository returns the user's git repository, for a working tree of an instance. Git
// reads there what is written, not what a ref has in its place.
func Repository(l *Locator, in *Instance) git.Repository {
	g := git.At(l.Environ(), in.Workspace)
	g.Environ = append(g.Environ, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1")
	return g
}

// Store returns the repository that holds the commits of an instance, to read them. It
// finds in the user's own repository the commits that an older Sett left there.
func Store(ctx context.Context, l *Locator, in *Instance) git.Repository {
	own := store.Open(in.StoreDir())
	if !own.Exists() {
		return Repository(l, in)
	}
	g := Repository(l, in)
	_, objects, err := g.Own(ctx)
	g.Dir = own.Dir
	g.Environ = append(g.Environ, "GIT_DIR="+own.Dir)
	if err != nil { // the user's repository is gone
		return g
	}
	g.Environ = append(g.Environ, store.Borrowed(objects))
	if ends, err := own.Ends(objects); err == nil { // else history is read as far as it goes
		g.Environ = append(g.Environ, ends...)
	}
	return g
}

// Unlanded returns the commits of results that the instance's store has, and no branch, tag or HEAD of the
// user's repository, in no form. Without git none is counted.
func Unlanded(ctx context.Context, l *Locator, in *Instance) []string {
	s := store.Open(in.StoreDir())
	if in.Workspace == "" || !s.Exists() {
		return nil
	}
	out, err := Store(ctx, l, in).Run(ctx, "for-each-ref", "--format=%(objectname)", store.Artefact(""))
	hashes := strings.Fields(out)
	slices.Sort(hashes)
	if hashes = slices.Compact(hashes); err != nil || len(hashes) == 0 {
		return nil
	}
	forms, err := store.Forms(ctx, s) // it may have landed in another form
	if err != nil {
		return nil
	}
	asked := slices.Clone(hashes)
	for _, hash := range hashes {
		if landed := forms[hash]; landed != "" {
			asked = append(asked, landed)
		}
	}
	missing, err := git.Unreached(ctx, Repository(l, in), asked)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(hashes, func(hash string) bool {
		return !slices.Contains(missing, hash) || forms[hash] != "" && !slices.Contains(missing, forms[hash])
	})
}

// Deliver brings a commit of the instance's store, or one that was made of its objects,
// into a repository of the user's with this git directory, and its content of git LFS. Git keeps the objects there
// until release is called, when a ref names the commit. Lacking are files of git LFS without their content.
func Deliver(ctx context.Context, in *Instance, commit, gitDir string) (release func(), lacking []string, err error) {
	s := store.Open(in.StoreDir())
	if !s.Exists() {
		return func() {}, nil, nil
	}
	lacking, err = store.SendContent(ctx, s, commit, gitDir) // first: once the commit is there, nobody asks for it
	release = func() {}
	if err == nil {
		release, err = s.Send(ctx, commit, gitDir)
	}
	if err != nil {
		mend := git.Remedy(err)
		if b, lost := git.Borrowed(filepath.Join(gitDir, "objects")); mend == "" && lost == nil && len(b.Lost) > 0 {
			err, mend = errors.New(b.Why()), b.Mend()
		}
		err = role.Fail(role.Environment, fmt.Errorf("bring commit %.10s into %s: %w", commit, role.Clean(gitDir), err), "%s", mend)
	}
	return release, lacking, err
}

// TellLacking warns of files of git LFS whose content is neither in the store nor in the user's repository.
func TellLacking(say func(format string, args ...any), files []string) {
	if len(files) > 0 {
		say("sett: warning: the content of %s of git LFS is neither in the instance's store nor in the repository: only the pointers came\n", SomeFiles(files))
	}
}

// made is the store of an instance, which sett up makes.
func made(l *Locator, in *Instance) (*store.Store, error) {
	s := store.Open(in.StoreDir())
	if !s.Exists() {
		return nil, role.Fail(role.Environment, fmt.Errorf("instance %s has no store for commits: an older sett started it", in.Name), "%s makes it", l.UpLine(in))
	}
	return s, nil
}

// Bring brings a commit of the user's repository, with all that it reaches, into the
// instance's store and has a ref hold it.
func Bring(ctx context.Context, l *Locator, in *Instance, commit, ref string) error {
	s, err := made(l, in)
	if err != nil {
		return err
	}
	g := Repository(l, in)
	_, objects, err := g.Own(ctx)
	if err != nil {
		return err
	}
	err = Full(s.Fetch(ctx, objects, commit, ref), s.Dir, s.Objects())
	var full *role.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrIncomplete):
		why, mend := git.Lacks(ctx, g)
		if why != "" {
			err = fmt.Errorf("the repository %s lacks objects that commit %.10s needs: %s", role.Clean(in.Workspace), commit, why)
		}
		return role.Fail(role.Environment, err, "%s", mend)
	case errors.Is(err, store.ErrFormat):
		return role.Fail(role.Environment, err, "a clan of its own for the new repository: sett up --name NAME")
	}
	if git.Remedy(err) == "" { // git does not say of each file why it cannot be written
		if no := store.Writable(s.Dir); no != nil {
			err = fmt.Errorf("%w (%w)", err, no)
		}
	}
	return role.Fail(role.Environment, fmt.Errorf("bring commit %.10s into the store: %w", commit, err), "%s", git.Remedy(err))
}
