package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// ErrIncomplete says that a repository lacks objects that a commit reaches.
	ErrIncomplete = errors.New("objects are missing")
	// ErrFormat says that a store with commits has another hash algorithm than a repository.
	ErrFormat = errors.New("the hash algorithm is another")
)

// fetchedRef is the commit that Fetch brought last. Most of the next one's history is
// its history, too.
const fetchedRef = "refs/sett/fetched"

// fetchTries is how often Fetch reads a repository that changes meanwhile: git may pack
// it anew and remove the files that it just read.
const fetchTries = 3

// Fetch brings a commit with everything that it reaches into the store and has a ref hold
// it. All is on disk when it returns. The commit is of a trusted repository with this
// directory of objects, which may borrow others'. Nothing is written there, and
// nothing of its configuration is read. Its history was never checked for form: git has
// become stricter than it was when old commits were made.
func (s *Store) Fetch(ctx context.Context, objects, commit, ref string) error {
	known, err := s.Commit(ctx, fetchedRef)
	if err != nil {
		return err
	}
	if len(known) != len(commit) {
		if err := s.fit(ctx, commit); err != nil {
			return err
		}
	}
	packs, err := fetchAll(ctx, s, objects, commit, known)
	if err != nil {
		return err
	}
	updates := fmt.Sprintf("update %s %s\nupdate %s %s\n", ref, commit, fetchedRef, commit)
	if _, err := s.run(ctx, command{args: []string{"update-ref", "--stdin"}, stdin: updates}); err != nil {
		return err
	}
	for _, pack := range packs {
		s.release(pack)
	}
	return nil
}

// fetchAll brings the objects that the store lacks, as often as it takes.
func fetchAll(ctx context.Context, s *Store, objects, commit, known string) (packs []string, err error) {
	for try := 1; ; try++ {
		packs, err = s.fetchOnce(ctx, objects, commit, known)
		if err == nil || try == fetchTries || !errors.Is(err, ErrIncomplete) {
			return packs, err
		}
	}
}

// fetchOnce brings the objects that the store lacks. Packs that it brings are kept from
// being pruned until they are released.
func (s *Store) fetchOnce(ctx context.Context, objects, commit, known string) (packs []string, err error) {
	theirs, err := boundaryOf(objects)
	if err != nil {
		return nil, err
	}
	own, err := Boundary(s.Dir)
	if err != nil {
		return nil, err
	}
	if len(minus(own, theirs)) == 0 { // else there may be more history by now
		if known == commit {
			return nil, nil
		}
		if err := s.Whole(ctx, []string{commit}, known); err == nil || exitCode(err) == 0 {
			return nil, err
		}
	}
	if len(own)+len(theirs) > 0 {
		return s.fetchShallow(ctx, objects, commit, known, theirs)
	}
	pack, err := s.fetch(ctx, objects, "", []string{commit}, known)
	return []string{pack}, err
}

// Whole is an error unless the store has everything that commits reach. Of the known ones
// it has, and so nothing that they reach is looked at; an empty one counts for nothing.
func (s *Store) Whole(ctx context.Context, commits []string, known ...string) error {
	want := strings.Join(commits, "\n") + "\n"
	for _, k := range known {
		if k != "" {
			want += "^" + k + "\n"
		}
	}
	_, err := s.run(ctx, command{args: []string{"rev-list", "--objects", "--quiet", "--stdin"}, stdin: want})
	return err
}

// fetch brings the objects that commits reach and the known one does not. Ends says
// where their history ends; empty: nowhere.
func (s *Store) fetch(ctx context.Context, objects, ends string, commits []string, known string) (pack string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	sender := s.process(ctx, command{
		args: []string{"pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q"}, stdin: reach(strings.Join(commits, "\n"), some(known)),
		env: append(some(ends), Borrowed(objects)),
	})
	pack, sent, received := pass(ctx, sender, s.process(ctx, command{args: []string{"index-pack", "--stdin", "--fix-thin", "--keep=sett"}}))
	if received == nil && exitCode(sent) > 0 {
		sent = fmt.Errorf("%w: %w", ErrIncomplete, sent)
	}
	return pack, errors.Join(sent, received)
}

// fit gives a store without a commit the format of a commit's hash.
func (s *Store) fit(ctx context.Context, commit string) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	want := "sha1"
	if len(commit) == 64 {
		want = "sha256"
	}
	has, err := s.Format(ctx)
	if err != nil || has == want {
		return err
	}
	held, err := s.git(ctx, "for-each-ref", "--count=1", "--format=x")
	if err != nil {
		return err
	}
	if held != "" {
		return fmt.Errorf("%w: the store has commits of %s, the repository of %s", ErrFormat, has, want)
	}
	if err := s.emptyObjects(); err != nil {
		return err
	}
	return WriteWhole(filepath.Join(s.Dir, "config"), configOf(want, true))
}

// emptyObjects removes all objects. The directories stay: they may be mounted.
func (s *Store) emptyObjects() error {
	entries, err := os.ReadDir(s.Objects())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := empty(filepath.Join(s.Objects(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Send brings a commit with everything that it reaches into the repository with this git
// directory, which need not have a ref for it. The commit is of the store, or made in that repository of
// objects of both. Git keeps the objects there until release is called. Where the
// repository has them all, nothing is written; nothing but objects ever is, and the end of a
// shallow history that the repository lacks the rest of.
func (s *Store) Send(ctx context.Context, commit, gitDir string) (release func(), err error) {
	release = func() {}
	to := Open(gitDir)
	_, err = to.git(ctx, "rev-list", "--objects", "--quiet", commit, "--not", "--all")
	if exitCode(err) == 0 {
		return release, err
	}
	named, err := OpenUser(gitDir).named(ctx)
	if err != nil {
		return release, err
	}
	return s.sendBeyond(ctx, commit, to, named)
}

// sendBeyond is Send to a repository that has everything that these commits reach.
func (s *Store) sendBeyond(ctx context.Context, commit string, to *Store, named []string) (release func(), err error) {
	release = func() {}
	environ, err := s.Ends(to.Objects())
	if err != nil {
		return release, err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	// Not thin: a partial clone may lack the objects that deltas would build on.
	sender := s.process(ctx, command{
		args: []string{"pack-objects", "--revs", "--delta-base-offset", "--stdout", "-q"}, stdin: reach(commit, named),
		env: append(slices.Clone(environ), Borrowed(to.Objects())),
	})
	q, err := newQuarantine(to)
	if err != nil {
		return release, err
	}
	defer q.remove()
	receiver := to.process(ctx, command{args: []string{"index-pack", "--stdin", "--strict", "--keep=sett"}, env: append(slices.Clone(environ), q.environ()...)})
	pack, sent, received := pass(ctx, sender, receiver)
	if sent != nil || received != nil {
		return release, errors.Join(sent, received)
	}
	kept, err := q.admit(pack)
	release = func() { to.release(kept) }
	if err != nil {
		return release, err
	}
	return release, s.sendEnds(ctx, to, commit, named, append(environ, Borrowed(to.Objects())))
}
