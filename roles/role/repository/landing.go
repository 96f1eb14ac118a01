package repository

import (
	"context"
	"time"

	"sett/roles/role/git"
)

// Landing asks how the commit of an artefact gets to a branch of the user's repository.
// Nothing there is changed by that.
type Landing struct {
	Goal     string `json:"goal"`
	Artefact string `json:"artefact"`
	Branch   string `json:"branch"`
	How      string `json:"how"`     // store.FastForward, store.Rebase, store.Merge or store.Squash
	Subject  string `json:"subject"` // of a merge or a squash
}

// LandingPlan answers it. One of To, Bars and Files is set.
type LandingPlan struct {
	Tip   string     `json:"tip,omitempty"`  // of the branch
	To    string     `json:"to,omitempty"`   // the commit that the branch shall have
	How   string     `json:"how,omitempty"`  // that it is made in
	Bars  string     `json:"bars,omitempty"` // why the branch cannot be moved, until a person acts
	Files []string   `json:"files,omitempty"`
	Hunks []git.Hunk `json:"hunks,omitempty"`
}

// Land asks to move the branch from a commit to one that was planned; from a commit to itself, only whether the branch
// has it.
type Land struct {
	Branch string `json:"branch"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// Landed answers it. Unless it is done, somebody moved the branch meanwhile.
type Landed struct {
	Done bool   `json:"done"`
	Bars string `json:"bars,omitempty"` // as in LandingPlan

	Lacking []string `json:"lacking,omitempty"` // files of git LFS whose content is nowhere at hand: their pointers came
}

// Hold asks to hold a commit of a plan for an artefact that is about it.
type Hold struct {
	Artefact string `json:"artefact"`
	Commit   string `json:"commit"`
}

// Lander asks the repository to land, for the orchestrator.
type Lander struct{ client Client }

// landTime bounds a request: a branch with a long history takes its time to bring.
const landTime = 10 * time.Minute

// NewLander returns the orchestrator's client; the key is the instance's secret.
func NewLander(url, key string) *Lander {
	c := NewClient(url, "", "", Token(key, sweeper))
	c.HTTP.Timeout = landTime
	return &Lander{*c}
}

// Plan returns how a commit gets to a branch.
func (l *Lander) Plan(ctx context.Context, q Landing) (LandingPlan, error) {
	return send[LandingPlan](ctx, &l.client, "/landing", q)
}

// Land moves a branch. A call that is repeated finds that it has the commit.
func (l *Lander) Land(ctx context.Context, q Land) (Landed, error) {
	return send[Landed](ctx, &l.client, "/land", q)
}

// Hold returns when the commit is held, on disk.
func (l *Lander) Hold(ctx context.Context, q Hold) error {
	_, err := send[struct{}](ctx, &l.client, "/hold", q)
	return err
}
