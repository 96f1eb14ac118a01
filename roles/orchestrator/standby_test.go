package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/runtime"
)

// hello registers a standby as its cub does.
func (s *sett) hello(incarnation string) {
	s.Helper()
	s.must(s.board.Cub.HelloWorker(s.Context(), "w", blackboard.Worker{Incarnation: incarnation}, patience))
}

// A worker that waits gets the next claim, and another one takes its place.
func TestWarmWorkers(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 2)
	s.agent("w").Warm = 1
	s.write()
	s.lead(inPlace(p))
	first := s.incarnation(p, "standby-w-")
	if spec := p.spec(standbyName("w", strings.ToLower(first))); !slices.Equal(spec.Args, []string{"cub", "--standby"}) {
		t.Fatalf("args %q", spec.Args)
	}
	s.hello(first)
	g, claim := s.granted()
	s.until("the assignment", func() bool {
		got, err := s.board.Roster.Assignment(t.Context(), "w", first)
		s.must(err)
		return got == claim
	})
	s.until("another one to wait", func() bool { return p.running("standby-w-") == 2 })
	s.finishes(s.starts(claim, "w", first), "w", blackboard.Terminal, "Done", "x")
	p.exit(standbyName("w", strings.ToLower(first)), runtime.Exit{Text: "exit status 0"})
	s.ended(g, blackboard.WorkflowAchieved)
	s.until("it to be gone and forgotten", func() bool {
		known, err := s.board.Roster.Workers(t.Context(), "w")
		s.must(err)
		return len(known) == 0 && p.running("standby-w-") == 1
	})
	if n := p.starts("worker-"); n != 0 {
		t.Errorf("%d workers were started for it besides", n)
	}
}

// A warm worker that dies before or after it began is a crash like any other; who
// leads next knows what it was for.
func TestWarmWorkerDies(t *testing.T) {
	t.Parallel()
	for _, took := range []bool{false, true} {
		for _, later := range []bool{false, true} {
			t.Run(map[bool]string{false: "before", true: "after"}[took]+map[bool]string{true: ", next leader"}[later], func(t *testing.T) {
				t.Parallel()
				s, p := newPool(t, 1)
				s.agent("w").Warm = 1
				s.write()
				l := s.lead(inPlace(p))
				first := s.incarnation(p, "standby-w-")
				s.hello(first)
				g, claim := s.granted()
				s.until("the assignment", func() bool {
					got, err := s.board.Roster.Assignment(t.Context(), "w", first)
					s.must(err)
					return got == claim
				})
				if took {
					s.starts(claim, "w", first)
				}
				if later {
					s.must(l.stop())
					l = s.lead(inPlace(p))
					l.leads()
				}
				p.exit(standbyName("w", strings.ToLower(first)), runtime.Exit{Code: 137, Text: "killed", OOM: true, Tail: "aah"})
				s.ended(g, blackboard.WorkflowFailed)
				r := reportOf(t, s.failures(g, 1)[0])
				if !later && (r.ExitCode != 137 || r.Log != "aah\n" || !strings.Contains(r.Reason, "out of memory")) || r.ExitCode == 0 {
					t.Errorf("report %+v", r)
				}
				if n := p.starts("worker-"); n != 0 {
					t.Errorf("%d workers were started for it besides", n)
				}
			})
		}
	}
}

// Standbys that end for nothing are not started for ever without a pause, and
// those that nobody wants any more are stopped.
func TestWarmComesAndGoes(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	s.agent("w").Warm = 2
	s.write()
	l := s.lead(inPlace(p))
	s.until("two to wait", func() bool { return p.running("standby-w-") == 2 })
	one := s.incarnation(p, "standby-w-")
	p.exit("standby-w-"+strings.ToLower(one), runtime.Exit{Code: 2, Text: "exit status 2"})
	s.until("two to wait again", func() bool { return p.running("standby-w-") == 2 && p.starts("standby-w-") == 3 })
	s.must(l.stop())
	l = s.lead(inPlace(p))
	l.leads()
	s.agent("w").Warm = 1
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.until("one to wait", func() bool { return p.running("standby-w-") == 1 })
	s.agent("w").Warm = 0
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.until("none to wait", func() bool { return p.running("standby-w-") == 0 })
	if n := p.starts("standby-w-"); n != 3 {
		t.Errorf("%d were started", n)
	}
}
