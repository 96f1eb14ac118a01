package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's own names of objects
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// state is a file as a commit has it: its mode and its blob, as git writes them.
type state struct{ mode, blob string }

const (
	modeNone = "000000"
	modeFile = "100644"
	modeProg = "100755"
	modeLink = "120000"

	modeModule = "160000"
)

func (s state) absent() bool { return s.mode == modeNone }

// entry is the line for update-index --index-info that has the index hold the file so.
func (s state) entry(file string) string {
	mode := s.mode
	if s.absent() {
		mode = "0"
	}
	return mode + " " + s.blob + "\t" + file + "\x00"
}

// change is a file in which two commits differ.
type change struct {
	path     string
	was, now state
}

// changesOf returns the files in which two commits differ.
func changesOf(ctx context.Context, g Repository, from, to string) (map[string]change, error) {
	out, err := g.Run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", from, to, "--")
	if err != nil {
		return nil, err
	}
	all := map[string]change{}
	parts := fields0(out)
	for i := 0; i+1 < len(parts); i += 2 {
		f := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(f) < 4 {
			return nil, fmt.Errorf("git diff-tree: %q", parts[i])
		}
		all[parts[i+1]] = change{parts[i+1], state{f[0], f[2]}, state{f[1], f[3]}}
	}
	return all, nil
}

// mostFiltered is how many bytes of files are compared as git would commit them, in one look. Those that are byte for
// byte as a commit has them are no more than the commit.
const mostFiltered = 256 << 20

// writtenAs tells the files of a working tree that are not as the changed commit has them from those that are: the mode
// counts, and the content as it is or as git would commit it. No filter is run that the repository leaves out.
func writtenAs(ctx context.Context, g Repository, tree string, changes map[string]change, files []string) (others []string, written []change, err error) {
	if len(files) == 0 {
		return nil, nil, nil
	}
	sizes, err := blobSizes(ctx, g, changes, files)
	if err != nil {
		return nil, nil, err
	}
	modes := true
	if out, err := g.Run(ctx, "config", "--type=bool", "core.fileMode"); err == nil {
		modes = strings.TrimSpace(out) != "false"
	}
	var ask []change
	left := int64(mostFiltered)
	for _, file := range files {
		c, is := changes[file]
		info, kind := lookAt(tree, file)
		switch {
		case !is || kind == "" || c.was.mode == modeModule && info != nil && info.IsDir():
			others = append(others, file)
		case kind == modeNone && c.now.absent(), kind != modeNone && sameMode(kind, c.now.mode, modes) && sameBlob(tree, file, info, c.now.blob, sizes):
			written = append(written, c)
		case kind != modeLink && sameMode(kind, c.now.mode, modes) && info.Size() <= left:
			left -= info.Size()
			ask = append(ask, c)
		default:
			others = append(others, file)
		}
	}
	for some := range slices.Chunk(ask, 200) {
		args := []string{"hash-object", "--"}
		for _, c := range some {
			args = append(args, c.path)
		}
		out, err := g.Run(ctx, args...)
		hashes := strings.Fields(out)
		for i, c := range some {
			if err == nil && len(hashes) == len(some) && hashes[i] == c.now.blob {
				written = append(written, c)
			} else {
				others = append(others, c.path) // also one that cannot be read
			}
		}
	}
	return others, written, ctx.Err()
}

// blobSizes are the sizes of the blobs that the changed commit has of the files.
func blobSizes(ctx context.Context, g Repository, changes map[string]change, files []string) (map[string]int64, error) {
	var blobs []string
	for _, file := range files {
		if c := changes[file].now; c.mode == modeFile || c.mode == modeProg || c.mode == modeLink {
			blobs = append(blobs, c.blob)
		}
	}
	sizes := map[string]int64{}
	if len(blobs) == 0 {
		return sizes, nil
	}
	out, err := g.Feed(ctx, lines(blobs), "cat-file", "--batch-check=%(objectname) %(objectsize)")
	for line := range strings.Lines(out) {
		blob, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			sizes[blob] = n
		}
	}
	return sizes, err
}

// lookAt returns the mode that git would give a file of a working tree; empty: it cannot have it. A file in a folder
// that is a link, or below a file, is not there.
func lookAt(tree, file string) (fs.FileInfo, string) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(tree, filepath.FromSlash(dir))); err == nil && !info.IsDir() {
			return nil, modeNone
		}
	}
	info, err := os.Lstat(filepath.Join(tree, filepath.FromSlash(file)))
	switch {
	case os.IsNotExist(err):
		return nil, modeNone
	case err != nil:
		return nil, ""
	case info.IsDir():
		return info, modeNone // the files in it are others
	case info.Mode()&fs.ModeSymlink != 0:
		return info, modeLink
	case !info.Mode().IsRegular():
		return info, ""
	case info.Mode()&0o100 != 0:
		return info, modeProg
	}
	return info, modeFile
}

// sameMode says whether a mode of the working tree is that of a commit. Not all file systems have modes.
func sameMode(is, want string, modes bool) bool {
	return is == want || !modes && (want == modeFile || want == modeProg) && is != modeLink
}

// sameBlob says whether a file is a blob, byte for byte.
func sameBlob(tree, file string, info fs.FileInfo, blob string, sizes map[string]int64) bool {
	size, known := sizes[blob]
	if !known {
		return false
	}
	sum := sha1.New() //nolint:gosec // git's own names of objects
	if len(blob) == 2*sha256.Size {
		sum = sha256.New()
	}
	_, _ = fmt.Fprintf(sum, "blob %d\x00", size)
	at := filepath.Join(tree, filepath.FromSlash(file))
	if info.Mode()&fs.ModeSymlink != 0 {
		text, err := os.Readlink(at)
		_, _ = io.WriteString(sum, text)
		return err == nil && hex.EncodeToString(sum.Sum(nil)) == blob
	}
	if info.Size() != size {
		return false
	}
	f, err := os.Open(at)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(sum, io.LimitReader(f, size))
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == blob
}

// stage has the index of a working tree hold files as the commit has them of which they were written. The way back has
// it hold them as before.
func stage(ctx context.Context, g Repository, written []change) (back func() error, err error) {
	hold := func(side func(change) state) error {
		if len(written) == 0 {
			return nil
		}
		var gone, there strings.Builder
		for _, c := range written {
			if s := side(c); s.absent() {
				gone.WriteString(s.entry(c.path)) // first: it may be in the place of a folder
			} else {
				there.WriteString(s.entry(c.path))
			}
		}
		_, err := g.Feed(ctx, gone.String()+there.String(), "update-index", "-z", "--index-info")
		return err
	}
	return func() error { return hold(func(c change) state { return c.was }) }, hold(func(c change) state { return c.now })
}
