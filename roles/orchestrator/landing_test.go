package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/config"
	"sett/roles/orchestrator/arbiter"
	"sett/roles/role/repository"
	"sett/roles/role/store"
)

// fields is a clan of one writer whose results land on branch `released` of a user's
// repository, with the role's store, but without its process.
type fields struct {
	*boardtest.Board
	sett   *sett
	dir    string // of the user's repository
	store  *store.Store
	user   *store.User
	term   *term
	base   string
	cut    int               // calls until one is cut off, before or after it is done; 0: none is
	stop   func()            // ends the process that is cut off
	moves  func()            // somebody's, just before the branch is moved
	fails  map[string]error  // the role's answer, by goal
	asked  map[string]int    // plans that were asked for, by goal
	later  time.Duration     // what has passed on the orchestrator's clock
	intent map[string]change // by goal
}

// change is the line of a file that a goal sets.
type change struct {
	file string
	line int
	text string
}

const fileLines = 12

func newFields(t *testing.T, land config.Land, approve ...string) *fields {
	t.Helper()
	f := &fields{Board: boardtest.Start(t, "test").Lead(), dir: filepath.Join(t.TempDir(), "user"), intent: map[string]change{}, fails: map[string]error{}, asked: map[string]int{}, stop: func() {}}
	f.git("", "init", "-q", "-b", "main", f.dir)
	for _, name := range []string{"a", "b"} {
		f.Must(os.WriteFile(filepath.Join(f.dir, name), []byte(strings.Repeat("-\n", fileLines)), 0o600))
	}
	f.git(f.dir, "add", "-A")
	f.git(f.dir, "commit", "-qm", "first")
	f.git(f.dir, "branch", "released")
	f.base = f.git(f.dir, "rev-parse", "HEAD")
	var err error
	f.store, err = store.Create(t.Context(), filepath.Join(t.TempDir(), "store"), "sha1", []string{filepath.Join(f.dir, ".git", "objects")})
	f.Must(err)
	f.user = store.OpenUser(filepath.Join(f.dir, ".git"))
	s := &sett{TB: t, url: f.Server.URL, file: filepath.Join(t.TempDir(), "config.json"), board: f.Moves}
	s.cfg = config.Config{Version: "1.0", Runtime: config.RuntimeProcess, Orchestrator: config.Orchestrator{MaxReviewIterations: 3, MaxArtefacts: 100},
		Agents: []config.Agent{member("writer"), member("judge")}, Land: &land, Approve: approve}
	s.write()
	f.sett = s
	o := s.unled(s.env(options{}, &output{}), slog.DiscardHandler)
	o.lander = f
	o.board.landings = cutBoard{o.board.landings, f}
	f.term = newTerm(o, blackboard.Lead{Holder: "test", Epoch: f.Epoch})
	began := time.Now()
	f.term.clock.own = func() time.Time { return began.Add(f.later) }
	f.Must(f.Moves.Leader.SetLanding(t.Context(), f.Epoch, land.Onto))
	f.Must(f.Moves.Leader.Enact(t.Context(), f.Epoch, approve, s.cfg.DecisionDigest()))
	return f
}

