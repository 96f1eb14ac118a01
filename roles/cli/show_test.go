package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// exclusive opens a claim for which the writer alone bids.
func exclusive(s *stage) (goal, claim string) {
	goal = s.Goal("the goal")
	claim = s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	return goal, claim
}

// granted is exclusive with the writer's grant.
func granted(s *stage) (goal, claim string) {
	goal, claim = exclusive(s)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	return goal, claim
}

// reviewable is a draft whose claim is in review, with one bid due.
func (s *stage) reviewable() (draft, claim string) {
	work, draft := s.work(s.Goal("the goal"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(work)
	return draft, s.open(draft, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
}

// hindered is a goal with a grant that waits for a reason.
func (s *stage) hindered(what blackboard.WaitKind, why string) (goal string) {
	goal, claim := granted(s)
	st := s.begin(claim, "writer")
	ref := blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
	s.Must(s.board.Cub.Await(s.t.Context(), ref, what, why))
	return goal
}

// paused has writer wait for its model, and returns the goal and the grant.
func (s *stage) paused() (goal string, ref blackboard.GrantRef) {
	goal, claim := granted(s)
	st := s.begin(claim, "writer")
	ref = blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
	s.Must(s.board.Cub.Await(s.t.Context(), ref, blackboard.WaitModel, "all calls of models are paused: sett models resume"))
	return goal, ref
}

// waitCases set up what is waited for, and return the id to show.
var waitCases = map[string]struct {
	what        blackboard.WaitKind
	agent, says string
	set         func(s *stage) (show string)
}{
	"claim": {blackboard.WaitClaim, "orchestrator", "to open a claim on GoalDefined ", func(s *stage) string { return s.Goal("the goal") }},
	"bid": {blackboard.WaitBid, "lint", "lint has to bid on claim ", func(s *stage) string {
		goal := s.Goal("the goal")
		s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
		return goal
	}},
	"bid of the dead": {blackboard.WaitBid, "lint", "(is not running)", func(s *stage) string {
		s.Must(s.board.Cub.Goodbye(s.t.Context(), "lint", "i-lint", "killed"))
		goal := s.Goal("the goal")
		return s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
	}},
	"bid withheld": {blackboard.WaitBid, "lint", "lint waits for its model before it bids (all calls of models are paused: sett models resume), claim ", func(s *stage) string {
		claim := s.open(s.Goal("the goal"), blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
		s.Must(s.board.Cub.Withhold(s.t.Context(), claim, "lint", blackboard.WithheldPaused, "all calls of models are paused: sett models resume"))
		return claim
	}},
	"decision": {blackboard.WaitDecision, "orchestrator", "the orchestrator has to decide on claim ", func(s *stage) string {
		_, claim := exclusive(s)
		return claim
	}},
	"start": {blackboard.WaitStart, "writer", "writer has to begin claim ", func(s *stage) string {
		_, claim := granted(s)
		return claim
	}},
	"start of the busy": {blackboard.WaitStart, "writer", "writer works on claim ", func(s *stage) string {
		_, first := granted(s)
		s.begin(first, "writer")
		_, claim := granted(s)
		return claim
	}},
	"slot": {blackboard.WaitSlot, "many", ": 2 workers at most, on claim ", func(s *stage) string {
		var claim string
		for i := range 3 {
			claim = s.open(s.Goal("the goal"), s.all("many", blackboard.BidExclusive)...)
			s.Grant(claim, blackboard.PhaseExclusive, "many")
			if i < 2 {
				s.begin(claim, "many")
			}
		}
		return claim
	}},
	"repository": {blackboard.WaitRepository, "writer", "writer waits for the repository, claim ", func(s *stage) string {
		goal, claim := granted(s)
		st := s.begin(claim, "writer")
		ref := blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
		s.Must(s.board.Cub.Await(s.t.Context(), ref, blackboard.WaitRepository, ""))
		return goal
	}},
	"repository with a full disk": {blackboard.WaitRepository, "writer", "writer waits for the repository (git index-pack: no room), claim ", func(s *stage) string {
		return s.hindered(blackboard.WaitRepository, "git index-pack: no room")
	}},
	"blackboard with a full disk": {blackboard.WaitBlackboard, "writer", "writer has a result that the blackboard does not take (no room), claim ", func(s *stage) string {
		return s.hindered(blackboard.WaitBlackboard, "no room")
	}},
	"model": {blackboard.WaitModel, "writer", "writer waits for its model (all calls of models are paused: sett models resume), claim ", func(s *stage) string {
		return s.hindered(blackboard.WaitModel, "all calls of models are paused: sett models resume")
	}},
	"result after the model": {blackboard.WaitResult, "writer", "writer is running", func(s *stage) string {
		goal, ref := s.paused()
		s.Must(s.board.Cub.Await(s.t.Context(), ref, "", ""))
		return goal
	}},
	"conflict": {blackboard.WaitConflict, "writer", "writer waits until Conflict ", func(s *stage) string {
		goal, claim := granted(s)
		st := s.begin(claim, "writer")
		k := blackboard.Artefact{ID: blackboard.ConflictID(goal, "aa", "bb"), StructuralType: blackboard.Standard, Type: blackboard.TypeConflict, Payload: "{}",
			ProducedByRole: blackboard.RoleRepository, WorkflowID: goal}
		s.Must(s.board.Cub.Clash(s.t.Context(), blackboard.Clash{GrantRef: blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: 1, Holder: st.Grant.Holder}, Conflict: k}))
		return claim
	}},
	"result after the repository": {blackboard.WaitResult, "writer", "writer is running", func(s *stage) string {
		goal, claim := granted(s)
		st := s.begin(claim, "writer")
		ref := blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
		s.Must(s.board.Cub.Await(s.t.Context(), ref, blackboard.WaitRepository, ""))
		s.Must(s.board.Cub.Await(s.t.Context(), ref, "", ""))
		return goal
	}},
	"result": {blackboard.WaitResult, "writer", "writer is running", func(s *stage) string {
		goal, claim := granted(s)
		s.begin(claim, "writer")
		return goal
	}},
	"bid in time": {blackboard.WaitBid, "lint", " (bid_timeout)", func(s *stage) string {
		s.reconfigure(func(o *config.Orchestrator) { o.BidTimeout = time.Hour })
		goal := s.Goal("the goal")
		s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
		return goal
	}},
	"bid too late": {blackboard.WaitDecision, "orchestrator", "the orchestrator has to decide on claim ", func(s *stage) string {
		s.reconfigure(func(o *config.Orchestrator) { o.BidTimeout = time.Nanosecond })
		return s.open(s.Goal("the goal"))
	}},
	"failure beside work": {blackboard.WaitDecision, "orchestrator", "the orchestrator has to decide on claim ", func(s *stage) string {
		bids := s.allBut("writer", blackboard.BidClaim, "lint", blackboard.BidClaim)
		claim := s.open(s.Goal("the goal"), bids...)
		s.Grant(claim, blackboard.PhaseParallel, "writer", "lint")
		s.begin(claim, "lint")
		s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Failure, Type: "Failure", Payload: "no"})
		return claim
	}},
	"a person's review beside bids": {blackboard.WaitBid, "lint", "lint has to bid on claim ", func(s *stage) string {
		draft, claim := s.reviewable()
		s.by("anna")
		_, _, err := s.run("review", draft, "--approve")
		s.Must(err)
		return claim
	}},
	"claim without orchestrator": {blackboard.WaitClaim, "orchestrator", "(nobody leads", func(s *stage) string {
		s.Must(s.board.Leader.RenewLead(s.t.Context(), blackboard.Lead{Holder: "test", Epoch: s.Epoch}, 0))
		return s.Goal("the goal")
	}},
	"claim while it stops": {blackboard.WaitClaim, "orchestrator", "(the instance is stopping)", func(s *stage) string {
		id := s.Goal("the goal")
		s.Must(s.board.SetInstance(s.t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "anna"}))
		return id
	}},
	"approval": {blackboard.WaitApproval, "writer", " of writer needs approval", func(s *stage) string {
		goal, _ := s.holds(blackboard.Terminal)
		return goal
	}},
	"answer in time": {blackboard.WaitAnswer, "writer", "(question_timeout): Which one?", func(s *stage) string {
		s.reconfigure(func(o *config.Orchestrator) { o.QuestionTimeout = time.Hour })
		goal, _, _ := s.asks("the goal", "Which one?")
		return goal
	}},
	"corrupt record": {blackboard.WaitDecision, "orchestrator", "corrupt record", func(s *stage) string {
		goal := s.Goal("the goal")
		s.Send("HSET", "sett:{stage}:claim:"+s.open(goal), "expected_bidders", "{")
		return goal
	}},
	"lost record": {blackboard.WaitDecision, "orchestrator", " is lost, its record is gone", func(s *stage) string {
		goal := s.Goal("the goal")
		s.Send("DEL", "sett:{stage}:claim:"+s.open(goal))
		return goal
	}},
	"answer": {blackboard.WaitAnswer, "writer", "writer needs an answer to Question ", func(s *stage) string {
		goal := s.Goal("the goal")
		s.work(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
		return goal
	}},
}

// Every way in which work can wait has a name.
func TestShowWaits(t *testing.T) {
	for name, tc := range waitCases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if name == "claim while it stops" {
				s.staff() // without its parts it is down
			}
			id := tc.set(s)
			stdout, _, err := s.run("show", id, "-o", "json")
			s.Must(err)
			var v struct {
				Waits  []view.Wait `json:"waits"`
				Claims []struct {
					Waits []view.Wait `json:"waits"`
				} `json:"claims"`
			}
			s.Must(json.Unmarshal([]byte(stdout), &v))
			for _, c := range v.Claims {
				if ofClaim := tc.what != blackboard.WaitApproval && tc.what != blackboard.WaitClaim; ofClaim && !slices.EqualFunc(c.Waits, v.Waits, view.Wait.Is) {
					t.Errorf("its claim waits for %+v", c.Waits)
				}
			}
			if len(v.Waits) != 1 || v.Waits[0].What != tc.what || v.Waits[0].Agent != tc.agent || !strings.Contains(v.Waits[0].Text, tc.says) {
				t.Errorf("got %+v", v.Waits)
			} else if w := v.Waits[0]; w.SubjectID == "" || time.Since(w.Since) < 0 || time.Since(w.Since) > time.Minute {
				t.Errorf("got %+v", w)
			}
			stdout, _, err = s.run("show", blackboard.ShortID(id))
			s.Must(err)
			has(t, stdout, "waits for:", tc.says)
		})
	}
}

