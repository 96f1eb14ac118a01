package role

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Name tells this sett from any other one: a release by its version and commit, any
// other build also by its program, since a developer builds many of one version.
func (b Build) Name() string {
	from := b.From()
	if b.Version != "dev" && !strings.HasSuffix(b.Version, "-dirty") && from != unknown {
		return fmt.Sprintf("%s (commit %s)", b.Version, from)
	}
	return fmt.Sprintf("%s (commit %s, build %s)", b.Version, from, ownBuild())
}

// ownBuild is the build of the running program. Its path may lead to a newer one by now.
var ownBuild = sync.OnceValue(func() string {
	const running = "/proc/self/exe" // of Linux
	if _, err := os.Stat(running); err == nil {
		return buildOf(running)
	}
	path, err := os.Executable()
	if err != nil {
		return unknown
	}
	return buildOf(path)
})

// buildOf is a short digest of the id that Go's linker gave a program, or of the whole
// program where it has none.
func buildOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	sum := sha256.New()
	if id := buildID(f); id != nil {
		sum.Write(id)
	} else if _, err := io.Copy(sum, f); err != nil {
		return unknown
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// buildID returns the note of a program for Linux that has Go's build id; nil: none.
func buildID(program io.ReaderAt) []byte {
	f, err := elf.NewFile(program)
	if err != nil {
		return nil
	}
	note := f.Section(".note.go.buildid")
	if note == nil {
		return nil
	}
	const head = 16 // the sizes of name and text, the type, and the name "Go"
	text, err := note.Data()
	if err != nil || len(text) <= head || len(bytes.Trim(text[head:], "\x00")) == 0 {
		return nil
	}
	return text
}
