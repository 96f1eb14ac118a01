package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"sett/roles/role/lfs"
)

// Pointers are the paths of a commit that only point at their content, which is not in the
// repository: a tree of the commit alone has none of it.
type Pointers struct {
	Submodules []string // empty directories in a tree
	LFS        []string // files of git LFS: small texts that name their content
	HasLFS     bool     // attributes give files to git LFS

	commits map[string]string      // of submodules, by path
	content map[string]lfs.Pointer // of files of git LFS, by path
}

// Bounds of the search for files of git LFS.
const (
	mostLFSBlobs  = 50_000 // that are looked at
	mostAttribute = 100    // files of attributes that are looked at
)

// FindPointers finds the paths of a commit that only point at their content. It runs no filter.
func FindPointers(ctx context.Context, g Repository, commit string) (Pointers, error) {
	var p Pointers
	out, err := g.Run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit, "--")
	if err != nil {
		return p, err
	}
	var files, attributes [][2]string // hash and path
	for _, entry := range fields0(out) {
		head, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		switch {
		case len(fields) != 3:
		case fields[1] == "commit":
			p.Submodules = append(p.Submodules, name)
			if p.commits == nil {
				p.commits = map[string]string{}
			}
			p.commits[name] = fields[2]
		case path.Base(name) == ".gitattributes":
			attributes = append(attributes, [2]string{fields[2], name})
		case fields[0] != "120000":
			files = append(files, [2]string{fields[2], name})
		}
	}
	err = texts(ctx, g, attributes[:min(len(attributes), mostAttribute)], func(_, text string) {
		p.HasLFS = p.HasLFS || strings.Contains(text, "filter=lfs")
	})
	if err != nil || !p.HasLFS {
		return p, err
	}
	candidates, err := small(ctx, g, files)
	if err != nil {
		return p, err
	}
	err = texts(ctx, g, candidates[:min(len(candidates), mostLFSBlobs)], func(name, text string) {
		if !strings.HasPrefix(text, lfs.Begins) {
			return
		}
		p.LFS = append(p.LFS, name)
		if of, ok := lfs.Parse(text); ok {
			if p.content == nil {
				p.content = map[string]lfs.Pointer{}
			}
			p.content[name] = of
		}
	})
	return p, err
}

// Content returns the pointers of the files of git LFS whose content is in that directory.
func (p Pointers) Content(at lfs.Objects) map[string]lfs.Pointer {
	found := map[string]lfs.Pointer{}
	for name, of := range p.content {
		if at.Has(of) {
			found[name] = of
		}
	}
	return found
}

// small returns those of the files that may be of git LFS by their size.
func small(ctx context.Context, g Repository, files [][2]string) ([][2]string, error) {
	out, err := g.Feed(ctx, hashes(files), "cat-file", "--batch-check=%(objectsize)")
	if err != nil || len(files) == 0 {
		return nil, err
	}
	var found [][2]string
	for i, row := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if size, err := strconv.Atoi(row); err == nil && size > len(lfs.Begins) && size <= lfs.MostText && i < len(files) {
			found = append(found, files[i])
		}
	}
	return found, nil
}

// texts reads files; one that is missing is left out.
func texts(ctx context.Context, g Repository, files [][2]string, each func(name, text string)) error {
	if len(files) == 0 {
		return nil
	}
	out, err := g.Feed(ctx, hashes(files), "cat-file", "--batch")
	if err != nil {
		return err
	}
	r := bufio.NewReader(strings.NewReader(out))
	for _, f := range files {
		head, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 {
			continue // missing
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(r, text); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		each(f[1], string(text[:size]))
	}
	return nil
}

// hashes is git's input about files.
func hashes(files [][2]string) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f[0] + "\n")
	}
	return b.String()
}