// Where a goal has more open work than is looked at, show says how much.
func TestShowManyWaits(t *testing.T) {
	s := newStage(t)
	ctx, goal := t.Context(), s.Goal("the goal")
	var agents []string
	for i := range view.MostOpen + 6 {
		agents = append(agents, fmt.Sprintf("agent-%03d", i))
	}
	_, _, err := s.board.Leader.OpenClaim(ctx, s.Epoch, goal, agents, 1000)
	s.Must(err)
	claim := blackboard.BiddingClaimID(goal)
	for _, name := range agents {
		_, err := s.board.Cub.SubmitBids(ctx, []blackboard.BidRequest{{Claim: claim, Agent: name, Bid: blackboard.BidClaim}})
		s.Must(err)
	}
	s.Grant(claim, blackboard.PhaseParallel, agents...)
	for _, name := range agents {
		s.begin(claim, name)
		s.Finish(claim, name, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Part", Payload: name})
	}
	stdout, _, err := s.run("show", goal, "-o", "json")
	s.Must(err)
	var v view.GoalDetail
	s.Must(json.Unmarshal([]byte(stdout), &v))
	if len(v.Waits) != view.MostOpen+1 || v.More != 6 || len(v.Claims) != 1 || len(v.Claims[0].Waits) != 1 || v.Claims[0].Waits[0].What != blackboard.WaitDecision {
		t.Errorf("%d waits, %d more, claims %+v", len(v.Waits), v.More, v.Claims[0].Waits)
	}
	stdout, _, err = s.run("show", goal)
	s.Must(err)
	has(t, stdout, "  and what 6 more wait for\n")
}

// reworked plays a goal whose first result is rejected and whose second one is
// approved.
func (s *stage) reworked() (goal, first, second string) {
	goal = s.Goal("the goal\nin two lines")
	claim, first := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "v1\n", Summary: "a draft"})
	s.Complete(claim)
	claim = s.open(first, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	review := s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "not like this"})
	rework := blackboard.ReworkClaimID(claim)
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "feedback by lint", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{review}}))
	s.begin(rework, "writer")
	second = s.Finish(rework, "writer", blackboard.Artefact{LogicalID: first, StructuralType: blackboard.Standard, Type: "Draft", Payload: "v2\x00\xff", SourceArtefacts: []string{review}})
	s.Complete(rework)
	claim = s.open(second, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}"})
	s.Complete(claim)
	return goal, first, second
}

