package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/repository"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/runtime"
	"sett/runtime/process"
)

// reconfigure changes what the instance was started with.
func (s *stage) reconfigure(change func(*config.Orchestrator)) {
	s.t.Helper()
	change(&s.config.Orchestrator)
	s.Must(instance.WriteFile(filepath.Join(s.home, "sett", "stage", "config.json"), s.config))
}

// staff has units for all the parts of the instance, which do nothing. They are no
// children of the tests, among whom those of sett try end what tools leave behind.
func (s *stage) staff() *process.Runtime {
	s.t.Helper()
	binary, err := buildSett()
	s.Must(err)
	self, err := os.Executable()
	s.Must(err)
	dir := filepath.Join(s.home, "sett", "stage")
	units := process.New(process.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	s.t.Cleanup(func() {
		for _, name := range append([]string{runtime.ComponentKeeper, runtime.ComponentOrchestrator, runtime.ComponentRepository}, agentUnits(s.config.Names())...) {
			if err := units.Stop(context.Background(), name, 0); err != nil {
				s.t.Error(err)
			}
		}
	})
	cmd := exec.Command(self)
	cmd.Args = append([]string{"staff", dir, binary}, s.config.Names()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return units
}

func agentUnits(names []string) []string {
	units := make([]string, len(names))
	for i, name := range names {
		units[i] = runtime.AgentUnit(name)
	}
	return units
}

// staff is what the test binary does when called so: it starts the units of the
// stage in a directory, with the sett binary, for agents of these names.
func staff() {
	units := process.New(process.Options{Dir: os.Args[1], Executable: os.Args[2], Logger: slog.New(slog.DiscardHandler)})
	start := func(name string, l runtime.Labels) {
		l[runtime.LabelInstance] = "stage"
		if _, err := units.Start(context.Background(), runtime.Spec{Name: name, Args: []string{"pause"}, Labels: l}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for _, part := range []string{runtime.ComponentKeeper, runtime.ComponentOrchestrator, runtime.ComponentRepository} {
		start(part, runtime.Labels{runtime.LabelComponent: part})
	}
	for _, name := range os.Args[3:] {
		start(runtime.AgentUnit(name), runtime.Labels{runtime.LabelComponent: runtime.ComponentAgent, runtime.LabelAgent: name, runtime.LabelIncarnation: "i-" + name})
	}
}

// detailed runs list -v and reads what it prints of the instance.
func (s *stage) detailed() status.Row {
	s.t.Helper()
	stdout, _, err := s.run("list", "-v", "-o", "json")
	s.Must(err)
	var all struct {
		Instances []status.Row `json:"instances"`
	}
	s.Must(json.Unmarshal([]byte(stdout), &all))
	if len(all.Instances) != 1 {
		s.t.Fatalf("%d instances: %s", len(all.Instances), stdout)
	}
	return all.Instances[0]
}

// list -v and wait give every wait the name that show does.
func TestWaitsEverywhere(t *testing.T) {
	for name, tc := range waitCases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.staff()
			id := tc.set(s)
			if _, _, err := s.run("wait", id, "--timeout", "1ms"); role.CodeOf(err) == role.TimedOut {
				has(t, err.Error(), "\n  ", strings.TrimPrefix(tc.says, "(is not running)"))
			} else if personal := tc.what == blackboard.WaitAnswer || tc.what == blackboard.WaitApproval; !personal || role.CodeOf(err) != role.Waiting {
				t.Errorf("wait: %v", err)
			}
			r := s.detailed()
			found := false
			for _, w := range r.Waits {
				found = found || w.What == tc.what && w.Agent == tc.agent && w.WorkflowID != ""
			}
			if !found && !strings.HasSuffix(name, " record") || len(r.Details) != 3 {
				t.Errorf("list: %+v", r)
			}
			stdout, _, err := s.run("list", "-v")
			s.Must(err)
			has(t, stdout, "  waits for:", string(tc.what))
		})
	}
}

// An artefact whose record is gone is named, for as long as its goal waits for it; to
// cancel the goal ends that.
func TestWaitsForWhatIsLost(t *testing.T) {
	s := newStage(t)
	s.staff()
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Held"}, ""))
	goal := s.Goal("the goal")
	claim, held := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Held", Payload: "x"})
	s.Complete(claim)
	second := s.Goal("another")
	claim, draft := s.work(second, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(claim)
	for goal, lost := range map[string]string{goal: held, second: draft} {
		s.Send("DEL", "sett:{stage}:artifact:"+lost)
		_, _, err := s.run("wait", goal, "--timeout", "1ms")
		has(t, err.Error(), "artefact "+words.Short(lost)+" is lost")
		stdout, _, err := s.run("list", "-v")
		s.Must(err)
		has(t, stdout, "artefact "+words.Short(lost)+" is lost")
		_, _, err = s.run("cancel", goal, "it is lost")
		s.Must(err)
		if r := s.detailed(); strings.Contains(fmt.Sprint(r.Waits), words.Short(lost)) {
			t.Errorf("after the end of its goal: %+v", r.Waits)
		}
	}
}

// So is a claim whose record is gone, by doctor as well.
func TestWaitsForALostClaim(t *testing.T) {
	s := newStage(t)
	s.staff()
	goal := s.Goal("the goal")
	claim := s.open(goal)
	s.Send("DEL", "sett:{stage}:claim:"+claim)
	says := "claim " + words.Short(claim) + " is lost, its record is gone; cancelling its goal ends the wait"
	for _, command := range [][]string{{"list", "-v"}, {"show", goal}, {"doctor"}} {
		stdout, _, _ := s.run(command...)
		has(t, stdout, says)
	}
	_, _, err := s.run("cancel", goal, "it is lost")
	s.Must(err)
	for _, command := range [][]string{{"list", "-v"}, {"doctor"}} {
		if stdout, _, _ := s.run(command...); strings.Contains(stdout, "is lost") {
			t.Errorf("after the end of its goal %s says %s", command[0], stdout)
		}
	}
}

// What does not run is named as such, whatever the blackboard knows of it.
func TestWaitsForWhatDoesNotRun(t *testing.T) {
	s := newStage(t)
	units := s.staff()
	s.Must(s.board.Cub.Beat(t.Context(), "lint", "i-lint", time.Microsecond))
	goal := s.Goal("the goal")
	s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
	_, _, err := s.run("wait", goal, "--timeout", "1ms")
	has(t, young(err.Error()), "lint has to bid on claim ", " (silent for 0s)")
	if got := s.detailed().Details; got[1].Name != "lint" || got[1].State != instance.AgentSilent || got[0].State != instance.AgentIdle || got[1].BidsDue != 1 {
		t.Errorf("%+v", got)
	}
	s.Must(units.Stop(t.Context(), runtime.AgentUnit("lint"), 0))
	_, _, err = s.run("wait", goal, "--timeout", "1ms")
	has(t, err.Error(), "lint has to bid on claim ", " (is not running)")
	if got := s.detailed(); got.Details[1].State != instance.AgentStopped || got.Details[1].Unit != "" || got.State != status.Degraded {
		t.Errorf("%+v", got)
	}
	s.Must(s.board.Leader.RenewLead(t.Context(), blackboard.Lead{Holder: "test", Epoch: s.Epoch}, 0))
	goal = s.Goal("another")
	_, _, err = s.run("wait", goal, "--timeout", "1ms")
	has(t, err.Error(), "(nobody leads")
	s.Must(units.Stop(t.Context(), runtime.ComponentOrchestrator, 0))
	_, _, err = s.run("wait", goal, "--timeout", "1ms")
	has(t, err.Error(), "to open a claim on GoalDefined "+words.Short(goal)+" (is being restarted)") // by the keeper
}

// What agents do is shown with their units.
func TestListDetails(t *testing.T) {
	s := newStage(t)
	s.staff()
	_, claim := granted(s)
	s.begin(claim, "writer")
	_, _ = granted(s)
	got := s.detailed()
	d := got.Details[0]
	if d.Name != "writer" || d.State != instance.AgentWorking || d.Queued != 1 || d.Unit == "" || d.Since.IsZero() || d.Strategy != "reuse" ||
		len(d.Works) != 1 || d.Works[0].ClaimID != claim || d.Works[0].Attempt != 1 || d.Works[0].Workspace != blackboard.ReadWrite {
		t.Errorf("%+v", d)
	}
	if d := got.Details[2]; d.Replicas != 2 || d.Strategy != config.StrategyFreshPerCall || d.Works == nil {
		t.Errorf("%+v", d)
	}
	stdout, _, err := s.run("list", "-v")
	s.Must(err)
	has(t, young(stdout), "\nstage\n", "  writer  working  claim "+words.Short(claim)+" for 0s; 1 queued  pid ", "  lint    idle ")
}

// Of a heap of open work the oldest is looked at, and the rest counted.
func TestWaitsOfMuch(t *testing.T) {
	s := newStage(t)
	s.staff()
	first := s.Goal("the goal")
	s.fill(view.MostOpen + 5)
	if r := s.detailed(); len(r.Waits) != view.MostOpen || r.WaitsMore != 6 || r.Waits[0].SubjectID != first {
		t.Errorf("%d waits, %d more", len(r.Waits), r.WaitsMore)
	}
	stdout, _, err := s.run("list", "-v")
	s.Must(err)
	has(t, stdout, "and what 6 more wait for")
	_, _, err = s.run("wait", first, "--timeout", "1ms")
	has(t, err.Error(), "the orchestrator has to open a claim on GoalDefined "+words.Short(first))
	if strings.Contains(err.Error(), "more") {
		t.Errorf("another goal's are counted: %v", err)
	}
}

// TestGoldenListDetails: what list -v prints of an instance that runs is held by
// files, as what other commands print.
func TestGoldenListDetails(t *testing.T) {
	s := newStage(t)
	s.staff()
	s.tell()
	s.holds(blackboard.Standard)
	s.reviewable()
	_, claim := granted(s)
	s.begin(claim, "writer")
	granted(s)
	s.write("sizes", fmt.Sprintf(`{"measured_at": %q, "store_bytes": 40960, "store_shared_bytes": 1500000000, "tree_bytes": {"writer": 8192, "lint": 4096}}`,
		time.Now().UTC().Format(time.RFC3339Nano)))
	s.Must(os.MkdirAll(filepath.Join(s.store().Dir, "info"), 0o700))
	s.Must(os.Rename(filepath.Join(s.root, "sizes"), repository.SizesFile(s.store().Dir)))
	mask := s.masking()
	for _, form := range forms {
		stdout, stderr, err := s.run("list", "-v", "-o", form)
		if err != nil || form != "table" && stderr != "" {
			t.Errorf("-o %s: %v: %s", form, err, stderr)
		}
		golden(t, "golden/list-verbose."+strings.Replace(form, "table", "txt", 1), mask(stdout))
	}
}

// TestListShowsOneLine: a reason of several lines, as a program wrote it, is one line of list.
func TestListShowsOneLine(t *testing.T) {
	s := newStage(t)
	s.staff()
	const trouble = "first line\nsecond line\r\nthird line"
	s.Must(s.board.Cub.Hello(t.Context(), "lint", blackboard.Presence{Incarnation: "i-lint", Trouble: trouble}, blackboard.MostPromised))
	claim := s.open(s.Goal("the goal"), blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
	s.Must(s.board.Cub.Withhold(t.Context(), claim, "lint", blackboard.WithheldBudget, trouble))
	stdout, stderr, err := s.run("list", "-v")
	s.Must(err)
	shown := 0
	for line := range strings.Lines(stdout + stderr) {
		if strings.Contains(line, "second line") {
			shown++
			has(t, line, "first line", "third line")
		}
	}
	if shown < 2 {
		t.Errorf("the reasons are not shown:\n%s%s", stdout, stderr)
	}
}

// stirring is an index by which something happens while open work is read first.
type stirring struct {
	view.Index
	reads     atomic.Int32
	meanwhile func()
}

func (s *stirring) OpenWork(ctx context.Context) (blackboard.Work, error) {
	if s.reads.Add(1) == 1 {
		s.meanwhile()
	}
	return s.Index.OpenWork(ctx)
}

// Waits that were read before an event was shown are not told behind it: they are read anew.
func TestNoLateWaits(t *testing.T) {
	s := newStage(t)
	s.staff()
	goal := s.Goal("the goal")
	s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	on := term.New(role.Env{Lookup: func(string) (string, bool) { return "", false }, Stderr: io.Discard, Now: time.Now})
	in, err := instance.LoadInstance(s.dir())
	s.Must(err)
	board := instance.BoardOf(s.board)
	var out output
	a := &app{Terminal: on, at: instance.New(&on, instance.Flags{Name: "stage"})}
	v := a.ledgerView(board, in, &out)
	index := &stirring{Index: board.Index.Index, meanwhile: v.stir}
	board.Index.Index = index
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go v.tellWaits(ctx)
	s.Until("waits", func() bool { return out.String() != "" })
	if index.reads.Load() < 2 {
		t.Errorf("waits of before an event were told: %s", out.String())
	}
}
