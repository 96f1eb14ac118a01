package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// Invention is an artefact that does not exist, with its context.
type Invention struct {
	Type    string
	Payload string // empty for a commit: HEAD
	Goal    string // the text of the goal that it is for
	Context []byte // JSON: a list of artefacts, or an object with context_chain; empty: none
}

// Invent has the trial be about an artefact that nobody made. The agent that makes its
// type counts as its maker. Where it is a commit, the tree starts there. Reviews in the context
// make it a rework of this agent's own work.
func (t *Trial) Invent(ctx context.Context, c *config.Config, in Invention) error {
	goal := made(t, blackboard.Artefact{Type: blackboard.TypeGoalDefined, Payload: in.Goal, ProducedByRole: blackboard.RoleUser})
	goal.WorkflowID = goal.ID
	t.Chain = []blackboard.Artefact{goal}
	given, err := given(t, in.Context, goal)
	if err != nil {
		return err
	}
	t.Target = made(t, blackboard.Artefact{Type: in.Type, Payload: in.Payload, WorkflowID: goal.ID, SourceArtefacts: []string{goal.ID}})
	for _, a := range given {
		if a.StructuralType == blackboard.Review {
			t.Extra = append(t.Extra, a.ID)
		}
	}
	credit(t, c, in.Type)
	if slices.Contains(commitTypes(c), in.Type) {
		if err := pointAt(ctx, t, in.Payload); err != nil {
			return err
		}
	}
	t.Chain = append(t.Chain, given...)
	if in.Type == blackboard.TypeGoalDefined {
		t.Target.WorkflowID, t.Target.SourceArtefacts, t.Chain = t.Target.ID, nil, given
	}
	t.Claim = blackboard.BiddingClaimID(t.Target.ID)
	return nil
}

// made completes an artefact that nobody made.
func made(t *Trial, a blackboard.Artefact) blackboard.Artefact {
	if a.ID == "" {
		a.ID = t.NewID()
	}
	if a.LogicalID == "" {
		a.LogicalID = a.ID
	}
	a.Version = max(a.Version, 1)
	if a.StructuralType == "" {
		a.StructuralType = blackboard.Standard
	}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = t.Now().UTC()
	}
	return a
}

// credit names the agent that could have made the target.
func credit(t *Trial, c *config.Config, name string) {
	if name == blackboard.TypeGoalDefined {
		t.Target.ProducedByRole = blackboard.RoleUser
		return
	}
	maker := t.Agent
	if len(t.Extra) == 0 {
		maker = config.Agent{Role: "somebody"}
		for _, a := range c.Agents {
			if a.Name != t.Agent.Name && slices.Contains(a.Makes(), name) {
				maker = a
				break
			}
		}
	}
	t.Target.ProducedByAgent, t.Target.ProducedByRole = maker.Name, maker.Role
}

// commitTypes are the types with a commit as payload.
func commitTypes(c *config.Config) []string {
	all := append([]string{blackboard.TypeCodeCommit}, c.Commits...)
	for _, a := range c.Agents {
		if a.Adapter.Kind == config.AdapterCommit {
			all = append(all, a.Makes()...)
		}
	}
	return all
}

// pointAt has the target be a commit of the person's repository.
func pointAt(ctx context.Context, t *Trial, name string) error {
	if name == "" {
		name = "HEAD"
	}
	commit, _ := git.At(t.Environ(), t.Root).Named(ctx, name)
	if commit == "" {
		return role.Fail(role.NotFound, fmt.Errorf("a %s is a commit, and the repository has none called %s", role.Clean(t.Target.Type), role.Clean(name)),
			"--payload HEAD, a branch or a hash")
	}
	t.Target.Payload, t.Target.Commit = commit, commit
	t.Starts = []blackboard.Artefact{t.Target}
	return nil
}

// given reads the artefacts of the context.
func given(t *Trial, text []byte, goal blackboard.Artefact) ([]blackboard.Artefact, error) {
	if len(text) == 0 {
		return nil, nil
	}
	bad := func(err error) error {
		return role.Fail(role.Usage, fmt.Errorf("read the context: %w", err), `it is a list such as [{"type": "Plan", "payload": "…"}], or the stdin of a tool`)
	}
	var all []blackboard.Artefact
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		var in struct {
			Chain []blackboard.Artefact `json:"context_chain"`
		}
		if err := json.Unmarshal(text, &in); err != nil {
			return nil, bad(err)
		}
		if in.Chain == nil {
			return nil, bad(errors.New("the object has no context_chain"))
		}
		all = in.Chain
	} else if err := json.Unmarshal(text, &all); err != nil {
		return nil, bad(err)
	}
	for i, a := range all {
		if a.Type == "" && a.StructuralType != "" && a.StructuralType != blackboard.Standard && a.StructuralType != blackboard.Terminal {
			a.Type = string(a.StructuralType)
		}
		if a.Type == "" {
			return nil, bad(fmt.Errorf("artefact %d has no type", i+1))
		}
		if a.StructuralType != "" && !a.StructuralType.Valid() {
			names := make([]string, len(blackboard.StructuralTypes))
			for i, st := range blackboard.StructuralTypes {
				names[i] = string(st)
			}
			return nil, bad(fmt.Errorf("artefact %d: no structural_type %q; %s", i+1, role.Clean(string(a.StructuralType)), words.DidYouMean(string(a.StructuralType), names, "")))
		}
		if all[i] = made(t, a); all[i].WorkflowID == "" {
			all[i].WorkflowID = goal.ID
		}
	}
	return all, nil
}