// reworkID is the claim under which an artefact that was rejected is reworked.
func reworkID(artefact string) string {
	return blackboard.ReworkClaimID(blackboard.BiddingClaimID(artefact))
}

func TestShow(t *testing.T) {
	s := newStage(t)
	goal, first, second := s.reworked()
	stdout, _, err := s.run("show", "@last")
	s.Must(err)
	has(t, stdout, "goal "+goal+"  stalled", "  in two lines", "5 artefacts, 4 claims, 0 outstanding",
		"bids: writer exclusive, ignored by lint many", "exclusive  writer  done  1.5s  Draft "+words.Short(first)+": a draft",
		"terminated: feedback by lint", "review  lint  rejects  1.5s  Review ", ": not like this",
		"rework "+words.Short(reworkID(first))+" on Draft "+words.Short(first)+"  complete", "Draft v2 "+words.Short(second), "approves")

	stdout, _, err = s.run("show", blackboard.BiddingClaimID(first))
	s.Must(err)
	has(t, stdout, "claim "+blackboard.BiddingClaimID(first), "of goal "+words.Short(goal), "versions:", "v1", "reworked by writer", "v2  "+words.Short(second))

	stdout, _, err = s.run("show", reworkID(first))
	s.Must(err)
	has(t, stdout, "because of ", "rework ")

	stdout, _, err = s.run("show", second)
	s.Must(err)
	has(t, stdout, "artefact "+second, "2 of thread "+words.Short(first), "writer at ", "sources", "Draft "+words.Short(first)+"; Review ", "children", "4 bytes, sha256", `v2\x00`, "versions:")

	for _, id := range []string{goal, second, blackboard.BiddingClaimID(second)} {
		stdout, _, err = s.run("show", id, "-o", "json")
		s.Must(err)
		var v map[string]any
		if err := json.Unmarshal([]byte(stdout), &v); err != nil || v["kind"] == "" {
			t.Errorf("show %s: %v in %s", id, err, stdout)
		}
	}
}

