// Package trial runs one agent as its cub would, and records nothing.
package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/deploy"
	"sett/roles/cli/pin"
	"sett/roles/cli/term"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Trial is one run of an agent with nothing recorded.
type Trial struct {
	*term.Terminal
	Agent      config.Agent
	Root       string // of the workspace
	Instance   string // its name, for the tool's environment
	Containers bool   // sett.yml wants them
	Own        deploy.Pinning
	Variables  []string // of the agent's environment, as NAME=value

	Target blackboard.Artefact
	Claim  string   // the id that its claim would have, or has
	Extra  []string // ids that the claim adds to the context: the Reviews of a rework
	Chain  []blackboard.Artefact
	Goal   blackboard.Artefact
	Starts []blackboard.Artefact // its tree starts from their commits; none: from the goal's base, else HEAD
	Walls  *env.Walls            // of its tool, with the places of local.write and the state to hide; nil: none
	Image  Image                 // its tool runs there; nil: here
	Model  *Model                // that it may ask; nil: none
	Lender string                // the objects of the instance's store; empty: there is none

	Answers       []string // of a person, to the questions that the tool asks
	As            string   // the bid to run the tool for; empty: the agent's own
	Quiet         bool     // print nothing; see Report
	Below         string   // directory for all that is made; empty: the usual one for temporary files
	Keep, Verbose bool     // the tree; and show what the tool reads
	Form          term.Form

	report  Report
	attempt int
	pin     string // directory of the clan's own files
	place   place
	gate    *gate         // to the model
	waited  time.Duration // for the model, by a call that had no end at the tool's timeout
}

// Report is the output of `try -o json`.
type Report struct {
	Agent     string             `json:"agent"`
	Target    view.Meta          `json:"target"`
	Bid       blackboard.BidType `json:"bid"`
	BidReason string             `json:"bid_reason,omitempty"`
	Run       *Execution         `json:"run"`                  // null when the agent ignores the target
	Asked     []Asked            `json:"asked,omitempty"`      // the questions of the runs before, with their answers
	Artefact  *Artefact          `json:"artefact"`             // the artefact that would have been written; null when that is a Failure
	Problem   *Problem           `json:"problem,omitempty"`    // why it would have been a Failure, or why there is no bid
	Commits   []string           `json:"commits,omitempty"`    // made in the tree, oldest first: hash and subject
	Changed   []string           `json:"changed,omitempty"`    // with adapter: commit, the files of the commit: A, M or D, a tab and the name
	LeftDirty []string           `json:"left_dirty,omitempty"` // files of the tree that were not committed
	Models    []view.Spent       `json:"models,omitempty"`     // calls of models by the agent
}

// Run tries the agent and prints the report.
func (t *Trial) Run(ctx context.Context) error {
	t.report.Agent, t.report.Target = t.Agent.Name, view.MetaOf(t.Target)
	t.say("agent", fmt.Sprintf("%s (workspace %s): %s", t.Agent.Name, t.Agent.Workspace.Mode, commandLine(t.Agent.Command)))
	t.say("target", fmt.Sprintf("%s%s", view.Named(t.Target), words.Because(view.Gist(&t.Target))))
	if t.Containers && t.Image == nil {
		t.say("note", "the clan runs in containers; this runs on the machine itself, not in the agent's image: --container does")
	}
	t.Hold.On() // a tool that runs gets its time to end
	// As a cub's tool, this one leaves no orphan behind, nor speaks as a person.
	if t.Alone {
		if err := toolrun.BecomeReaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	sweepGrounds(ctx, t)
	drop, err := t.takeOwn()
	if err != nil {
		return err
	}
	defer drop()
	defer t.leave()
	if err := t.settle(ctx); err != nil {
		return err
	}
	if err := t.wall(); err != nil {
		return err
	}
	if err := t.work(ctx); err != nil {
		return err
	}
	return t.conclude()
}

// work has the agent bid, and runs its tool for that.
func (t *Trial) work(ctx context.Context) error {
	shut, err := openGate(ctx, t)
	if err != nil {
		return err
	}
	defer shut()
	if err := t.bid(ctx); err != nil {
		return err
	}
	t.say("bid", string(t.report.Bid)+words.Because(role.Clean(t.report.BidReason)))
	phase, runs := phaseOf(t.report.Bid, t.As)
	if !runs {
		t.say("", "so its tool does not run; --as review, claim or exclusive runs it all the same")
		return nil
	}
	if t.As != "" && t.As != string(t.report.Bid) {
		t.say("", "run as if it had bid "+t.As)
	}
	return t.runAll(ctx, phase)
}

// Report is what came of Run.
func (t *Trial) Report() Report { return t.report }

// takeOwn takes the clan's own files as sett up does, so that a program finds the same
// things beside itself.
func (t *Trial) takeOwn() (drop func(), err error) {
	g, err := newGround(t.Below, "sett-try-pin-", false)
	if err != nil {
		return nil, noGround(t, fmt.Errorf("pin programs: %w", err))
	}
	drop = func() {
		_ = pin.Remove(g.dir)
		g.release()
	}
	t.pin = filepath.Join(g.dir, "pin")
	if t.Agent.Resolved, err = t.Own.For(t.Agent, t.pin); err != nil {
		drop()
		return nil, err
	}
	return drop, nil
}

// own returns a command with the clan's own files in place of those of the tree.
func (t *Trial) own(command []string) []string { return t.Agent.Resolved.Pinned(command, pinnedDir(t)) }

// phaseOf returns the phase that a bid leads to, or the one that was asked for.
func phaseOf(bid blackboard.BidType, as string) (blackboard.Phase, bool) {
	if as != "" {
		bid = blackboard.BidType(as)
	}
	for _, p := range blackboard.Phases {
		if p.Bid() == bid {
			return p, true
		}
	}
	return "", false
}