func (f *fields) git(dir string, args ...string) string {
	f.Helper()
	out, err := f.tryGit(dir, args...)
	if err != nil {
		f.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fields) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=writer", "GIT_AUTHOR_EMAIL=w@localhost", "GIT_COMMITTER_NAME=writer", "GIT_COMMITTER_EMAIL=w@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// errCut is the end of a process in the middle of a landing.
var errCut = errors.New("cut off")

// once counts a call, which is cut off before or after it is done.
func (f *fields) once(do func() error) error {
	if f.cut--; f.cut == 0 {
		f.stop()
		return errCut
	}
	err := do()
	if f.cut--; f.cut == 0 {
		f.stop()
		return errCut
	}
	return err
}

// The role's answers, by the same package as the role's.

func (f *fields) Plan(ctx context.Context, q repository.Landing) (p repository.LandingPlan, err error) {
	return p, f.once(func() error {
		f.asked[q.Goal]++
		if err := f.fails[q.Goal]; err != nil {
			return err
		}
		commit, err := f.store.Commit(ctx, store.Artefact(q.Artefact))
		if err != nil {
			return err
		}
		made, err := store.Lander{Store: f.store, User: f.user}.Plan(ctx, store.Landing{Name: q.Goal, Commit: commit, Branch: q.Branch, How: q.How, Subject: q.Subject})
		p = repository.LandingPlan{Tip: made.Tip, To: made.To, How: made.How, Bars: made.Bars, Hunks: made.Hunks}
		if made.Conflict != nil {
			p.Files = made.Conflict.Files
		}
		return err
	})
}

func (f *fields) Land(ctx context.Context, q repository.Land) (l repository.Landed, err error) {
	return l, f.once(func() error {
		if f.moves != nil {
			f.moves()
		}
		before, _ := f.tryGit(f.dir, "rev-parse", "-q", "--verify", "refs/heads/"+q.Branch)
		m, err := store.Lander{Store: f.store, User: f.user}.Land(ctx, q.Branch, q.From, q.To)
		if after, _ := f.tryGit(f.dir, "rev-parse", "-q", "--verify", "refs/heads/"+q.Branch); after != before {
			f.git(f.dir, "merge-base", "--is-ancestor", before, after) // forward, and nothing of theirs is lost
		}
		l = repository.Landed{Done: m.Done, Bars: m.Bars}
		return err
	})
}

func (f *fields) Hold(ctx context.Context, q repository.Hold) error {
	return f.once(func() error { return f.store.Hold(ctx, store.Artefact(q.Artefact), q.Commit) })
}

// cutBoard is a blackboard with moves that may be cut off.
type cutBoard struct {
	landings
	f *fields
}

func (c cutBoard) Land(ctx context.Context, s blackboard.LandingStep) error {
	return c.f.once(func() error { return c.landings.Land(ctx, s) })
}

// lands looks at the open landings until nothing is cut off any more.
func (f *fields) lands() {
	f.Helper()
	for range 100 {
		ctx, stop := context.WithCancel(f.Ctx)
		f.stop = stop
		_, err := f.term.landOpen(ctx)
		stop()
		if err == nil {
			return
		}
		if !errors.Is(err, errCut) {
			f.Fatal(err)
		}
	}
	f.Fatal("it never ends")
}

// commit makes the writer's commit of a goal on other commits, the first of which has its
// files, and has the store hold it for an artefact.
func (f *fields) commit(goal, artefact string, parents ...string) string {
	f.Helper()
	c, dir := f.intent[goal], f.TempDir()
	f.git("", "clone", "-q", "--shared", "--no-checkout", f.store.Dir, dir)
	f.git(dir, "checkout", "-q", "--detach", parents[0])
	text, err := os.ReadFile(filepath.Join(dir, c.file))
	f.Must(err)
	lines := strings.Split(string(text), "\n")
	lines[c.line] = c.text
	f.Must(os.WriteFile(filepath.Join(dir, c.file), []byte(strings.Join(lines, "\n")), 0o600))
	f.git(dir, "add", "-A")
	args := []string{"commit-tree", "-m", "set " + c.text, f.git(dir, "write-tree")}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	commit := f.git(dir, args...)
	f.Must(f.store.Fetch(f.Ctx, filepath.Join(dir, ".git", "objects"), commit, store.Artefact(artefact)))
	return commit
}

// goal posts a goal that sets a line, and brings it to its Terminal.
func (f *fields) goal(c change) string {
	f.Helper()
	claim := f.Granted("set "+c.text, "writer")
	goal := f.Snapshot(claim).Claim.WorkflowID
	f.intent[goal] = c
	f.hands(claim, f.base)
	return goal
}

// hands has the writer hand in its commit for a claim, on these parents.
func (f *fields) hands(claim string, parents ...string) string {
	f.Helper()
	f.Begin(claim, "writer", "h")
	s := f.Snapshot(claim)
	a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Terminal, Type: blackboard.TypeCodeCommit, Summary: "a change"}
	if s.Claim.Rework {
		a.LogicalID = s.Claim.Target.LogicalID
	}
	a.Commit = f.commit(s.Claim.WorkflowID, a.ID, parents...)
	a.Payload = a.Commit
	f.Finish(claim, "writer", a)
	f.Complete(claim)
	return a.ID
}