func TestShowFailure(t *testing.T) {
	s := newStage(t)
	report, err := json.Marshal(blackboard.FailureReport{Reason: "tool ended with exit code 3", ExitCode: 3, Stderr: strings.Repeat("x\n", 30) + "the last word\x1b[2J\n", StderrSize: 99, Leftovers: "1bb97dfd4c0b361e8ebac66422876e07ce578985"})
	s.Must(err)
	_, id := s.work(s.Goal("goal"), blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: string(report)})
	stdout, _, err := s.run("show", id)
	s.Must(err)
	has(t, stdout, "tool ended with exit code 3\n", "exit code 3, its changes are kept: 1bb97dfd4c0b (sett leftovers)\n", "stderr, 99 bytes:", "the last word\\x1b[2J")
	if n := strings.Count(stdout, "  x\n"); n > 14 {
		t.Errorf("%d lines of stderr", n)
	}
}

// TestShowConflict: a Conflict is told in plain words, also one whose Sett did not record the kinds.
func TestShowConflict(t *testing.T) {
	s := newStage(t)
	show := func(files string) string {
		t.Helper()
		goal, claim := granted(s)
		st := s.begin(claim, "writer")
		k := blackboard.Artefact{ID: blackboard.ConflictID(goal, "aa", "bb"), StructuralType: blackboard.Standard, Type: blackboard.TypeConflict,
			Payload:        `{"ours":{"artefacts":["A"],"commit":"aaaaaaaaaaaaaa"},"theirs":{"artefacts":["B"],"commit":"bbbbbbbbbbbbbb"},` + files + `}`,
			ProducedByRole: blackboard.RoleRepository, WorkflowID: goal}
		s.Must(s.board.Cub.Clash(s.t.Context(), blackboard.Clash{GrantRef: blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: 1, Holder: st.Grant.Holder}, Conflict: k}))
		stdout, _, err := s.run("show", k.ID)
		s.Must(err)
		return stdout
	}
	has(t, show(`"files":["code.go","logo.png","b","odd\u001b"],"conflicts":[{"file":"logo.png","kind":"binary"},{"file":"b","kind":"rename/delete","paths":["b","a"]},
		{"file":"code.go","kind":"contents","marks":true},{"file":"odd\u001b","kind":"something new"}]`),
		"conflict between commits aaaaaaaaaa and bbbbbbbbbb\n", "code.go: both sides changed the same lines (contents)\n", "logo.png: both sides changed a binary file (binary)\n",
		"b: one side renamed it, the other removed it (rename/delete), b, a\n", `odd\x1b: git cannot merge it (something new)`)
	has(t, show(`"files":["code.go","logo.png"],"hunks":[]`), "conflict between commits aaaaaaaaaa and bbbbbbbbbb\n", "      code.go\n      logo.png\n")
}

