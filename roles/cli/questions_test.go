package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// asks has the writer ask about a new goal.
func (s *stage) asks(goalText, text string) (goal, claim, question string) {
	s.t.Helper()
	goal = s.Goal(goalText)
	claim, question = s.work(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: text})
	return goal, claim, question
}

// holds has the writer make what waits for approval, of the type Release.
func (s *stage) holds(st blackboard.StructuralType) (goal, artefact string) {
	s.t.Helper()
	s.Must(s.board.Leader.Enact(s.t.Context(), s.Epoch, []string{"Release"}, ""))
	goal = s.Goal("release it")
	claim, artefact := s.work(goal, blackboard.Artefact{StructuralType: st, Type: "Release", Payload: "v1.0", Summary: "packed"})
	s.Complete(claim)
	return goal, artefact
}

// by has the commands that follow typed by a person.
func (s *stage) by(who string) { s.vars = map[string]string{term.EnvUser: who} }

// listed runs questions and reads what it prints.
func (s *stage) listed(args ...string) []view.Matter {
	s.t.Helper()
	stdout, _, err := s.run(append([]string{"questions", "-o", "json"}, args...)...)
	s.Must(err)
	var all struct {
		Questions []view.Matter `json:"questions"`
	}
	s.Must(json.Unmarshal([]byte(stdout), &all))
	if all.Questions == nil {
		s.t.Errorf("no list in %s", stdout)
	}
	return all.Questions
}