// reworks has the writer settle the conflict of a goal: its change on top of the branch's files.
func (f *fields) reworks(goal string) {
	f.Helper()
	w, err := f.Moves.Records.Workflow(f.Ctx, goal)
	f.Must(err)
	claim := blackboard.LandingReworkID(w.Landing.Artefact, w.Landing.Since)
	c := f.Snapshot(claim).Claim
	review := f.Artefact(c.AdditionalContextIDs[0])
	own := f.Artefact(c.ArtefactID).Commit
	if review.ProducedByRole != blackboard.RoleRepository || review.Commit == "" || !strings.Contains(review.Payload, f.intent[goal].file) {
		f.Fatalf("the Review of a conflict: %+v", review)
	}
	f.hands(claim, review.Commit, own)
}

func (f *fields) status(goal string) blackboard.Workflow {
	f.Helper()
	w, err := f.Moves.Records.Workflow(f.Ctx, goal)
	f.Must(err)
	return w
}

// landed are the goals in the order in which they landed.
func (f *fields) landed() (goals []string) {
	for _, e := range f.Events(blackboard.EventLanding) {
		if e.To == string(blackboard.LandingLanded) {
			goals = append(goals, e.Workflow)
		}
	}
	return goals
}

// serial checks that the branch is as if the goals had been worked on one after another.
func (f *fields) serial(branch string) {
	f.Helper()
	want := map[string][]string{}
	for _, name := range []string{"a", "b"} {
		want[name] = slices.Repeat([]string{"-"}, fileLines)
	}
	for _, goal := range f.landed() {
		c := f.intent[goal]
		want[c.file][c.line] = c.text
	}
	for name, lines := range want {
		if got := f.git(f.dir, "show", branch+":"+name); got != strings.Join(lines, "\n") {
			f.Errorf("%s has\n%s\nwant\n%s", name, got, strings.Join(lines, "\n"))
		}
	}
	f.git(f.dir, "fsck", "--full", "--strict")
}

// Random edits by two to eight writers, which end in any order, with a process that is cut off at any call: the branch is
// as after some serial order of the goals, each of them is in it, and it only moves forward.
func TestLandingIsSerial(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 14)) //nolint:gosec // a test's own chance
			how := []string{config.LandRebase, config.LandMerge, config.LandSquash}[seed%3]
			f := newFields(t, config.Land{Onto: "released", How: how, When: config.LandAchieved})
			var open []string
			for n := range 2 + r.IntN(7) {
				open = append(open, f.goal(change{[]string{"a", "b"}[r.IntN(2)], r.IntN(fileLines), fmt.Sprintf("goal %d", n)}))
				if r.IntN(3) == 0 {
					f.cut = 1 + r.IntN(24)
					f.lands()
				}
			}
			for round := 0; len(open) > 0; round++ {
				if round == 20 {
					t.Fatal("goals never land")
				}
				f.cut = r.IntN(40)
				f.lands()
				r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
				open = slices.DeleteFunc(open, func(goal string) bool {
					w := f.status(goal)
					if w.Status == blackboard.WorkflowActive && w.Landing.State == blackboard.LandingReworked {
						f.reworks(goal)
					}
					if w.Status.Ended() && w.Status != blackboard.WorkflowAchieved && w.Failures == 0 {
						t.Errorf("goal %s is %s", goal, w.Status)
					}
					return w.Status.Ended()
				})
			}
			f.serial("released")
			if n := len(f.landed()); n == 0 || n != len(slices.Compact(slices.Sorted(slices.Values(f.landed())))) {
				t.Errorf("%d landings", n)
			}
		})
	}
}

