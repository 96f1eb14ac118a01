package repository

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Taken is a commit that is held for an artefact which was not known to be on the blackboard
// when it was taken. A crash may leave it without one.
type Taken struct {
	Artefact string `json:"artefact"`
	Agent    string `json:"agent"`
	Grant
}

// TakenDir is the directory of a store with a file about each, of the artefact's name.
func TakenDir(store string) string { return filepath.Join(store, "taken") }

// ReadTaken reads the notes in a store for a person, as far as they can be read.
func ReadTaken(store string) (all []Taken) {
	entries, _ := os.ReadDir(TakenDir(store))
	for _, e := range entries[:min(len(entries), MostTaken)] {
		text, err := os.ReadFile(filepath.Join(TakenDir(store), e.Name()))
		var t Taken
		if err == nil && json.Unmarshal(text, &t) == nil && t.Artefact == e.Name() {
			all = append(all, t)
		}
	}
	return all
}

// TakenList answers the question which there are, MostTaken at most.
type TakenList struct {
	Taken []Taken `json:"taken"`
}

// MostTaken is the longest list of them.
const MostTaken = 500

// Swept says how commits that were taken ended.
type Swept struct {
	Recorded []string `json:"recorded,omitempty"` // artefacts that are on the blackboard
	Never    []string `json:"never,omitempty"`    // artefacts that are not, of grants that have ended: they never will be
}

// Lending is a tree that may have changes of its grant which are still to be kept.
type Lending struct {
	Agent string `json:"agent"`
	Slot  string `json:"tree"`
	Grant
}

// LendingList answers the question which there are, MostTaken at most.
type LendingList struct {
	Lent []Lending `json:"lent"`
}

// Orphan is a tree whose cub died before it could say how its tool ended.
type Orphan struct {
	Lending
	MaxSize int64 `json:"max_size"` // bytes; 0: store.MaxSize
}

// sweeper is the name in the orchestrator's token. No agent's name has a slash.
const sweeper = "/orchestrator"

// AdmitsSweeper says whether a request carries the orchestrator's token.
func AdmitsSweeper(key string, r *http.Request) bool { return Admits(key, sweeper, r) }

// Sweeper asks the repository for the orchestrator.
type Sweeper struct{ client Client }

// sweepTime bounds a request of the sweeper.
const sweepTime = 10 * time.Second

// NewSweeper returns the orchestrator's client; the key is the instance's secret.
func NewSweeper(url, key string) *Sweeper {
	c := NewClient(url, "", "", Token(key, sweeper))
	c.HTTP.Timeout = sweepTime
	return &Sweeper{*c}
}

// Taken lists commits of which the repository does not know yet how they ended.
func (s *Sweeper) Taken(ctx context.Context) ([]Taken, error) {
	l, err := send[TakenList](ctx, &s.client, "/taken", struct{}{})
	return l.Taken, err
}

// Swept tells how they ended.
func (s *Sweeper) Swept(ctx context.Context, q Swept) error {
	_, err := send[struct{}](ctx, &s.client, "/swept", q)
	return err
}

// Lent lists the trees of which something may still be to be kept.
func (s *Sweeper) Lent(ctx context.Context) ([]Lending, error) {
	l, err := send[LendingList](ctx, &s.client, "/lent", struct{}{})
	return l.Lent, err
}

// Orphaned has the changes in a tree kept, since nobody else will ask for that.
func (s *Sweeper) Orphaned(ctx context.Context, q Orphan) error {
	_, err := send[struct{}](ctx, &s.client, "/orphaned", q)
	return err
}

// Sizes is the disk that a store and its trees take, as the role measured it last.
type Sizes struct {
	At     time.Time        `json:"measured_at"`
	Store  int64            `json:"store_bytes"`        // of its own
	Shared int64            `json:"store_shared_bytes"` // hard links to files that the user's repository has, too
	Trees  map[string]int64 `json:"tree_bytes"`
}

// SizesFile is the file of a store that has its sizes.
func SizesFile(store string) string { return filepath.Join(store, "info", "sett-sizes.json") }

// ReadSizes returns the sizes; nil: the role has measured none yet.
func ReadSizes(store string) (*Sizes, error) {
	text, err := os.ReadFile(SizesFile(store))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, err
	}
	var s Sizes
	return &s, json.Unmarshal(text, &s)
}

// treePath is the path of requests about a tree.
func treePath(agent, slot, what string) string {
	return "/agents/" + url.PathEscape(agent) + "/trees/" + url.PathEscape(slot) + "/" + what
}
