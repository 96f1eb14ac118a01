package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// entries are the paths that an index has, and so all that may stay in its tree.
type entries struct {
	files   map[string]bool   // true: it is a submodule, and so an empty directory
	folders map[string]bool   // with such files
	modules map[string]string // commits of submodules
	hidden  map[string]bool   // files and their folders that a sparse tree does not have
}

// errIndex says that an index is of a form that Sett does not read. Git makes a new one.
var errIndex = errors.New("an index of another form")

// Sizes of an index, as git's index-format says.
const (
	indexHead  = 12 // signature, version, number of entries
	indexStat  = 40 // of an entry, before its hash
	indexFlags = 2
	longName   = 0xfff

	extended     = 0x4000 // a flag: there are two more bytes of flags, in version 3
	skipWorktree = 0x4000 // a flag among those: the file is not in the tree
)

// readIndex reads a trusted index of version 2, which git writes, or 3, as that of a sparse tree. Hashes have that many bytes.
func readIndex(file string, hash int) (*entries, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(text) < indexHead+hash || string(text[:4]) != "DIRC" || binary.BigEndian.Uint32(text[4:])&^1 != 2 {
		return nil, errIndex
	}
	n := int(binary.BigEndian.Uint32(text[8:]))
	rest, e := text[indexHead:len(text)-hash], &entries{files: make(map[string]bool, n), folders: map[string]bool{}, modules: map[string]string{}, hidden: map[string]bool{}}
	folder := ""
	for range n {
		fixed := indexStat + hash + indexFlags
		if len(rest) < fixed {
			return nil, errIndex
		}
		flags := int(binary.BigEndian.Uint16(rest[fixed-indexFlags:]))
		length, hides := flags&longName, false
		if flags&extended != 0 && len(rest) >= fixed+indexFlags {
			hides = binary.BigEndian.Uint16(rest[fixed:])&skipWorktree != 0
			fixed += indexFlags
		}
		if length == longName {
			length = bytes.IndexByte(rest[fixed:], 0)
		}
		size := (fixed + length + 8) &^ 7 // at least one zero, up to a multiple of eight
		if length <= 0 || len(rest) < size {
			return nil, errIndex
		}
		name, object := string(rest[fixed:fixed+length]), rest[indexStat:indexStat+hash]
		mode := binary.BigEndian.Uint32(rest[24:])
		if rest = rest[size:]; hides {
			for in := name; in != "." && !e.hidden[in]; in = path.Dir(in) {
				e.hidden[in] = true
			}
			continue
		}
		if e.files[name] = mode>>12 == 0xe; e.files[name] {
			e.modules[name] = hex.EncodeToString(object)
		}
		if in := path.Dir(name); in != folder { // they are sorted
			for folder = in; in != "." && !e.folders[in]; in = path.Dir(in) {
				e.folders[in] = true
			}
		}
	}
	for len(rest) >= 8 { // extensions; git must not go on without one in small letters
		size := uint64(binary.BigEndian.Uint32(rest[4:])) + 8
		if rest[0] >= 'a' || size > uint64(len(rest)) {
			return nil, errIndex
		}
		rest = rest[size:]
	}
	return e, nil
}

// sweep removes from the tree everything that the index does not have: other files, also ignored ones,
// repositories, the tool's own included, pipes and devices. It lets the owner change directories.
func (t *Tree) sweep(e *entries) error {
	top := t.Dir()
	return filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if at == top {
			return unlock(at, d, 0o700)
		}
		name := filepath.ToSlash(strings.TrimPrefix(at[len(top):], string(filepath.Separator)))
		module, file := e.files[name]
		switch {
		case d.IsDir() && e.folders[name]:
			return unlock(at, d, 0o700) // before it is read
		case d.IsDir() && module:
			if err := errors.Join(unlock(at, d, 0o700), empty(at)); err != nil {
				return err
			}
			return fs.SkipDir
		case file && !module && (d.Type().IsRegular() || d.Type() == fs.ModeSymlink):
			return nil
		}
		if err := RemoveAll(at); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}