// A person commits on, rebases, moves, deletes or checks out the branch at any moment: nothing of
// theirs is lost, and the landing goes on or says what it waits for.
func TestLandingMeetsAPerson(t *testing.T) {
	t.Parallel()
	var f *fields
	ref := "refs/heads/released"
	theirs := func(parent string) string {
		return f.git(f.dir, "commit-tree", "-p", parent, "-m", "theirs", parent+"^{tree}")
	}
	for name, c := range map[string]struct {
		do   func()
		bars string
		mend func()
	}{
		"commits":    {do: func() { f.git(f.dir, "update-ref", ref, theirs(ref)) }},
		"rebases":    {do: func() { f.git(f.dir, "update-ref", ref, theirs(theirs(f.base))) }},
		"moves back": {do: func() { f.git(f.dir, "update-ref", ref, f.base) }},
		"deletes":    {func() { f.git(f.dir, "branch", "-D", "released") }, "there is no branch", func() { f.git(f.dir, "branch", "released", f.base) }},
		"checks out": {func() { f.git(f.dir, "switch", "-q", "released") }, "checked out", func() { f.git(f.dir, "switch", "-q", "main") }},
		"lands by hand": {func() { f.git(f.dir, "switch", "-q", "released") }, "checked out", func() {
			commit := f.git(f.store.Dir, "for-each-ref", "--format=%(objectname)", "--sort=-refname", "--count=1", "refs/sett/artefacts")
			f.git(f.dir, "fetch", "-q", f.store.Dir, commit)
			f.git(f.dir, "merge", "-q", "--no-edit", commit)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f = newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved})
			f.goal(change{"a", 0, "first"})
			f.lands()
			goal := f.goal(change{"a", 6, "second"})
			at := ""
			f.moves = func() {
				f.moves = nil
				c.do()
				at, _ = f.tryGit(f.dir, "rev-parse", "-q", "--verify", ref)
			}
			f.lands()
			w := f.status(goal)
			if c.bars != "" {
				if !w.OnlyPeople() || w.Landing.State != blackboard.LandingBarred || !strings.Contains(w.Landing.Reason, c.bars) {
					t.Fatalf("it waits: %+v", w.Landing)
				}
				if now, _ := f.tryGit(f.dir, "rev-parse", "-q", "--verify", ref); now != at {
					t.Fatalf("the branch moved from %s to %s", at, now)
				}
				c.mend()
				at = f.git(f.dir, "rev-parse", ref)
				f.lands()
				w = f.status(goal)
			}
			if w.Status != blackboard.WorkflowAchieved || w.Landing.State != blackboard.LandingLanded {
				t.Fatalf("%+v %+v", w, w.Landing)
			}
			f.git(f.dir, "merge-base", "--is-ancestor", cmp.Or(at, f.base), ref)
			if got := f.git(f.dir, "show", ref+":a"); !strings.Contains(got, "second") {
				t.Errorf("the branch has\n%s", got)
			}
		})
	}
}

// A goal that somebody cancels while its branch is being moved lands or does not: the ledger says which, and nothing
// moves the branch afterwards. The next goal takes its turn.
func TestLandingIsCancelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut    int // the call before or after which the process ends, and the goal is cancelled; 0: in the call that moves the branch
		landed bool
		state  blackboard.LandingState
	}{
		"before it is planned":      {cut: 1, state: blackboard.LandingQueued},
		"before it moves":           {cut: 4, state: blackboard.LandingNone},
		"while it moves":            {landed: true, state: blackboard.LandingLanded},
		"after it moved":            {cut: 6, landed: true, state: blackboard.LandingLanded},
		"before it is told":         {cut: 7, landed: true, state: blackboard.LandingLanded},
		"before it is sent to move": {cut: 5, state: blackboard.LandingNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved})
			goal := f.goal(change{"a", 0, "first"})
			cancel := func() {
				f.Must(f.Moves.People.CancelWorkflow(f.Ctx, goal, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeCancelled,
					Payload: "{}", SourceArtefacts: []string{goal}, ProducedByRole: blackboard.RoleHuman, WorkflowID: goal}, "ann", "no"))
			}
			if f.cut = c.cut; c.cut == 0 {
				f.moves = func() { f.moves = nil; cancel() }
			} else {
				ctx, stop := context.WithCancel(f.Ctx)
				f.stop = stop
				if _, err := f.term.landOpen(ctx); !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				cancel()
			}
			f.goal(change{"b", 0, "second"})
			f.lands()
			w := f.status(goal)
			if w.Status != blackboard.WorkflowFailed || w.Landing.State != c.state || w.Outstanding != 0 || w.Suspended != 0 {
				t.Errorf("%+v %+v", w, w.Landing)
			}
			want := 1
			if c.landed {
				want = 2
			}
			if all := f.landed(); len(all) != want || (all[0] == goal) != c.landed {
				t.Errorf("landed: %q", all)
			}
			if got := strings.Contains(f.git(f.dir, "show", "released:a"), "first"); got != c.landed {
				t.Errorf("the branch has its result: %v", got)
			}
			f.serial("released")
			if open, err := f.Moves.Index.OpenLandings(f.Ctx); err != nil || len(open) > 0 {
				t.Errorf("open: %q %v", open, err)
			}
		})
	}
}

