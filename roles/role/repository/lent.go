package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Lent is a tree that was prepared for a grant. It is a file, so that a killed role
// knows after its restart where each tree started.
type Lent struct {
	Grant
	Start    string   `json:"start"`               // the commit that the tree started from
	Before   string   `json:"before,omitempty"`    // the commit that the claim's work began with, where the start has some of it
	Known    []string `json:"known"`               // the commits that a tool may build on
	Own      []string `json:"own,omitempty"`       // paths of the tree that get into no commit
	ReadOnly bool     `json:"read_only,omitempty"` // nothing is kept of it
	Settled  bool     `json:"settled,omitempty"`   // nothing more is to be kept of it
	Tidied   bool     `json:"tidied,omitempty"`    // and its files are gone, but for those of the start
}

// LentFile is the file about the tree of that place.
func LentFile(place string) string { return filepath.Join(place, "grant.json") }

// ErrDamaged says that nobody can tell which grant a tree serves. In local mode without walls a tool can
// bring that about.
var ErrDamaged = errors.New("the note of the tree's grant is damaged")

// ReadLent returns the last grant of a tree; the zero value where it served none yet.
func ReadLent(place string) (l Lent, err error) {
	text, err := os.ReadFile(LentFile(place))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // empty: a read-only grant's, when the machine crashed
		return Lent{}, nil
	}
	if errors.Is(err, syscall.EISDIR) {
		return Lent{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return Lent{}, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return Lent{}, fmt.Errorf("%w: read %s: %w", ErrDamaged, LentFile(place), err)
	}
	return l, nil
}

// Unsettled says whether the tree may have changes that are still to be kept.
func (l Lent) Unsettled() bool { return l.Attempt > 0 && !l.Settled && !l.ReadOnly }
