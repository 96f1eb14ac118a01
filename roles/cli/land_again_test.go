package cli

import (
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// landings are the ledger's entries of landings by hand on main.
func (s *stage) landings() (all []blackboard.Event) {
	s.t.Helper()
	events, err := s.board.Ledger.History(s.t.Context(), blackboard.Beginning, 10000)
	s.Must(err)
	return slices.DeleteFunc(events, func(e blackboard.Event) bool {
		return e.Kind != blackboard.EventLand || e.Attributes["branch"] != "main"
	})
}

// A landing whose sett was killed as it moved the branch is recorded by the next one, once, with what the reflog tells.
func TestLandRecordsTheMissed(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	result := s.aside("file", "new\n")
	goal, terminal := s.achieved(base, result)
	s.git("branch", "other")
	s.land("--onto", "other")
	words := gitIn(t, s.root, "", "log", "-g", "-n", "1", "--format=%gs", "other")
	s.git("commit", "-q", "--allow-empty", "-m", "undone")
	s.git("reset", "-q", "--keep", base) // of which the reflog tells
	s.git("update-ref", "-m", words, "refs/heads/main", result)
	s.git("read-tree", "-m", "-u", base, result)
	s.commitFile("mine", "1\n")
	s.clean()

	stdout, stderr, err := s.run("land", "--dry-run")
	s.Must(err)
	if has(t, stdout, "already there"); len(s.landings()) != 0 || stderr != "" {
		t.Errorf("a dry run recorded %+v, and said %q", s.landings(), stderr)
	}
	_, stderr, err = s.run("land")
	s.Must(err)
	has(t, stderr, "the ledger had no entry of this landing, and has one now")
	_, stderr, err = s.run("land", goal)
	if s.Must(err); stderr != "" {
		t.Errorf("the second time it said %q", stderr)
	}
	all := s.landings()
	if len(all) != 1 {
		t.Fatalf("recorded %+v", all)
	}
	e := all[0]
	if e.Workflow != goal || e.Artefact != terminal || e.Attributes["base"] != base || e.Attributes["commit"] != result ||
		e.Attributes["how"] != "already there" || e.Attributes["moved_how"] != "fast-forward" || e.Attributes["moved_by"] != "t" || e.Attributes["moved_at"] != "2026-01-02T03:04:05Z" || e.Attributes["by"] == "" {
		t.Errorf("recorded %+v", e)
	}
	out, _, err := s.run("watch", "--since", "all", "--until", "1ms")
	s.Must(err)
	has(t, out, "found commit "+result[:10]+" landed on main by hand (fast-forward, by t at 2026-01-02T03:04:05Z)")
}

// A result that came to the branch in another way is recorded as found there; one that sett landed has its entry already.
func TestLandRecordsAFind(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	s.achieved(base, s.aside("file", "new\n"))
	s.land()
	s.land()
	if all := s.landings(); len(all) != 1 || all[0].Attributes["how"] != "fast-forward" {
		t.Errorf("recorded %+v", all)
	}
	base = s.rev("main")
	result := s.aside("more", "1\n")
	s.achieved(base, result)
	s.git("fetch", "-q", s.store().Dir, result)
	s.git("merge", "-q", "--ff-only", result)
	s.land()
	s.land()
	all := s.landings()
	if len(all) != 2 || all[1].Attributes["how"] != "already there" || all[1].Attributes["commit"] != result || strings.Contains(all[1].Attributes["moved_how"], "f") {
		t.Errorf("recorded %+v", all)
	}
}