func TestQuestions(t *testing.T) {
	s := newStage(t)
	stdout, stderr, err := s.run("questions")
	if err != nil || stdout != "" || !strings.Contains(stderr, "nobody asks") {
		t.Errorf("nothing: %q, %q, %v", stdout, stderr, err)
	}
	if all := s.listed(); len(all) != 0 {
		t.Errorf("nothing: %+v", all)
	}
	goal, claim, question := s.asks("paint it\nsoon", "Which one:\nred or blue?")
	other, held := s.holds(blackboard.Terminal)
	all := s.listed()
	if len(all) != 2 {
		t.Fatalf("%d: %+v", len(all), all)
	}
	for i, want := range []view.Matter{
		{ID: question, Kind: "question", Agent: "writer", Role: "writer", ClaimID: claim, About: view.MatterSubject{ID: goal, Type: "GoalDefined", Version: 1}, WorkflowID: goal,
			Goal: "paint it", Text: "Which one:\nred or blue?", Commands: []string{"sett --name stage answer " + question + ` "…"`}},
		{ID: held, Kind: "gate", Agent: "writer", Role: "writer", ClaimID: blackboard.BiddingClaimID(other), About: view.MatterSubject{ID: held, Type: "Release", Version: 1}, WorkflowID: other,
			Goal: "release it", Text: "packed", Look: "sett --name stage unearth " + held, Commands: []string{"sett --name stage approve " + held, "sett --name stage reject " + held + ` "why"`}},
	} {
		got := all[i]
		if time.Since(got.Since) < 0 || time.Since(got.Since) > time.Minute || got.AgeSeconds > 60 {
			t.Errorf("since %s, %ds", got.Since, got.AgeSeconds)
		}
		got.Since, got.AgeSeconds = want.Since, want.AgeSeconds
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if string(g) != string(w) {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	if of := s.listed("--workflow", other); len(of) != 1 || of[0].ID != held {
		t.Errorf("of one goal: %+v", of)
	}
	stdout, _, err = s.run("questions", "-o", "jsonl")
	if err != nil || strings.Count(stdout, "\n") != 2 {
		t.Errorf("%v: %s", err, stdout)
	}
	stdout, _, err = s.run("questions")
	s.Must(err)
	has(t, stdout, "question "+words.Short(question), "writer asks about GoalDefined "+words.Short(goal)+", for goal "+words.Short(goal)+": paint it\n    Which one:\n    red or blue?\n  sett --name stage answer "+words.Short(question)+` "…"`,
		"gate "+words.Short(held), "Release "+words.Short(held)+" of writer waits for approval, for goal "+words.Short(other)+": release it\n    packed\n  sett --name stage unearth "+words.Short(held)+"\n  sett --name stage approve "+words.Short(held)+"\n  sett --name stage reject "+words.Short(held)+` "why"`)

	s.by("anna")
	for _, args := range [][]string{{"answer", question, "red"}, {"approve", held}} {
		_, _, err = s.run(args...)
		s.Must(err)
	}
	if all := s.listed(); len(all) != 0 {
		t.Errorf("after all: %+v", all)
	}
}

// A goal can be held, and a question can be the orchestrator's; a record that is
// broken hides no other.
func TestQuestionsOfOthers(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Goal*"}, ""))
	goal := s.Goal("may I?")
	if all := s.listed(); len(all) != 1 || all[0].Role != "user" || all[0].Agent != "" || all[0].ClaimID != "" || all[0].Text != "may I?" {
		t.Errorf("a goal: %+v", all)
	}
	stdout, _, err := s.run("questions")
	s.Must(err)
	has(t, stdout, "GoalDefined "+words.Short(goal)+" of user waits for approval")
	_, _, question := s.asksAtTheLimit()
	all := s.listed()
	if len(all) != 2 || all[1].ID != question || all[1].Role != "orchestrator" || all[1].About.Type != "Draft" || all[1].Text != "what now?" {
		t.Errorf("at the limit: %+v", all)
	}
	s.by("anna")
	_, stderr, err := s.run("answer", question, "shorten it")
	s.Must(err)
	has(t, stderr, "writer goes on")
}

// What was asked before a rework that was cancelled is asked again when it is tried
// again: that is told, listed and drawn, and the answer is taken.
func TestQuestionAskedAgain(t *testing.T) {
	s := newStage(t)
	_, rework, question := s.asksAtTheLimit()
	s.by("anna")
	_, _, err := s.run("cancel", rework, "later")
	s.Must(err)
	graph := func() string {
		t.Helper()
		stdout, _, err := s.run("graph")
		s.Must(err)
		return stdout
	}
	has(t, graph(), words.Short(question)+"  orchestrator  closed")
	stdout, stderr, err := s.run("retry", rework)
	s.Must(err)
	has(t, stderr, "; Question "+words.Short(question)+" waits for an answer again\n")
	has(t, graph(), words.Short(question)+"  orchestrator  open")
	if ms := s.listed(); len(ms) != 1 || ms[0].ID != question {
		t.Errorf("listed %+v", ms)
	}
	watched, _, err := s.run("watch", "--exit-when-done", "--workflow", "@last", "--since", "1h")
	if role.CodeOf(err) != role.Waiting {
		t.Errorf("watch ends with %v", err)
	}
	has(t, watched, "; Question "+words.Short(question)+" waits for an answer again\n")
	_, stderr, err = s.run("answer", question, "shorten it")
	s.Must(err)
	has(t, stderr, "writer goes on")
	if g := s.grantOf(strings.TrimSpace(stdout), "writer"); g.State != blackboard.GrantQueued || len(g.Asked) != 2 {
		t.Errorf("grant %+v", g)
	}
}

// A question that is shown in part has the command that shows all of it, and one of the orchestrator's the command that
// gives the goal up.
func TestLongQuestions(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, _, short := s.asks("paint it", "which?")
	has(t, s.shown("questions"), "    which?\n  sett --name stage answer "+words.Short(short))
	for _, text := range []string{strings.Repeat("which one? ", 500), strings.Repeat("which?\n", 50), strings.Repeat("a", 1<<20)} {
		of, _, long := s.asks("paint that", text)
		look := "  sett --name stage unearth " + words.Short(long) + "\n  sett --name stage answer " + words.Short(long) + ` "…"`
		has(t, s.shown("questions", "--workflow", long), look)
		_, _, err := s.run("wait", long)
		has(t, err.Error(), look)
		p := newTTY(t, 200)
		c := s.startAt(p, "wait", long)
		p.await("  sett --name stage unearth " + words.Short(long) + " shows all of it\r\n")
		c.stop()
		_ = c.wait()
		if ms := s.listed("--workflow", long); len(ms) != 1 || ms[0].Text != text || ms[0].Look != "" {
			t.Errorf("for programs it is not whole, or has a look")
		}
		_, _, err = s.run("cancel", of, "enough")
		s.Must(err)
	}
	other, _, longer := s.asks("paint both", strings.Repeat("which one? ", 20)) // all of it is in the list, and a part at the bottom
	if strings.Contains(s.shown("questions", "--workflow", longer), "unearth") {
		t.Error("a question that is shown whole has a command that shows all of it")
	}
	p := newTTY(t, 200)
	c := s.startAt(p, "watch")
	p.await("  sett --name stage unearth " + words.Short(longer))
	c.stop()
	_ = c.wait()
	for _, id := range []string{goal, other} {
		_, _, err := s.run("cancel", id, "enough")
		s.Must(err)
	}
	_, _, question := s.asksAtTheLimit()
	ms := s.listed()
	if len(ms) != 1 || len(ms[0].Commands) != 2 || ms[0].Commands[1] != "sett --name stage cancel "+ms[0].WorkflowID+` "why"` {
		t.Errorf("at the limit %+v", ms)
	}
	has(t, s.shown("questions"), "answer "+words.Short(question)+" \"…\"\n  sett --name stage cancel "+words.Short(ms[0].WorkflowID)+` "why"`)
}

// shown is the output of a command.
func (s *stage) shown(args ...string) string {
	s.t.Helper()
	stdout, _, err := s.run(args...)
	s.Must(err)
	return stdout
}

// asksAtTheLimit plays a draft that was rejected once too often.
func (s *stage) asksAtTheLimit() (draft, rework, question string) {
	s.t.Helper()
	s.Must(s.board.Leader.Enact(s.t.Context(), s.Epoch, nil, ""))
	claim, draft := s.work(s.Goal("write"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(claim)
	claim = s.open(draft, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	review := s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "no"})
	rework = blackboard.ReworkClaimID(claim)
	w, err := s.board.Records.Snapshot(s.t.Context(), claim)
	s.Must(err)
	question = newID()
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{review}, Question: &blackboard.Artefact{
		ID: question, StructuralType: blackboard.Question, Type: "Question", Payload: "what now?", SourceArtefacts: []string{draft},
		ProducedByRole: blackboard.RoleOrchestrator, ClaimID: rework, WorkflowID: w.Claim.WorkflowID,
	}}))
	return draft, rework, question
}