// With verify agents see the commit that the branch would have. Feedback sends the result back to
// its maker; a branch that moved meanwhile is verified anew; the others wait.
func TestLandingIsVerified(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved, Verify: true})
	goal, other := f.goal(change{"a", 0, "one"}), f.goal(change{"b", 0, "two"})
	verification := func() blackboard.Artefact {
		t.Helper()
		w := f.status(goal)
		if w.Landing.State != blackboard.LandingVerifying || w.Outstanding != 2 {
			t.Fatalf("%+v %+v", w, w.Landing)
		}
		return f.Artefact(w.Landing.Verification)
	}
	judges := func(a blackboard.Artefact, verdict string) {
		t.Helper()
		claim := f.Open(a.ID, "judge")
		f.Grant(claim, blackboard.PhaseReview, "judge")
		f.Begin(claim, "judge", "h")
		f.Finish(claim, "judge", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: verdict})
		f.Must(f.term.settle(f.Ctx, key{claimKey, claim}))
	}
	f.lands()
	first := verification()
	if first.Type != blackboard.TypeLanding || first.Commit == "" || f.git(f.store.Dir, "rev-parse", store.Artefact(first.ID)) != first.Commit || first.Version != 1 {
		t.Errorf("the Landing: %+v", first)
	}
	if w := f.status(other); w.Landing.State != blackboard.LandingQueued {
		t.Errorf("the other goal: %+v", w.Landing)
	}
	judges(first, "no good")
	f.lands()
	if w := f.status(goal); w.Landing.State != blackboard.LandingReworked {
		t.Fatalf("after feedback: %+v", w.Landing)
	}
	rework := f.Snapshot(blackboard.LandingReworkID(first.SourceArtefacts[0], f.status(goal).Landing.Since)).Claim
	if len(rework.AdditionalContextIDs) != 2 || f.Artefact(rework.AdditionalContextIDs[1]).Payload != "no good" {
		t.Errorf("the rework knows of %q", rework.AdditionalContextIDs)
	}
	if w := f.status(other); w.Landing.State != blackboard.LandingVerifying { // its turn
		t.Fatalf("the other goal: %+v", w.Landing)
	}
	goal, other = other, goal
	second := verification()
	judges(second, "{}")
	theirs := f.git(f.dir, "commit-tree", "-p", "released", "-m", "theirs", "released^{tree}")
	f.git(f.dir, "update-ref", "refs/heads/released", theirs)
	f.lands()
	third := verification()
	if third.Version != 2 || third.LogicalID != second.ID || third.Commit == second.Commit {
		t.Errorf("verified anew: %+v", third)
	}
	if f.git(f.dir, "rev-parse", "released") != theirs {
		t.Error("the branch moved without a verification")
	}
	judges(third, "{}")
	f.lands()
	if w := f.status(goal); w.Status != blackboard.WorkflowAchieved || f.git(f.dir, "rev-parse", "released") != third.Commit {
		t.Errorf("landed: %+v", w.Landing)
	}
	if w := f.status(other); w.Landing.State != blackboard.LandingReworked {
		t.Errorf("the other goal: %+v", w.Landing)
	}
}

// Settings that verify no landing any more end a verification that is under way, also where its agent has left: the result
// lands unverified, or not at all where land has gone. No goal fails. Verified again, it is verified anew.
func TestVerificationIsSuperseded(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved, Verify: true})
	goal := f.goal(change{"a", 0, "one"})
	seen := map[string]bool{}
	// superseded begins a verification, and ends it by the settings.
	superseded := func(land *config.Land) {
		t.Helper()
		f.lands()
		w := f.status(goal)
		if w.Landing.State != blackboard.LandingVerifying || seen[w.Landing.Verification] {
			t.Fatalf("it is not verified: %+v", w.Landing)
		}
		seen[w.Landing.Verification] = true
		claim := f.Open(w.Landing.Verification, "judge")
		f.Grant(claim, blackboard.PhaseReview, "judge")
		f.enacts(land, "writer")
		f.Must(f.term.settle(f.Ctx, key{claimKey, claim}))
		if c := f.Snapshot(claim).Claim; c.Status != blackboard.Terminated || c.Reason != arbiter.ReasonSuperseded {
			t.Errorf("the claim: %+v", c)
		}
	}
	land, verified := f.sett.cfg.Land, *f.sett.cfg.Land
	unverified := verified
	unverified.Verify = false
	for range 3 { // verified again before the landing was looked at
		superseded(&unverified)
		f.enacts(&verified, "writer", "judge")
	}
	superseded(&unverified)
	f.lands()
	if w := f.status(goal); w.Status != blackboard.WorkflowAchieved || w.Landing.State != blackboard.LandingLanded || w.Failures != 0 {
		t.Errorf("%+v %+v", w, w.Landing)
	}
	f.serial("released")

	f.enacts(land, "writer", "judge")
	goal = f.goal(change{"b", 0, "two"})
	superseded(nil)
	f.lands()
	if w := f.status(goal); w.Status != blackboard.WorkflowAchieved || w.Landing.State != blackboard.LandingNone || w.Failures != 0 {
		t.Errorf("without land: %+v %+v", w, w.Landing)
	}
}

