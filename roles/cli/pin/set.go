package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// File is one file of a set.
type File struct {
	Path       string `json:"path"`           // from the repository's root, with slashes
	Link       string `json:"link,omitempty"` // of a symbolic link: its target, from its own directory
	SHA256     string `json:"sha256,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// Set are pinned files, sorted by path.
type Set []File

// Digest is the SHA-256 of the set, in hexadecimal digits; empty: the set is.
func (s Set) Digest() string {
	if len(s) == 0 {
		return ""
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s) // texts cannot fail to encode, nor a hash to be written
	return hex.EncodeToString(h.Sum(nil))
}

// The changes of a file from one set to the next.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Change is the change of one file.
type Change struct {
	Path   string `json:"path"`   // from the root of the repository
	Change string `json:"change"` // added, changed or removed
}

// Changes compares two sets. The changes are sorted by path.
func Changes(before, after Set) []Change {
	all := []Change{}
	was, is := byPath(before), byPath(after)
	for _, path := range slices.Sorted(maps.Keys(was)) {
		now, stays := is[path]
		switch {
		case !stays:
			all = append(all, Change{path, Removed})
		case now != was[path]:
			all = append(all, Change{path, Changed})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if _, had := was[path]; !had {
			all = append(all, Change{path, Added})
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func byPath(s Set) map[string]File {
	files := make(map[string]File, len(s))
	for _, f := range s {
		files[f.Path] = f
	}
	return files
}