// What comes after the start ends the wait, through a restart of Redis.
func TestQuestionsWait(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	_, _, old := s.asks("paint it", "?")
	c := s.start("questions", "--wait", "-o", "jsonl")
	one := s.start("questions", "--wait", "--workflow", "@last")
	s.Until("both follow the ledger", func() bool { return s.Server.Followers() == 2 })
	s.Server.Kill()
	s.Until("both notice the loss", func() bool {
		return strings.Contains(c.err.String(), "blackboard lost") && strings.Contains(one.err.String(), "blackboard lost")
	})
	s.Server.Restart()
	_, _, question := s.asks("paint that", "which?")
	s.Must(c.wait())
	var got view.Matter
	if err := json.Unmarshal([]byte(c.out.String()), &got); err != nil || got.ID != question || strings.Contains(c.out.String(), old) {
		t.Errorf("%v: %s", err, c.out.String())
	}
	one.stop()
	if err := one.wait(); role.CodeOf(err) != role.Interrupted || one.out.String() != "" {
		t.Errorf("another goal's question: %v, %s", err, one.out.String())
	}
}

func TestQuestionsWaitForGate(t *testing.T) {
	s := newStage(t)
	c := s.start("questions", "--wait")
	s.Until("it follows the ledger", func() bool { return s.Server.Followers() == 1 })
	_, held := s.holds(blackboard.Standard)
	s.Must(c.wait())
	has(t, c.out.String(), "Release "+words.Short(held)+" of writer waits for approval")
}

