package orchestrator

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/redis/redistest"
	"sett/runtime"
)

func exited(code int) runtime.Exit {
	return runtime.Exit{Code: code, Text: fmt.Sprintf("exit status %d", code)}
}

// redis sends one command as anybody with a connection could.
func (s *sett) redis(r *redistest.Server, args ...string) {
	s.Helper()
	_, err := boardtest.Send(r.Addr(), args...)
	s.must(err)
}

const prefix = "sett:{test}:"

// Notices that are no id, too long, doubled, about nothing, or about the wrong
// kind of thing change nothing and keep nobody from working.
func TestForgedNotices(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	l := s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	for _, channel := range []string{"artefact_events", "orchestrator_events"} {
		for _, notice := range []string{"", "x", "../../etc/passwd", strings.Repeat("A", 5<<20), newID(), g, g, c, c, "\x00\xff", strings.ToLower(g),
			c + " 1 a=claim", c + " 2 a=exclusive", c + " -1 a=review", c + " x"} {
			s.redis(r, "PUBLISH", prefix+channel, notice)
		}
	}
	s.until("them to be looked at", func() bool { return strings.Contains(l.log.String(), c+" x") })
	if got := s.snapshot(c); len(got.Bids)+len(got.Grants) != 0 {
		t.Fatalf("forged bids count: %+v", got)
	}
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowAchieved)
	claims, err := s.board.Index.WorkflowClaims(t.Context(), g)
	s.must(err)
	if len(claims) != 1 {
		t.Errorf("claims %v", claims)
	}
	if n := len(l.log.String()); n > 1<<20 {
		t.Errorf("it logged %d bytes", n)
	}
}

// A claim whose record is broken is left alone and counted; others go on.
func TestCorruptClaimIsLeftAlone(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]string{"revision": "many", "expected_bidders": "{", "opened_at": "yesterday"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			besideADamagedClaim(t, "record is corrupt", func(claim string) []string { return []string{"HSET", claim, field, value} })
		})
	}
}

// An open claim whose record is gone is counted, and said; others go on.
func TestLostClaimIsCounted(t *testing.T) {
	t.Parallel()
	log := besideADamagedClaim(t, "record is lost", func(claim string) []string { return []string{"DEL", claim} })
	if strings.Contains(log, "notice ignored") {
		t.Error("it counts as a false notice")
	}
}

// besideADamagedClaim damages the record of a claim under work by a command for its key. A goal beside it ends, and the
// orchestrator complains in its log, which is returned.
func besideADamagedClaim(t *testing.T, complaint string, damage func(claim string) []string) (log string) {
	t.Helper()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	first := s.lead(options{})
	damaged := s.claimOf(s.goal("damaged"))
	s.bids(damaged, "a exclusive")
	s.grant(damaged, "a", blackboard.GrantQueued)
	s.must(first.stop())
	s.redis(r, damage(prefix+"claim:"+damaged)...)
	l := s.lead(options{})
	g := s.goal("good")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowAchieved)
	s.until("the complaint", func() bool { return strings.Contains(l.log.String(), complaint) })
	return l.log.String()
}

// A revision that is written in another way than it is counted makes every
// decision stale; that costs a bounded number of attempts.
func TestRevisionThatNeverFits(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	l := s.lead(options{})
	c := s.claimOf(s.goal("g"))
	s.redis(r, "HSET", prefix+"claim:"+c, "revision", "+1")
	s.redis(r, "HSET", prefix+"claim:"+c+":bids", "a", "exclusive")
	s.redis(r, "PUBLISH", prefix+"orchestrator_events", c)
	s.until("it to be given up", func() bool { return strings.Contains(l.log.String(), "changes faster") })
	g := s.goal("other")
	s.bids(s.claimOf(g), "a ignore")
	s.ended(g, blackboard.WorkflowStalled)
}

// Alarms do not outlive what they are for.
func TestAlarmsGo(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.cfg.Orchestrator.BidTimeout = time.Hour
	s.write()
	o := s.unled(s.env(options{}, &output{}), slog.DiscardHandler)
	lead, _, err := s.board.Leader.TakeLead(t.Context(), "me", "", time.Hour)
	s.must(err)
	l := newTerm(o, lead)
	defer l.stopAlarms()
	g := s.goal("g")
	k := key{claimKey, blackboard.BiddingClaimID(g)}
	s.must(l.look(t.Context(), key{artefactKey, g}))
	s.must(l.look(t.Context(), k))
	if len(l.alarms) != 1 {
		t.Fatalf("%d alarms while a bid is missing", len(l.alarms))
	}
	s.bids(k.id, "a ignore", "b ignore")
	s.must(l.look(t.Context(), k))
	s.status(k.id, blackboard.Complete)
	if len(l.alarms) != 0 {
		t.Fatalf("%d alarms for a claim that is complete", len(l.alarms))
	}
}

// FuzzNotice: whatever comes in, however often, it becomes at most one key, of a
// valid id that stands in it; only the empty notice has everything read.
func FuzzNotice(f *testing.F) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, seed := range []string{"", "x", "+", id, "+" + id, "++" + id, strings.ToLower(id), id + " 3 a=review b=ignore",
		id + " -3 a=review", id + " 3 =", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "\x00\xff", strings.Repeat("0", 64)} {
		f.Add(seed)
	}
	o := &orchestrator{env: (&sett{}).env(options{}, &output{}), log: slog.New(slog.DiscardHandler)}
	f.Fuzz(func(t *testing.T, notice string) {
		l := newTerm(o, blackboard.Lead{})
		l.notice(notice)
		l.notice(notice)
		keys := l.queue.order
		if len(keys) > 1 || (notice == "") != (len(l.again) == 1) {
			t.Fatalf("%q became %v, read again %d", notice, keys, len(l.again))
		}
		for _, k := range keys {
			if want := strings.HasPrefix(notice, "+"); !blackboard.ValidID(k.id) || !strings.Contains(notice, k.id) || want != (k.kind == artefactKey) {
				t.Fatalf("%q became %v", notice, k)
			}
		}
		if bare := strings.TrimPrefix(notice, "+"); blackboard.ValidID(bare) && len(keys) != 1 {
			t.Fatalf("%q was ignored", notice)
		}
	})
}

// Where the user may neither publish nor listen, goals go on by the looks at the open work, and agents that hang
// are still found: the blackboard is there.
func TestNoChannels(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	r.Send("ACL", "SETUSER", "mute", "on", ">secret", "~*", "+@all", "resetchannels")
	s := newSettAt(t, "redis://mute:secret@"+r.Addr(), "a")
	s.cfg.Approve = []string{"Done"}
	s.write()
	l := s.lead(options{pace: func(p *pace) { p.tick = 50 * time.Millisecond }})
	s.until("it may not listen", func() bool { return strings.Contains(l.log.String(), "no notices") })
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	done := s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.must(s.board.People.Approve(t.Context(), done, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", WorkflowID: g, Payload: "{}",
		SourceArtefacts: []string{done}, ProducedByRole: blackboard.RoleUser}, "ann"))
	s.ended(g, blackboard.WorkflowAchieved)
	if strings.Contains(l.log.String(), "blackboard lost") {
		t.Errorf("the blackboard is there:\n%s", l.log)
	}
}
