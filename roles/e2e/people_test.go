package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// goalOf has a tool find out which goal it works for.
const goalOf = `goal=$(printf %s "$in" | tr ',' '\n' | sed -n 's/.*"workflow_id":"\([^"]*\)".*/\1/p' | head -n 1)
`

// peopled is a clan that needs people all the time. The writer asks before it
// begins; a person rejects its first draft and lets the second pass; a reviewer
// and one of two in parallel ask; the other of those fails until it is retried;
// what works on its result is cancelled and retried; a person lets the Terminal
// pass.
func peopled(more string) clan {
	agents := []agent{
		{name: "writer", bids: "GoalDefined: exclusive", tool: `
if [ "$SETT_TARGET_TYPE" != GoalDefined ]; then say Standard Draft "draft 2"; exit; fi
case $in in *'"payload":"which one?"'*) say Standard Draft "draft 1" ;; *) say Question Ask "which one?" ;; esac`},
		{name: "r1", bids: "Draft: review", tool: `
case $in in *'"payload":"is it good?"'*) say Review Review "{}" ;; *) say Question Ask "is it good?" ;; esac`},
		{name: "r2", bids: "Draft: review", tool: `say Review Review "{}"`},
		{name: "p1", bids: "Draft: claim", tool: `
case $in in *'"payload":"how many?"'*) say Standard Tests tested ;; *) say Question Ask "how many?" ;; esac`},
		{name: "p2", bids: "Draft: claim", tool: goalOf + `
until [ -e "$gates/p1-$goal" ]; do sleep 0.02; done
if [ -e "$gates/retried-$goal" ]; then say Standard Docs documented; else say Failure Failure "not yet"; fi`},
		{name: "slow", bids: "Docs: exclusive", tool: goalOf + `
until [ -e "$gates/go-$goal" ]; do sleep 0.02; done
say Standard Manual printed`},
		{name: "pack", bids: "Draft: exclusive", tool: `say Terminal Package "packaged v$SETT_TARGET_VERSION"`},
	}
	for i := range agents {
		agents[i].more += more
	}
	return clan{agents: agents, extra: "approve: [Draft, Pack*]\n", peopled: true}
}

// person does for a goal of peopled what people have to do, as often as it takes.
type person struct {
	*instance
	goal string
}

// seeThrough is with a goal until it is achieved.
func (in *instance) seeThrough(goal string) {
	in.t.Helper()
	in.seeUntil(goal, "the goal is achieved", func(w blackboard.Workflow) bool { return w.Status == blackboard.WorkflowAchieved })
}

// seeUntil is with a goal until something is so, for as long as it gets on: how long
// that takes depends on what strikes between, and on the machine.
func (in *instance) seeUntil(goal, what string, done func(blackboard.Workflow) bool) {
	in.t.Helper()
	p := person{in, goal}
	var last blackboard.Workflow
	var deadline time.Time
	for began := time.Now(); ; <-again(began) {
		w, err := in.board.Records.Workflow(context.Background(), goal)
		if err == nil && done(w) {
			return
		}
		if deadline.IsZero() || err == nil && w != last {
			last, deadline = w, time.Now().Add(2*enough)
		}
		if time.Now().After(deadline) {
			_, shown := in.sett("show", goal)
			in.t.Fatalf("%s: nothing new within %s: %+v %v\n%s", what, 2*enough, w, err, shown)
		}
		if err := p.look(); err != nil && !errors.Is(err, blackboard.ErrRefused) && !errors.Is(err, blackboard.ErrUnavailable) {
			in.t.Fatal(err) // what was refused or not heard is looked at again
		}
	}
}