func TestIDs(t *testing.T) {
	s := newStage(t)
	refused := func(args ...string) error {
		t.Helper()
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.NotFound || hint(err) == "" {
			t.Errorf("%v: code %d, %v", args, role.CodeOf(err), err)
		}
		return err
	}
	refused("show", "@last")
	same := time.Now()
	var ids []string
	for i := range 2 {
		id := blackboard.NewID(same, strings.NewReader(fmt.Sprintf("%010d", i)))
		ids = append(ids, id)
		s.Must(s.board.People.PostGoal(t.Context(), blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
			Payload: fmt.Sprintf("goal %d", i), ProducedByRole: blackboard.RoleUser, WorkflowID: id}, "ann"))
	}
	err := refused("show", ids[0][:10])
	has(t, err.Error(), "fits several", ids[0]+"  GoalDefined, ", ids[1]+"  GoalDefined, ", " ago")
	refused("show", "zzzzzz")
	refused("show", "not-an-id")
	claim := s.open(ids[0])
	has(t, refused("unearth", claim).Error(), "is a claim")
	for _, part := range []string{ids[1], strings.ToLower(ids[1]), ids[1][18:]} {
		if stdout, _, err := s.run("unearth", part); err != nil || stdout != "goal 1" {
			t.Errorf("unearth %s: %q, %v", part, stdout, err)
		}
	}
}