// enacts has other settings hold: of landings, and of the clan.
func (f *fields) enacts(land *config.Land, agents ...string) {
	f.Helper()
	f.sett.cfg.Land, f.sett.cfg.Agents = land, nil
	for _, name := range agents {
		f.sett.cfg.Agents = append(f.sett.cfg.Agents, member(name))
	}
	f.sett.write()
	_, err := f.term.clan.reload()
	f.Must(err)
	f.Must(f.Moves.Leader.Enact(f.Ctx, f.Epoch, nil, f.sett.cfg.DecisionDigest()))
}

// A goal that the role has trouble with waits by that name, alone: the others land. It is tried
// again, ever later, until it lands. A role that is away keeps the order at first.
func TestLandingHasTrouble(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved})
	sick, next := f.goal(change{"a", 0, "one"}), f.goal(change{"b", 0, "two"})
	f.fails[sick] = fmt.Errorf("no dial: %w", repository.ErrAway)
	f.lands()
	if w := f.status(next); w.Landing.State != blackboard.LandingQueued || w.Landing.Trouble != "" || f.status(sick).Landing.Trouble == "" {
		t.Fatalf("the role is away: %+v", w.Landing)
	}
	f.fails[sick] = errors.New("ask the repository: no space left\non the device")
	f.later += time.Minute
	f.lands()
	f.lands()
	l := f.status(sick).Landing
	if l.State != blackboard.LandingQueued || l.Trouble != "no space left; on the device" || f.asked[sick] != 2 {
		t.Errorf("%+v, asked %d times", l, f.asked[sick])
	}
	if e := f.Events(blackboard.EventLanding); len(e) < 2 || e[1].Attributes[blackboard.AttributeTrouble] != l.Trouble || e[1].Workflow != sick {
		t.Errorf("the ledger: %+v", e)
	}
	if got := f.landed(); !slices.Equal(got, []string{next}) {
		t.Fatalf("landed: %q", got)
	}
	for pause := range 8 {
		f.later += time.Second << min(pause, 5)
		f.lands()
	}
	if n := f.asked[sick]; n < 6 || n > 9 {
		t.Errorf("asked %d times", n)
	}
	delete(f.fails, sick)
	f.later += time.Minute
	f.lands()
	if w := f.status(sick); w.Status != blackboard.WorkflowAchieved || w.Landing.Trouble != "" {
		t.Errorf("%+v %+v", w, w.Landing)
	}
	f.serial("released")
}

// A result whose record was altered is not landed: its goal says so, the others land, and it lands once the record is right again.
func TestAlteredIsNotLanded(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved})
	altered, next := f.goal(change{"a", 0, "one"}), f.goal(change{"b", 0, "two"})
	result := f.status(altered).TerminalID
	key := "sett:{test}:artifact:" + result
	right, err := f.Moves.Records.Artefact(t.Context(), result)
	f.Must(err)
	f.Send("HSET", key, "commit", strings.Repeat("a", 40))
	f.lands()
	w := f.status(altered)
	if w.Landing.State != blackboard.LandingQueued || !strings.Contains(w.Landing.Trouble, "artefact "+result+" is not what the ledger recorded") || f.asked[altered] != 0 {
		t.Errorf("%+v, asked %d times", w.Landing, f.asked[altered])
	}
	if got := f.landed(); !slices.Equal(got, []string{next}) {
		t.Fatalf("landed: %q", got)
	}
	f.Send("HSET", key, "commit", right.Commit)
	f.later += time.Minute
	f.lands()
	if w := f.status(altered); w.Status != blackboard.WorkflowAchieved || w.Landing.Trouble != "" {
		t.Errorf("%+v %+v", w, w.Landing)
	}
}