// look does what there is to do now.
func (p person) look() error {
	ctx := context.Background()
	questions, err := p.board.Index.OpenQuestions(ctx)
	if err != nil {
		return err
	}
	gates, err := p.board.Index.OpenGates(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Concat(questions, gates) {
		a, err := p.board.Records.Artefact(ctx, id)
		if err == nil && a.WorkflowID == p.goal {
			err = p.reply(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	claims, err := p.board.Index.WorkflowClaims(ctx, p.goal)
	for _, id := range claims {
		s, err := p.board.Records.Snapshot(ctx, id)
		if err == nil {
			err = p.attend(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// reply answers, approves or rejects.
func (p person) reply(ctx context.Context, a blackboard.Artefact) error {
	return p.word(a.ProducedByAgent, func() error {
		switch {
		case a.StructuralType == blackboard.Question:
			_, err := p.board.People.PostAnswer(ctx, a.ID, p.says(blackboard.Answer, a, "this one"), "ann")
			return err
		case a.Type == "Draft" && a.Version == 1:
			_, err := p.board.People.Reject(ctx, a.ID, p.says(blackboard.Review, a, "make it better"), "ann")
			return err
		}
		return p.board.People.Approve(ctx, a.ID, p.says(blackboard.Review, a, "{}"), "ann")
	})
}

// word has a person say something, and whoever listens know.
func (p person) word(agent string, say func() error) error {
	if p.onWord != nil {
		p.onWord(false, agent)
	}
	err := say()
	if err == nil && p.onWord != nil {
		p.onWord(true, agent)
	}
	return err
}

// attend cancels what is to be cancelled and has tried again what failed.
func (p person) attend(ctx context.Context, s blackboard.Snapshot) error {
	c := s.Claim
	if g, ok := s.Grant("p1"); ok && g.State == blackboard.GrantDone {
		p.mark("p1")
	}
	if g, ok := s.Grant("slow"); ok && g.State == blackboard.GrantRunning && c.Origin == blackboard.OriginArtefact {
		f := p.says(blackboard.Failure, blackboard.Artefact{ID: c.ArtefactID, WorkflowID: c.WorkflowID}, "stop")
		f.Type, f.ClaimID = blackboard.TypeCancelled, c.ID
		return p.word("slow", func() error { return p.board.People.CancelClaim(ctx, c.ID, f, "ann", "stop") })
	}
	failed := slices.ContainsFunc(s.Grants, func(g blackboard.Grant) bool { return g.State == blackboard.GrantFailed })
	if c.Status != blackboard.Terminated || c.RetriedAs != "" || !failed && !strings.HasPrefix(c.Reason, "cancelled by ann") {
		return nil
	}
	if failed {
		p.mark("retried")
	} else {
		p.mark("go")
	}
	return p.word("p2", func() error { return p.board.People.Retry(ctx, c.ID, newID(), "ann", "once more") })
}

// mark lets the tools of the goal know.
func (p person) mark(what string) {
	p.gate(what + "-" + p.goal)
}

// says makes what a person writes about an artefact.
func (p person) says(st blackboard.StructuralType, about blackboard.Artefact, text string) blackboard.Artefact {
	a := blackboard.Artefact{ID: newID(), StructuralType: st, Type: string(st), Payload: text, SourceArtefacts: []string{about.ID},
		ProducedByRole: blackboard.RoleHuman, WorkflowID: about.WorkflowID, Metadata: []byte(`{"by":"ann"}`)}
	if st == blackboard.Answer {
		a.ClaimID = about.ClaimID
	}
	return a
}

func newID() string { return blackboard.NewID(time.Now(), rand.Reader) }

// TestPeople sees a goal through that needs people in every phase, from agents of
// each kind, with processes and in containers: both end alike.
func TestPeople(t *testing.T) {
	t.Parallel()
	want := make(chan string, 1)
	run := func(t *testing.T, o options) string {
		in := start(t, o)
		goal := in.post("x")
		in.seeThrough(goal)
		got := in.outcome(goal)
		in.settled()
		in.atRest()
		return got
	}
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		want <- run(t, options{clan: peopled("")})
	})
	for name, more := range map[string]string{
		"workers": "strategy: fresh_per_call\n", "several workers": "strategy: fresh_per_call\nreplicas: 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, options{clan: peopled(more)})
			first := <-want
			want <- first
			if got != first {
				t.Errorf("it ended otherwise:\n%s", diff(first, got))
			}
		})
	}
	t.Run("containers", func(t *testing.T) {
		t.Parallel()
		needEngine(t)
		c := peopled("")
		for i := range c.agents {
			switch c.agents[i].name {
			case "r1":
				c.agents[i].more = "strategy: fresh_per_call\nwarm: 1\n"
			case "p1", "slow":
				c.agents[i].more = "strategy: fresh_per_call\n"
			}
		}
		got := run(t, inContainers(c))
		first := <-want
		want <- first
		if got != first {
			t.Errorf("it ended otherwise:\n%s", diff(first, got))
		}
	})
}