func TestUnearth(t *testing.T) {
	s := newStage(t)
	goal, first, second := s.reworked()
	for id, want := range map[string]string{goal: "the goal\nin two lines", first: "v1\n", second: "v2\x00\xff"} {
		if stdout, stderr, err := s.run("unearth", id); err != nil || stdout != want || stderr != "" {
			t.Errorf("unearth %s: %q, %q, %v", id, stdout, stderr, err)
		}
	}
	stdout, stderr, err := s.run("unearth", "@last")
	if err != nil || stdout != "the goal\nin two lines" || !strings.Contains(stderr, "the goal itself") || !strings.Contains(stderr, "sett --name stage hoard") {
		t.Errorf("unearth @last: %q, %q, %v", stdout, stderr, err)
	}
	stdout, _, err = s.run("unearth", second, "--meta")
	s.Must(err)
	has(t, stdout, "logical_id         "+first, "version            2", "4 bytes, sha256 ", "produced_by_agent  writer", "summary            -")
	if strings.Contains(stdout, "v2") {
		t.Errorf("the payload is in\n%s", stdout)
	}
	stdout, _, err = s.run("unearth", first, "-o", "json")
	s.Must(err)
	var a blackboard.Artefact
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || a.Payload != "v1\n" || a.Summary != "a draft" {
		t.Errorf("%v: %s", err, stdout)
	}
	stdout, _, err = s.run("unearth", first, "-o", "json", "--meta")
	s.Must(err)
	has(t, stdout, `"payload_size": 3`)
}

func TestOnTerminal(t *testing.T) {
	for payload, want := range map[string]string{"": "", "a\tb\n": "a\tb\n", "a": "a\n", "\x1b[2Jx\r": "\\x1b[2Jx\\r\n"} {
		if got := onTerminal(payload); got != want {
			t.Errorf("%q becomes %q, want %q", payload, got, want)
		}
	}
}

// goals can be asked for by what became of them, the newest so many of those.
func TestGoalsByStatus(t *testing.T) {
	s := newStage(t)
	s.reworked()
	s.Goal("another")
	s.Goal("and one more")
	for args, want := range map[string][]string{
		"": {"the goal\nin two lines", "another", "and one more"}, "--status stalled": {"the goal\nin two lines"}, "--status active": {"another", "and one more"},
		"--status active --limit 1": {"and one more"}, "--status failed": nil, "--status achieved --limit 1": nil,
	} {
		stdout, stderr, err := s.run(append([]string{"goals", "-o", "json"}, strings.Fields(args)...)...)
		s.Must(err)
		var v struct {
			Goals []view.Goal `json:"goals"`
			More  bool        `json:"more"`
		}
		s.Must(json.Unmarshal([]byte(stdout), &v))
		var got []string
		for _, g := range v.Goals {
			got = append(got, g.Text)
		}
		if !slices.Equal(got, want) || v.More != (args == "--status active --limit 1") {
			t.Errorf("goals %s: %q, more %v; it says %q", args, got, v.More, stderr)
		}
	}
	_, stderr, err := s.run("goals", "--status", "failed")
	s.Must(err)
	has(t, stderr, "no goal is failed")
}