// A gate on Landing is a person's last word, also without verify: what is approved is what
// the branch gets, and a rejection is feedback.
func TestLandingIsApproved(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandRebase, When: config.LandAchieved}, blackboard.TypeLanding)
	goal := f.goal(change{"a", 0, "one"})
	f.lands()
	w := f.status(goal)
	held := f.Artefact(w.Landing.Verification)
	if !w.OnlyPeople() || w.Gates != 1 || held.Type != blackboard.TypeLanding {
		t.Fatalf("it waits for a person: %+v %+v", w, w.Landing)
	}
	if e := f.Events(blackboard.EventLanding); !e[len(e)-1].OnlyPeople() || e[len(e)-1].Held() != held.ID {
		t.Errorf("the entry: %+v", e[len(e)-1])
	}
	review := blackboard.Artefact{ID: blackboard.GateReviewID(held.ID), StructuralType: blackboard.Review, Type: "Review", Payload: "{}",
		ProducedByRole: blackboard.RoleHuman, WorkflowID: goal, SourceArtefacts: []string{held.ID}}
	f.Must(f.Moves.People.Approve(f.Ctx, held.ID, review, "ann"))
	claim := f.Open(held.ID, "judge")
	f.Bid(claim, blackboard.BidRequest{Agent: "judge", Bid: blackboard.BidIgnore})
	f.Must(f.term.settle(f.Ctx, key{claimKey, claim}))
	f.lands()
	if w := f.status(goal); w.Status != blackboard.WorkflowAchieved || f.git(f.dir, "rev-parse", "released") != held.Commit {
		t.Errorf("approved: %+v %+v", w, w.Landing)
	}

	goal = f.goal(change{"b", 0, "two"})
	f.lands()
	held = f.Artefact(f.status(goal).Landing.Verification)
	review = blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "not like this",
		ProducedByRole: blackboard.RoleHuman, WorkflowID: goal, SourceArtefacts: []string{held.ID}}
	rejected, err := f.Moves.People.Reject(f.Ctx, held.ID, review, "ann")
	f.Must(err)
	f.Must(f.term.settle(f.Ctx, key{claimKey, rejected}))
	f.lands()
	w = f.status(goal)
	rework := f.Snapshot(blackboard.LandingReworkID(held.SourceArtefacts[0], w.Landing.Since)).Claim
	if w.Landing.State != blackboard.LandingReworked || len(rework.AdditionalContextIDs) != 2 || f.Artefact(rework.AdditionalContextIDs[1]).Payload != "not like this" {
		t.Errorf("rejected: %+v, the rework knows of %q", w.Landing, rework.AdditionalContextIDs)
	}
}

// A result that never lands without a conflict uses up max_review_iterations.
func TestLandingHasALimit(t *testing.T) {
	t.Parallel()
	f := newFields(t, config.Land{Onto: "released", How: config.LandMerge, When: config.LandAchieved})
	f.goal(change{"a", 0, "first"})
	goal := f.goal(change{"a", 0, "second"})
	for range 3 {
		f.lands()
		w := f.status(goal)
		if w.Landing.State != blackboard.LandingReworked {
			t.Fatalf("%+v", w.Landing)
		}
		claim := blackboard.LandingReworkID(w.Landing.Artefact, w.Landing.Since)
		f.hands(claim, f.base) // as if there were no other side
	}
	f.lands()
	w := f.status(goal)
	if w.Status != blackboard.WorkflowFailed || f.Artefact(w.FailureID).Type != blackboard.TypeReviewLimit {
		t.Errorf("%+v %+v", w, w.Landing)
	}
}

