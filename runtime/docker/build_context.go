package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// sentDockerfile is the Dockerfile's name in the context that the engine gets, and
// ignoreName that of the patterns; neither ends up in the image by the first name.
const (
	sentDockerfile = ".sett.Dockerfile"
	ignoreName     = ".dockerignore"
)

// sources are what a build is made from, as found on disk.
type sources struct {
	root       string // of the context
	dockerfile []byte
	ignore     []byte // nil: there is no file of patterns
	patterns   *patternmatcher.PatternMatcher
}

// readSources looks at what the engine would complain about later and longer.
func readSources(b Build) (sources, error) {
	root, err := filepath.EvalSymlinks(b.Context)
	if err != nil {
		return sources{}, fmt.Errorf("context %s: %w", b.Context, cause(err))
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return sources{}, fmt.Errorf("context %s: not a directory", b.Context)
	}
	s := sources{root: root}
	name := b.Dockerfile
	if name == "" {
		name = "Dockerfile"
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.Context, name)
	}
	s.dockerfile, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sources{}, fmt.Errorf("no such Dockerfile: %s", path)
	case err != nil:
		return sources{}, fmt.Errorf("read Dockerfile %s: %w", path, cause(err))
	}
	// A Dockerfile may have patterns of its own beside it.
	for _, ignore := range []string{path + ignoreName, filepath.Join(root, ignoreName)} {
		s.ignore, err = os.ReadFile(ignore)
		if err == nil {
			return s, s.readPatterns(ignore)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return sources{}, fmt.Errorf("read %s: %w", ignore, cause(err))
		}
	}
	return s, nil
}

func (s *sources) readPatterns(path string) error {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(s.ignore))
	if err == nil {
		s.patterns, err = patternmatcher.New(patterns)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// write writes the context as the engine wants it: an archive, in it the
// Dockerfile as given here, and the files that are not ignored.
func (s sources) write(w io.Writer, dockerfile []byte) error {
	t := tar.NewWriter(w)
	// The engine takes these two out before it builds, since they are ignored.
	ignore := append(bytes.Clone(s.ignore), "\n"+sentDockerfile+"\n"...)
	if s.ignore == nil {
		ignore = append(ignore, ignoreName+"\n"...)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{sentDockerfile, dockerfile}, {ignoreName, ignore}} {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(s.root, path)
		if relErr != nil || rel == "." {
			return errors.Join(err, relErr)
		}
		rel = filepath.ToSlash(rel)
		ignored, skip := s.ignores(rel, d.IsDir())
		switch {
		case skip:
			return fs.SkipDir
		case ignored, rel == sentDockerfile, rel == ignoreName:
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", path, cause(err))
		}
		return writeEntry(t, path, rel, d)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

// ignores says whether a path is ignored, and, of a directory, whether all that is
// below it is as well. A pattern with ! may bring something of it back.
func (s sources) ignores(rel string, dir bool) (ignored, skip bool) {
	if s.patterns == nil {
		return false, false
	}
	ignored, err := s.patterns.MatchesOrParentMatches(filepath.FromSlash(rel))
	if err != nil || !ignored {
		return false, false
	}
	if !dir {
		return true, false
	}
	for _, p := range s.patterns.Patterns() {
		// Whether a pattern with wildcards reaches below is not worth finding out.
		text := filepath.ToSlash(p.String())
		if p.Exclusion() && (strings.HasPrefix(text+"/", rel+"/") || strings.ContainsAny(text, "*?[")) {
			return true, false
		}
	}
	return true, true
}

// writeEntry writes one file, directory or link. Whose it is on this machine means
// nothing in an image: all belongs to root.
func writeEntry(t *tar.Writer, path, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, cause(err))
	}
	h := &tar.Header{Name: rel, Mode: archiveMode(info.Mode()), ModTime: info.ModTime().Truncate(time.Second)}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, rel+"/"
		return t.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return fmt.Errorf("read %s: %w", path, cause(err))
		}
		return t.WriteHeader(h)
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		return writeFile(t, path, h)
	}
	return nil // sockets, pipes and devices have no content
}

// archiveMode is a mode as archives have it.
func archiveMode(m fs.FileMode) int64 {
	mode := int64(m.Perm())
	if m&fs.ModeSetuid != 0 {
		mode |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		mode |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		mode |= 0o1000
	}
	return mode
}

func writeFile(t *tar.Writer, path string, h *tar.Header) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w, and no pattern of %s leaves it out", path, cause(err), ignoreName)
	}
	defer f.Close()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	// A file that grows meanwhile is taken as it was, one that shrinks cannot be.
	switch _, err := io.CopyN(t, f, h.Size); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("read %s: it became shorter meanwhile", path)
	case err != nil:
		return err
	}
	return nil
}