// What comes between the start and the subscription is not missed, and what was
// there before is not new.
func TestQuestionsWaitFromTheStart(t *testing.T) {
	s := newStage(t)
	s.asks("paint it", "?")
	in := &instance.Instance{State: instance.State{Name: "stage"}}
	waiter := newApp(t.Context(), role.Env{Now: time.Now, Stderr: &output{}})
	b := instance.BoardOf(s.board)
	n := &newcomers{a: waiter, b: b, in: in, r: view.MatterReader{Reader: status.Reader(waiter.at, b, in)}}
	s.Must(n.begin(t.Context()))
	_, _, question := s.asks("paint that", "which?")
	if err := n.await(t.Context()); !errors.Is(err, errOver) || len(n.found) != 1 || n.found[0].ID != question {
		t.Errorf("%v: %+v", err, n.found)
	}
}

// Of a goal that has ended, or ends, nothing is waited for in vain.
func TestQuestionsWaitUntilTheEnd(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	c := s.start("questions", "--wait", "--workflow", goal)
	s.Until("it follows the ledger", func() bool { return s.Server.Followers() == 1 })
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	if err := c.wait(); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "is achieved: nothing of it waits for a person any more") {
		t.Errorf("while it is waited for: %v", err)
	}
	for _, tc := range []struct {
		goal string
		want role.Code
	}{{goal, role.Failed}, {s.concluded(blackboard.Failure), role.Failed}, {s.concluded(""), role.NoTerminal}} {
		if _, _, err := s.run("questions", "--wait", "--workflow", tc.goal); role.CodeOf(err) != tc.want {
			t.Errorf("before: %v, want %d", err, tc.want)
		}
	}
}

func TestQuestionsWaitEnds(t *testing.T) {
	s := newStage(t)
	s.asks("paint it", "?")
	for want, args := range map[role.Code][]string{
		role.TimedOut: {"--wait", "--timeout", "50ms"}, role.Usage: {"--timeout", "5s"}, role.NotFound: {"--workflow", "zzzzzz"},
	} {
		stdout, _, err := s.run(append([]string{"questions"}, args...)...)
		if role.CodeOf(err) != want || stdout != "" {
			t.Errorf("%v: %v, %q", args, err, stdout)
		}
	}
	_, _, err := s.run("questions", "--wait", "--timeout", "-5s")
	if role.CodeOf(err) != role.Usage {
		t.Errorf("a time below nothing: %v", err)
	}
}

// Whatever is asked and held, by whomever, the lists are tame.
func TestQuestionsHostile(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"T*"}, ""))
	big := strings.Repeat(nasty+"\n", 10<<20/len(nasty))
	of := func(st blackboard.StructuralType, payload, summary string) blackboard.Artefact {
		return blackboard.Artefact{StructuralType: st, Type: "T" + nasty, Payload: payload, Summary: summary, ProducedByRole: "r" + nasty}
	}
	claim, held := s.work(s.Goal(nasty), of(blackboard.Standard, big, ""))
	s.Complete(claim)
	s.work(s.Goal(big), of(blackboard.Question, nasty, nasty))
	claim, summed := s.work(s.Goal(nasty), of(blackboard.Terminal, big, nasty))
	s.Complete(claim)
	s.by(nasty)
	for _, form := range forms {
		stdout, stderr, err := s.run("questions", "-o", form)
		s.Must(err)
		tame(t, form, stdout+stderr)
		if len(stdout) > 64<<10 {
			t.Errorf("-o %s prints %d bytes", form, len(stdout))
		}
		if strings.HasPrefix(form, "json") {
			parses(t, form, stdout)
		}
	}
	for _, args := range [][]string{{"reject", held, "no\x1b[2J"}, {"approve", summed}, {"cancel", "@last", "enough\x1b[2J"}} {
		c := s.start(args...)
		err := c.wait()
		text := c.out.String() + c.err.String()
		if err != nil {
			text += err.Error() + hint(err)
		}
		tame(t, args[0], text)
	}
	for _, command := range []string{"hoard", "watch --since all --exit-when-done --workflow @last", "show " + held, "show @last", "goals"} {
		c := s.start(strings.Fields(command)...)
		err := c.wait()
		text := c.out.String() + c.err.String()
		if err != nil {
			text += err.Error() + hint(err)
		}
		tame(t, command, text)
	}
}
