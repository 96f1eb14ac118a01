package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"sett/runtime/docker/engine"
	"sett/runtime/repofile"
)

// sentDockerfile and ignoreName are the names of the Dockerfile and of the ignore
// patterns in the context that the engine gets. No image contains sentDockerfile.
const (
	sentDockerfile = ".sett.Dockerfile"
	ignoreName     = ".dockerignore"
)

// sources are the files of a build, as found on disk.
type sources struct {
	root       string // of the context
	dockerfile []byte
	ignore     []byte // nil: no file of patterns exists
	patterns   *patternmatcher.PatternMatcher
	most       int64 // bytes of all files together
}

// Bounds of what a build reads: of a Dockerfile or a file of patterns, and of all files
// of a context together, by their size as archives count it. A sparse file counts whole.
const (
	mostText    = 4 << 20
	mostContext = 16 << 30
)

// blank reports whether a Dockerfile has no instruction.
func blank(dockerfile []byte) bool {
	for line := range bytes.Lines(dockerfile) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// readSources finds the sources, and errors that the engine would report later and at
// length.
func readSources(b Build) (sources, error) {
	s := sources{most: mostContext}
	root, err := b.find(&s)
	if err != nil {
		return sources{}, err
	}
	path := b.dockerfile()
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.Context, path)
	}
	s.dockerfile, err = readText(root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sources{}, fmt.Errorf("no such Dockerfile: %s", path)
	case err != nil:
		return sources{}, fmt.Errorf("read Dockerfile %s: %w", path, err)
	}
	if blank(s.dockerfile) {
		return sources{}, fmt.Errorf("the Dockerfile %s is empty", path)
	}
	// A Dockerfile may have its own patterns beside it.
	for _, ignore := range []string{path + ignoreName, filepath.Join(b.Context, ignoreName)} {
		s.ignore, err = readText(root, ignore)
		if err == nil {
			return s, s.readPatterns(ignore)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return sources{}, fmt.Errorf("read %s: %w", ignore, err)
		}
	}
	return s, nil
}

// dockerfile is the path of the Dockerfile, from the context or absolute.
func (b Build) dockerfile() string {
	return cmp.Or(b.Dockerfile, "Dockerfile")
}

// find finds the context, and the directory that its links must not lead out of: the
// repository, or a context that is named by a path outside of it.
func (b Build) find(s *sources) (root string, err error) {
	if s.root, err = filepath.EvalSymlinks(b.Context); err != nil {
		return "", fmt.Errorf("context %s: %w", b.Context, engine.Cause(err))
	}
	if info, err := os.Stat(s.root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("context %s: not a directory", b.Context)
	}
	if b.Root == "" || !inside(b.Context, b.Root) {
		return b.Context, nil
	}
	if top, err := filepath.EvalSymlinks(b.Root); err != nil || !inside(s.root, top) {
		return "", fmt.Errorf("context %s: %w", b.Context, repofile.ErrOutside)
	}
	return b.Root, nil
}

// inside says whether a path is a directory or below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// readText reads a Dockerfile or a file of patterns. A path outside of the root was
// written into sett.yml as such.
func readText(root, path string) ([]byte, error) {
	if !inside(path, root) {
		root = ""
	}
	return repofile.Read(root, path, mostText)
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

// write writes the context as an archive for the engine: this Dockerfile, and the files
// that are not ignored. The digest gets all of it that the engine's cache compares: no times.
func (s sources) write(ctx context.Context, w io.Writer, dockerfile []byte, digest hash.Hash) error {
	dir, err := os.OpenRoot(s.root)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.root, engine.Cause(err))
	}
	defer dir.Close()
	t := &contextWriter{Writer: tar.NewWriter(w), digest: digest, dir: dir, left: s.most}
	// The engine removes these two before it builds, since they are ignored.
	ignore := append(bytes.Clone(s.ignore), "\n"+sentDockerfile+"\n"...)
	if s.ignore == nil {
		ignore = append(ignore, ignoreName+"\n"...)
	}
	if err := errors.Join(putFile(t.Writer, sentDockerfile, dockerfile), putFile(t.Writer, ignoreName, ignore)); err != nil {
		return err
	}
	fmt.Fprintf(digest, "%q %q\n", dockerfile, ignore)
	err = filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
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
			return fmt.Errorf("read %s: %w", path, engine.Cause(err))
		}
		return t.writeEntry(path, rel, d)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

// ignores says whether a path is ignored, and whether everything below a directory is,
// too. A pattern with ! may include a file below it again.
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
		// A pattern with wildcards may reach below; finding out is not worth the effort.
		text := filepath.ToSlash(p.String())
		if p.Exclusion() && (strings.HasPrefix(text+"/", rel+"/") || strings.ContainsAny(text, "*?[")) {
			return true, false
		}
	}
	return true, true
}

// contextWriter is the archive of a context.
type contextWriter struct {
	*tar.Writer
	digest hash.Hash
	dir    *os.Root // of the context
	left   int64    // bytes that its files may still have
}

// WriteHeader writes a header, and to the digest without its time.
func (t *contextWriter) WriteHeader(h *tar.Header) error {
	fmt.Fprintf(t.digest, "%c %q %q %o %d\n", h.Typeflag, h.Name, h.Linkname, h.Mode, h.Size)
	return t.Writer.WriteHeader(h)
}

// Write writes content of a file.
func (t *contextWriter) Write(p []byte) (int, error) {
	_, _ = t.digest.Write(p) // cannot fail
	return t.Writer.Write(p)
}

// writeEntry writes one file, directory or link. In the image, all belong to root: the
// owners on this machine mean nothing there.
func (t *contextWriter) writeEntry(path, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, engine.Cause(err))
	}
	h := &tar.Header{Name: rel, Mode: archiveMode(info.Mode()), ModTime: info.ModTime().Truncate(time.Second)}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, rel+"/"
		return t.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return fmt.Errorf("read %s: %w", path, engine.Cause(err))
		}
		return t.WriteHeader(h)
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		return t.writeFile(path, h)
	}
	return nil // sockets, pipes and devices have no content
}

// archiveMode is a mode in the form of archives.
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

func (t *contextWriter) writeFile(path string, h *tar.Header) error {
	if t.left -= h.Size; t.left < 0 {
		return fmt.Errorf("read %s: with it, the context is larger than %d GiB, and no pattern of %s leaves it out", path, mostContext>>30, ignoreName)
	}
	f, err := repofile.Open(t.dir, filepath.FromSlash(h.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w, and no pattern of %s leaves it out", path, engine.Cause(err), ignoreName)
	}
	defer f.Close()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	// A file that grows meanwhile is written as it was; one that shrinks is an error.
	switch _, err := io.CopyN(t, f, h.Size); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("read %s: it became shorter meanwhile", path)
	case err != nil:
		return err
	}
	return nil
}

// putFile writes a small file to an archive.
func putFile(t *tar.Writer, name string, data []byte) error {
	h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}
