package store

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's
	hashes "crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
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
	leastEntry = 72 // most entries are larger
	longName   = 0xfff

	extended     = 0x4000 // a flag: there are two more bytes of flags, in version 3
	skipWorktree = 0x4000 // a flag among those: the file is not in the tree
)

// entry is one of an index.
type entry struct {
	at     int // of its state in the text
	name   string
	mode   uint32
	hash   []byte
	hidden bool // a sparse tree does not have it
}

// readIndex reads a trusted index of version 2, which git writes, or 3, as that of a sparse tree. Hashes have that many bytes.
func readIndex(file string, hash int) (*entries, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e := &entries{files: make(map[string]bool, len(text)/leastEntry), folders: map[string]bool{}, modules: map[string]string{}, hidden: map[string]bool{}}
	folder := ""
	err = eachEntry(text, hash, func(n entry) {
		if n.hidden {
			for in := n.name; in != "." && !e.hidden[in]; in = path.Dir(in) {
				e.hidden[in] = true
			}
			return
		}
		if e.files[n.name] = n.mode>>12 == 0xe; e.files[n.name] {
			e.modules[n.name] = hex.EncodeToString(n.hash)
		}
		if in := path.Dir(n.name); in != folder { // they are sorted
			for folder = in; in != "." && !e.folders[in]; in = path.Dir(in) {
				e.folders[in] = true
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// eachEntry reads the entries of an index.
func eachEntry(text []byte, hash int, each func(entry)) error {
	if len(text) < indexHead+hash || string(text[:4]) != "DIRC" || binary.BigEndian.Uint32(text[4:])&^1 != 2 {
		return errIndex
	}
	n, at, end := int(binary.BigEndian.Uint32(text[8:])), indexHead, len(text)-hash
	for range n {
		rest, fixed := text[at:end], indexStat+hash+indexFlags
		if len(rest) < fixed {
			return errIndex
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
			return errIndex
		}
		each(entry{at, string(rest[fixed : fixed+length]), binary.BigEndian.Uint32(rest[24:]), rest[indexStat : indexStat+hash], hides})
		at += size
	}
	for rest := text[at:end]; len(rest) >= 8; { // extensions; git must not go on without one in small letters
		size := uint64(binary.BigEndian.Uint32(rest[4:])) + 8
		if rest[0] >= 'a' || size > uint64(len(rest)) {
			return errIndex
		}
		rest = rest[size:]
	}
	return nil
}

// restate has the index say that these files, now in this state, are what it has of them: git then
// need not read them, and finds them unchanged.
func (t *Tree) restate(states map[string]unix.Stat_t) error {
	text, err := os.ReadFile(t.index())
	if err != nil {
		return err
	}
	format, err := t.store.written()
	if err != nil {
		return err
	}
	hash := hashSizes[format]
	err = eachEntry(text, hash, func(e entry) {
		st, ok := states[e.name]
		if !ok {
			return
		}
		changed, modified := time.Unix(st.Ctim.Unix()), time.Unix(st.Mtim.Unix())
		for i, v := range []uint32{
			uint32(changed.Unix()), uint32(changed.Nanosecond()), uint32(modified.Unix()), uint32(modified.Nanosecond()),
			uint32(st.Dev), uint32(st.Ino), e.mode, st.Uid, st.Gid, uint32(st.Size),
		} {
			binary.BigEndian.PutUint32(text[e.at+4*i:], v)
		}
	})
	if err != nil {
		return err
	}
	body := text[:len(text)-hash]
	if format == "sha256" {
		sum := hashes.Sum256(body)
		copy(text[len(body):], sum[:])
	} else {
		sum := sha1.Sum(body) //nolint:gosec // it is git's checksum of this file
		copy(text[len(body):], sum[:])
	}
	return WriteSoon(t.index(), string(text))
}

// sweep removes from the tree everything that the index does not have: other files, also ignored ones,
// repositories, the tool's own included, pipes and devices, and what belongs to another user. It lets the owner change
// directories.
func (t *Tree) sweep(e *entries) error {
	top, users := t.Dir(), owners(t)
	if err := mountsIn(top).bar(top); err != nil {
		return err
	}
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
		case file && !module && (d.Type().IsRegular() || d.Type() == fs.ModeSymlink):
			return nil // that of another user has another ctime: git makes it anew
		case foreignEntry(d, users):
		case d.IsDir() && e.folders[name]:
			return unlock(at, d, 0o700) // before it is read
		case d.IsDir() && module:
			if err := errors.Join(unlock(at, d, 0o700), empty(at)); err != nil {
				return err
			}
			return fs.SkipDir
		}
		if err := removeAll(at); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}
