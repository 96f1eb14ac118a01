package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/env"
)

// Who begins knows the blackboard as the one before saw it last, though sett up saw less:
// on an older copy that is newer than that sett up it leads nothing, until a person adopts
// it.
func TestSightOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	up, err := s.board.Settle(t.Context(), "mine", false, "sett up")
	s.must(err)
	o := options{vars: map[string]string{env.BoardMark: up.String()}}
	file := filepath.Join(filepath.Dir(s.file), "sight")

	first := s.lead(o)
	s.goal("g")
	posted, err := s.board.Look(t.Context())
	s.must(err)
	kept := func() blackboard.Mark {
		raw, _ := os.ReadFile(file)
		m, _ := blackboard.ParseMark(string(raw))
		return m
	}
	s.until("a sight of the goal", func() bool { return kept() != blackboard.Mark{} && kept().After(posted) == kept() })
	s.must(first.stop())

	s.redis(r, "XDEL", prefix+"events", kept().Last)
	s.redis(r, "XADD", prefix+"events", "*", "kind", "goal")
	second := s.lead(o)
	s.until("its refusal", func() bool { return strings.Contains(second.log.String(), "not the blackboard of before") })
	if strings.Contains(second.log.String(), "msg=leading") {
		t.Error("it leads on an older copy")
	}
	_, err = s.board.Settle(t.Context(), "mine", true, "a person")
	s.must(err)
	second.leads()
	s.must(second.stop())

	for _, broken := range []string{"", "x", "other:7:7:7:7-7"} {
		s.must(os.WriteFile(file, []byte(broken), 0o600))
		next := s.lead(o)
		next.leads()
		s.must(next.stop())
	}
}