func TestGoalsAndHoard(t *testing.T) {
	s := newStage(t)
	_, stderr, err := s.run("goals")
	s.Must(err)
	has(t, stderr, "no goals yet")
	goal, first, second := s.reworked()
	s.work(s.Goal("another"), blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})

	stdout, _, err := s.run("goals")
	s.Must(err)
	has(t, stdout, "ID        STATUS", words.Short(goal)+"  stalled             ", "active, 1 question  ", "the goal\n", "another\n")
	stdout, _, err = s.run("goals", "--limit", "1", "-o", "json")
	s.Must(err)
	has(t, stdout, `"more": true`, `"text": "another"`)

	stdout, _, err = s.run("hoard")
	s.Must(err)
	has(t, stdout, words.Short(first), "Draft v2", "rejects: not like this", "approves", "Which one?")
	if strings.Index(stdout, words.Short(first)) > strings.Index(stdout, words.Short(second)) {
		t.Errorf("the newest is not last in\n%s", stdout)
	}
	lines := func(args ...string) int {
		t.Helper()
		stdout, _, err := s.run(append([]string{"hoard", "-o", "jsonl"}, args...)...)
		s.Must(err)
		return strings.Count(stdout, "\n")
	}
	for want, args := range map[int][]string{7: {}, 2: {"--type", "Draft"}, 5: {"--workflow", words.Short(goal)}, 3: {"--agent", "writer"}, 1: {"--agent", "writer", "--type", "Question"},
		4: {"--limit", "4"}, 0: {"--since", "2100-01-01"}} {
		if got := lines(args...); got != want {
			t.Errorf("hoard %v: %d, want %d", args, got, want)
		}
	}
	stdout, _, err = s.run("hoard", "--limit", "2", "-o", "json")
	s.Must(err)
	has(t, stdout, `"more": true`, `"artefacts": [`)
	_, stderr, err = s.run("hoard", "--limit", "2")
	s.Must(err)
	has(t, stderr, "the newest 2, there are more")
	_, _, err = s.run("hoard", "--agent", "wirter")
	if role.CodeOf(err) != role.NotFound || !strings.Contains(hint(err), "did you mean writer") {
		t.Errorf("an unknown agent: %v, %s", err, hint(err))
	}
}

// An agent that is tried on its own rejected artefact reworks it: the Reviews are
// in its context.
func TestTryArtefact(t *testing.T) {
	s := newStage(t)
	_, first, second := s.reworked()
	s.write("sett.yml", `
runtime: process
agents:
  writer: {command: [sh, -c, 'grep -c "not like this" >&2; echo "{\"artefact_type\":\"Draft\",\"artefact_payload\":\"\"}"']}
  lint: {command: ["true"], bids: {Draft: review}}
`)
	stdout, stderr, err := s.run("try", "writer", "--yes", "--artefact", words.Short(first))
	s.Must(err)
	has(t, stdout, "target   Draft "+words.Short(first), "bid      exclusive: a rework is granted without bidding", "2 artefacts of context", "result   Draft, 0 bytes")
	has(t, stderr, "writer | 1")
	stdout, _, err = s.run("try", "writer", "--artefact", second)
	s.Must(err)
	has(t, stdout, "bid      ignore: its own work")
	_, _, err = s.run("try", "lint", "--artefact", second)
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "stdout is empty") {
		t.Errorf("an empty output: %v", err)
	}
	all, err := s.board.Records.ListArtefacts(t.Context(), blackboard.Filter{})
	s.Must(err)
	for _, a := range all {
		if a.StructuralType == blackboard.Review {
			_, _, err := s.run("try", "lint", "--artefact", a.ID)
			if role.CodeOf(err) != role.Usage {
				t.Errorf("trying a Review: %v", err)
			}
		}
	}
	if len(all) != 5 {
		t.Errorf("%d artefacts: something was recorded", len(all))
	}
}

// An agent that is tried on an artefact starts from the commits that its cub would start
// from: the artefact's own in the store, else the goal's base.
func TestTryStartsAsItsCub(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	made := s.aside("a", "1\n")
	later := s.commitFile("later", "1\n")
	goal, _ := s.achieved(base, made)
	_, code := s.work(s.Goal("another"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: blackboard.TypeCodeCommit, Payload: made, Commit: made})
	s.write("sett.yml", `
runtime: process
agents:
  lint: {command: [sh, -c, 'echo "{\"artefact_type\":\"At\",\"artefact_payload\":\"$(git rev-parse HEAD) on $(git branch --show-current)\"}"']}
`)
	for _, tc := range []struct {
		on   []string
		want string
	}{
		{[]string{"--artefact", code}, made + " on main"},
		{[]string{"--artefact", goal}, base + " on main"},
		{[]string{"--goal", "x"}, later + " on main"},
	} {
		stdout, _, err := s.run(append([]string{"try", "lint", "--yes", "--as", "claim", "-o", "json"}, tc.on...)...)
		s.Must(err)
		has(t, stdout, `"payload": "`+tc.want+`"`)
	}
}