// A rework that changes nothing makes a version without a commit, which counts as every other: the limits of versions and
// of artefacts end the goal. Where there were too many artefacts, it goes on with a higher limit.
func TestReworkWithoutCommitHasALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set     config.Orchestrator
		want    string
		reworks int
	}{
		"versions":  {config.Orchestrator{MaxReviewIterations: 2, MaxArtefacts: 100}, blackboard.TypeReviewLimit, 2},
		"artefacts": {config.Orchestrator{MaxArtefacts: 5}, blackboard.TypeWorkflowLimit, 4}, // the goal, its result and four more
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFields(t, config.Land{Onto: "released", How: config.LandMerge, When: config.LandAchieved})
			limit := func(set config.Orchestrator) {
				f.sett.cfg.Orchestrator = set
				f.sett.write()
				_, err := f.term.clan.reload()
				f.Must(err)
			}
			limit(c.set)
			f.goal(change{"a", 0, "first"})
			goal := f.goal(change{"a", 0, "second"})
			reworks := func() (n int) {
				for ; ; n++ {
					f.lands()
					w := f.status(goal)
					if w.Landing.State != blackboard.LandingReworked {
						return n
					}
					if n > 20 {
						f.Fatal("it is reworked for ever")
					}
					claim := blackboard.LandingReworkID(w.Landing.Artefact, w.Landing.Since)
					f.Begin(claim, "writer", "h")
					f.Finish(claim, "writer", blackboard.Artefact{ID: newID(), StructuralType: blackboard.Terminal, Type: "Release", Payload: "nothing to do",
						LogicalID: f.Snapshot(claim).Claim.Target.LogicalID})
					f.Complete(claim)
				}
			}
			n := reworks()
			w := f.status(goal)
			if w.Status != blackboard.WorkflowFailed || f.Artefact(w.FailureID).Type != c.want || n != c.reworks {
				t.Fatalf("after %d reworks: %+v %+v", n, w, w.Landing)
			}
			c.set.MaxArtefacts, c.set.MaxReviewIterations = 7, 0
			limit(c.set)
			f.Must(f.Moves.People.RetryGoal(f.Ctx, blackboard.GoalRetry{Workflow: goal, Failure: w.FailureID, Type: c.want, Word: newID(), MaxArtefacts: 7}, "ann", ""))
			if n = reworks(); n == 0 || f.Artefact(f.status(goal).FailureID).Type != blackboard.TypeWorkflowLimit {
				t.Errorf("with a higher limit: %d reworks, %+v", n, f.status(goal))
			}
		})
	}
}

// A goal that failed in landing, since its result was not to be reworked, is sent back to its maker when it is
// tried again with other settings; with the same ones it fails again, with a Failure of its own.
func TestLandingIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]struct{ bars, opens func(*config.Config) }{
		blackboard.TypeReviewLimit: {
			func(c *config.Config) { c.Orchestrator.MaxReviewIterations = 1 },
			func(c *config.Config) { c.Orchestrator.MaxReviewIterations = 9 },
		},
		blackboard.TypeAgentRemoved: {
			func(c *config.Config) { c.Agents = []config.Agent{member("judge")} },
			func(c *config.Config) { c.Agents = []config.Agent{member("writer"), member("judge")} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFields(t, config.Land{Onto: "released", How: config.LandMerge, When: config.LandAchieved})
			apply := func(change func(*config.Config)) {
				c := *f.term.clan.get()
				change(&c)
				text, err := json.Marshal(&c)
				f.Must(err)
				f.Must(os.WriteFile(f.term.clan.file, text, 0o600))
				_, err = f.term.clan.reload()
				f.Must(err)
			}
			again := func(failure string) {
				f.Must(f.Moves.People.RetryGoal(f.Ctx, blackboard.GoalRetry{Workflow: f.Artefact(failure).WorkflowID, Failure: failure, Word: newID()}, "ann", ""))
			}
			f.goal(change{"a", 0, "first"})
			goal := f.goal(change{"a", 0, "second"})
			f.lands()
			f.hands(blackboard.LandingReworkID(f.status(goal).Landing.Artefact, f.status(goal).Landing.Since), f.base)
			apply(settings.bars)
			f.lands()
			first := f.status(goal)
			again(first.FailureID)
			f.lands()
			second := f.status(goal)
			if second.Status != blackboard.WorkflowFailed || second.Failures != 1 || second.FailureID == first.FailureID || f.Artefact(second.FailureID).Type != name {
				t.Fatalf("with the same settings: %+v, before %+v", second, first)
			}
			apply(settings.opens)
			again(second.FailureID)
			f.lands()
			if w := f.status(goal); w.Status != blackboard.WorkflowActive || w.Failures != 0 || w.Landing.State != blackboard.LandingReworked {
				t.Fatalf("with others: %+v %+v", w, w.Landing)
			}
			f.reworks(goal)
			f.lands()
			if w := f.status(goal); w.Status != blackboard.WorkflowAchieved || w.Landing.State != blackboard.LandingLanded {
				t.Errorf("in the end: %+v %+v", w, w.Landing)
			}
			f.serial("released")
		})
	}
}
