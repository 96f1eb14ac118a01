package cli

import (
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
)

// ensure does as sett up does for the goals of an older sett, and returns its warnings.
func (s *stage) ensure() string {
	s.t.Helper()
	var said output
	on := &term.Terminal{Env: role.Env{Stderr: &said, Environ: func() []string { return nil }, Lookup: func(name string) (string, bool) { return s.home, name == "XDG_STATE_HOME" }}}
	l := instance.New(on, instance.Flags{Name: "stage"})
	in, err := l.Find()
	s.Must(err)
	s.Must(instance.EnsureBases(s.t.Context(), l, instance.BoardOf(s.board), in))
	return said.String()
}

// held is the commit of a ref in the store; empty: none.
func (s *stage) held(ref string) string {
	s.t.Helper()
	commit, err := s.store().Commit(s.t.Context(), ref)
	s.Must(err)
	return commit
}

// Goals of an older Sett and of an imported ledger get what they start from: the commits
// of their artefacts and their base, as far as they are anywhere.
func TestEnsureBases(t *testing.T) {
	s := landStage(t)
	head := s.rev("main")
	made := s.aside("a", "1\n")
	s.git("update-ref", "refs/sett/artefacts/stage/x", made) // as an older Sett held it
	goal := func(metadata string) string {
		id := s.NewID()
		s.Must(s.board.People.PostGoal(t.Context(), blackboard.Artefact{ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard,
			Type: blackboard.TypeGoalDefined, Payload: "x", ProducedByRole: blackboard.RoleUser, WorkflowID: id, Metadata: []byte(metadata)}, "ann"))
		return id
	}
	old := goal("{}")
	_, result := s.work(old, blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: made[:12]})
	imported, lost := goal(`{"base": "`+made+`"}`), goal(`{"base": "`+strings.Repeat("a", 40)+`"}`)
	ended, _ := s.achieved(head, made)
	said := s.ensure()
	for ref, want := range map[string]string{
		store.Goal(old): head, store.Goal(imported): made, store.Goal(lost): "", store.Goal(ended): "", store.Artefact(result): made,
	} {
		if got := s.held(ref); got != want {
			t.Errorf("%s is %q, want %q", ref, got, want)
		}
	}
	has(t, said, "warning: 1 goal's commits cannot be brought into the store: objects are missing")
	s.commitFile("later", "1\n")
	s.ensure()
	if got := s.held(store.Goal(old)); got != head {
		t.Errorf("the base moved to %s", got)
	}
}

// An ended goal of an older Sett that is retried gets its base then.
func TestRetryOfOlderGoal(t *testing.T) {
	s := landStage(t)
	goal := s.Goal("fails")
	claim, failure := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: "{}"})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	_, _, err := s.run("retry", failure)
	s.Must(err)
	if got := s.held(store.Goal(goal)); got != s.rev("main") {
		t.Errorf("it starts from %q", got)
	}
}
