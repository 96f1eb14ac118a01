package toolrun

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sett/runtime/repofile"
)

// mostProgram is the largest program that is read for its digest: half a second's work.
const mostProgram = 512 << 20

// Program is the file that a command names. Its digest is kept for as long as the file's
// path, size and times stay the same.
type Program struct {
	Command Command // Args, Dir and Env as for Run
	// Changing is a directory whose files are other ones for each run; empty: there is none.
	Changing string

	mu     sync.Mutex
	path   string
	stat   *unix.Stat_t // nil: nothing is kept
	digest string
}

// Digest returns the file's digest as sha256:HEX; empty if there is no such file, or if
// it cannot be read, is no regular file, is larger than 512 MiB or lies in Changing.
func (p *Program) Digest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.Command.Args) == 0 {
		return ""
	}
	path, err := lookPath(p.Command.Args[0], p.Command.Env)
	if err != nil {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Command.Dir, path)
	}
	if p.Changing != "" && inside(p.Changing, path) {
		return ""
	}
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return ""
	}
	if p.stat != nil && path == p.path && unchanged(p.stat, &stat) {
		return p.digest
	}
	p.path, p.stat, p.digest = path, &stat, digestOf(path)
	if time.Since(time.Unix(stat.Ctim.Unix())).Abs() < time.Second {
		p.stat = nil // its next change may have the same time
	}
	return p.digest
}

// inside says whether a file lies in a directory, in which a path may lead by a link.
func inside(dir, path string) bool {
	for _, p := range []string{path, resolved(path)} {
		if rel, err := filepath.Rel(resolved(dir), p); err == nil && filepath.IsLocal(rel) {
			return true
		}
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// resolved is a path without links, or as it is where it leads nowhere.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// unchanged compares what the kernel says of a file. Nobody can set the time of the last
// change of status.
func unchanged(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mode == b.Mode && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

func digestOf(path string) string {
	f, err := repofile.OpenIn("", path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, mostProgram+1)); err != nil || n > mostProgram {
		return ""
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
