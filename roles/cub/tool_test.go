package cub

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
)

// failing is a tool that fails, and how.
type failing struct {
	command, timeout string
	typ              string // default: ToolExecutionFailure
	reason           string // part of it
	want             blackboard.FailureReport
}

func toolsThatFail() map[string]failing {
	const quick = "1s" // by which a shell has begun
	return map[string]failing{
		"non-zero exit": {command: shell("echo said; echo complained >&2; exit 3"), reason: "exit code 3",
			want: blackboard.FailureReport{ExitCode: 3, Stdout: "said\n", Stderr: "complained\n"}},
		"good output but non-zero exit": {command: shell("echo '" + good + "'; exit 1"), reason: "exit code 1",
			want: blackboard.FailureReport{ExitCode: 1, Stdout: good + "\n"}},
		"not JSON": {command: shell("echo invalid json"), reason: "parse tool output",
			want: blackboard.FailureReport{Stdout: "invalid json\n"}},
		"two objects": {command: shell("echo '{} {}'"), reason: "expected exactly one",
			want: blackboard.FailureReport{Stdout: "{} {}\n"}},
		"partial JSON": {command: shell(`printf '{"artefact_'`), reason: "breaks off",
			want: blackboard.FailureReport{Stdout: `{"artefact_`}},
		"empty output": {command: shell("echo nothing >&2"), reason: "stdout is empty",
			want: blackboard.FailureReport{Stderr: "nothing\n"}},
		"wrong schema": {command: shell(`echo '{"foo":1}'`), reason: "artefact_type",
			want: blackboard.FailureReport{Stdout: "{\"foo\":1}\n"}},
		"timeout": {command: shell("echo begun; exec sleep 300"), timeout: quick, reason: "longer than " + quick,
			want: blackboard.FailureReport{ExitCode: -1, Signal: "SIGTERM", TimedOut: true, Stdout: "begun\n"}},
		"SIGTERM ignored": {command: shell("trap '' TERM; while :; do sleep 0.02; done"), timeout: quick, reason: "longer than",
			want: blackboard.FailureReport{ExitCode: -1, Signal: "SIGKILL", TimedOut: true}},
		"good output after the timeout": {command: shell("exec 2>/dev/null; trap 'echo \"$out\"; exit 0' TERM; out='" + good + "'; while :; do sleep 0.02; done"),
			timeout: quick, reason: "longer than", want: blackboard.FailureReport{TimedOut: true, Stdout: good + "\n"}},
		"killed":          {command: shell("kill -9 $$"), reason: "SIGKILL", want: blackboard.FailureReport{ExitCode: -1, Signal: "SIGKILL"}},
		"unknown command": {command: `["no-such-tool"]`, reason: "no-such-tool", want: blackboard.FailureReport{ExitCode: -1}},
		"unknown file":    {command: `["/no/such/tool"]`, reason: "/no/such/tool", want: blackboard.FailureReport{ExitCode: -1}},
		"a goal of its own": {command: says(`{"artefact_type":"GoalDefined","artefact_payload":"x","summary":""}`),
			typ: blackboard.TypeContractViolation, reason: "GoalDefined"},
		"review without review grant": {command: says(`{"structural_type":"Review","payload":"{}"}`),
			typ: blackboard.TypeContractViolation, reason: `"Review" is not allowed`},
		"answer": {command: says(`{"structural_type":"Answer","payload":"x"}`),
			typ: blackboard.TypeContractViolation, reason: `"Answer" is not allowed`},
	}
}

// What can go wrong with a tool (m2.3-work-execution.md, 6.1 to 6.3) ends in a
// Failure that says what happened, and the cub goes on.
func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	for name, tc := range toolsThatFail() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := strings.ReplaceAll(strings.ToLower(name), " ", "-")
			v := vars{env.Command: tc.command}
			if tc.timeout != "" {
				v[env.Timeout] = tc.timeout
			}
			r := c.start(agent, v)
			claim := c.work(agent, blackboard.PhaseExclusive, "goal")
			a, got := c.failure(claim, agent)
			want := tc.want
			want.Reason, want.Agent, want.Attempt = got.Reason, agent, 1
			want.StdoutSize, want.StderrSize = int64(len(want.Stdout)), int64(len(want.Stderr))
			if tc.typ == blackboard.TypeContractViolation {
				want.Stdout, want.StdoutSize = got.Stdout, got.StdoutSize
			} else {
				tc.typ = blackboard.TypeToolExecutionFailure
			}
			if !reflect.DeepEqual(got, want) || !strings.Contains(got.Reason, tc.reason) || strings.Contains(got.Reason, "\n") {
				t.Errorf("got  %+v\nwant %+v with a reason like %q", got, want, tc.reason)
			}
			if a.Type != tc.typ || a.Summary != got.Reason || a.ClaimID != claim {
				t.Errorf("artefact %+v", a)
			}
			failed := r.log.await(t, "tool failed", "claim", claim)
			if !strings.Contains(failed.text("error"), tc.reason) || failed.text("stdout") != got.Stdout || failed.text("stderr") != got.Stderr {
				t.Errorf("logged %v", failed)
			}
			second := c.work(agent, blackboard.PhaseExclusive, "another goal")
			c.failure(second, agent)
		})
	}
}

// A tool may do with its stdin, stdout and children what it likes.
func TestToolsThatSucceed(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	megabyte := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		goal, command         string
		payload, typ, summary string
		structural            blackboard.StructuralType
	}{
		"stdin read to its end":    {goal: "g", command: shell("cat >/dev/null; echo '" + good + "'")},
		"two lines wanted":         {goal: "g", command: shell("read a; read b; echo '" + good + "'")},
		"stdin read line by line":  {goal: "g", command: shell("while read l; do :; done; echo '" + good + "'")},
		"stdin not read, 1 MB":     {goal: megabyte, command: shell("echo '" + good + "'")},
		"empty goal":               {goal: "", command: says(good)},
		"empty payload":            {goal: "g", command: says(`{"artefact_type":"Note","artefact_payload":"","summary":"all of it"}`), payload: "-"},
		"1 MB in":                  {goal: megabyte, command: shell(`test $(wc -c) -gt 1048576 && echo '` + good + `'`)},
		"1 MB out":                 {goal: "g", payload: megabyte, command: shell(`printf '{"artefact_type":"Note","summary":"all of it","artefact_payload":"'; head -c 1048576 /dev/zero | tr '\0' x; printf '"}'`)},
		"white space around":       {goal: "g", command: shell("printf ' \n\t%s\n\n' '" + good + "'")},
		"noise on stderr":          {goal: "g", command: shell("echo '{\"not\": \"this\"}' >&2; echo '" + good + "'")},
		"unknown fields":           {goal: "g", command: says(`{"artefact_type":"Note","artefact_payload":"done","summary":"all of it","x":[1]}`)},
		"payload is not a string":  {goal: "g", command: says(`{"artefact_type":"Note","artefact_payload":{"a": [1, 2]},"summary":"all of it"}`), payload: `{"a":[1,2]}`},
		"structural type Standard": {goal: "g", command: says(`{"structural_type":"Standard","artefact_type":"Note","payload":"done","summary":"all of it"}`)},
		"failure of its own": {goal: "g", command: says(`{"structural_type":"Failure","artefact_type":"Flood","payload":"done","summary":"all of it"}`),
			structural: blackboard.Failure, typ: "Flood"},
		"terminal": {goal: "g", command: says(`{"structural_type":"Terminal","artefact_type":"Note","payload":"done","summary":"all of it"}`),
			structural: blackboard.Terminal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			agent := "agent-" + strings.NewReplacer(" ", "-", ",", "").Replace(name)
			c.start(agent, vars{env.Command: tc.command, env.Role: "scribe"})
			claim := c.work(agent, blackboard.PhaseParallel, tc.goal)
			a := c.result(claim, agent)
			s, err := c.board.Records.Snapshot(c.ctx, claim)
			must(t, err)
			want := blackboard.Artefact{ID: a.ID, LogicalID: a.ID, Version: 1, StructuralType: tc.structural, Type: tc.typ, Payload: tc.payload,
				SourceArtefacts: []string{s.Claim.ArtefactID}, ProducedByRole: "scribe", ProducedByAgent: agent, ClaimID: claim,
				WorkflowID: s.Claim.WorkflowID, Summary: "all of it", Metadata: a.Metadata, CreatedAt: a.CreatedAt}
			switch tc.payload {
			case "":
				want.Payload = "done"
			case "-":
				want.Payload = ""
			}
			if want.Type == "" {
				want.Type = "Note"
			}
			if want.StructuralType == "" {
				want.StructuralType = blackboard.Standard
			}
			if got, want := show(a), show(want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %.400s\nwant %.400s", got, want)
			}
			if g, _ := s.Grant(agent); g.ToolTime <= 0 || g.ToolTime > time.Minute {
				t.Errorf("tool time %v", g.ToolTime)
			}
		})
	}
}

// A child in the background that holds stdout does not hold the cub up, and does
// not outlive the tool.
func TestGrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell("sleep 300 & echo $! >pid; echo '" + good + "'"), env.Timeout: "1m"})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	if a := c.result(claim, "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, "pid"))
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	must(t, err)
	until(t, "the grandchild is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// Of 100 MB on stdout 10 MiB are kept, and the Failure says how much there was.
// The test is not parallel: it measures memory.
func TestFloodOfOutput(t *testing.T) {
	c := newClan(t)
	const size = 100 << 20
	c.start("worker", vars{env.Command: shell("yes | head -c " + strconv.Itoa(size))})
	stopMeasuring, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var m runtime.MemStats
		for highest := uint64(0); ; {
			select {
			case <-tick.C:
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			case <-stopMeasuring:
				most <- highest
				return
			}
		}
	}()
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	g := c.await(claim, "worker", blackboard.GrantDone, blackboard.GrantFailed)
	close(stopMeasuring)
	if m := <-most; m > 120<<20 {
		t.Errorf("%d MiB on the heap", m>>20)
	}
	if g.State != blackboard.GrantFailed {
		t.Fatalf("the grant is %s", g.State)
	}
	_, r := c.failure(claim, "worker")
	if r.StdoutSize != size || len(r.Stdout) > blackboard.MaxCapture || len(r.Stdout) < blackboard.MaxCapture-100 || !strings.Contains(r.Reason, strconv.Itoa(size)) {
		t.Errorf("size %d, %d bytes kept, reason %q", r.StdoutSize, len(r.Stdout), r.Reason)
	}
}

// A target that cannot be read fails the work, and says why.
func TestTargetUnreadable(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	missing, corrupt := c.work("worker", blackboard.PhaseExclusive, "goal"), c.work("worker", blackboard.PhaseExclusive, "goal")
	for _, claim := range []string{missing, corrupt} {
		s, err := c.board.Records.Snapshot(c.ctx, claim)
		must(t, err)
		if claim == missing {
			c.do("DEL", key("artifact:"+s.Claim.ArtefactID))
		} else {
			c.do("HDEL", key("artifact:"+s.Claim.ArtefactID), "created_at")
		}
	}
	r := c.start("worker", vars{env.Command: shell("touch ran; echo '" + good + "'")})
	if _, f := c.failure(missing, "worker"); !strings.Contains(f.Reason, "not found") || f.ExitCode != -1 {
		t.Errorf("missing target: %+v", f)
	}
	if _, f := c.failure(corrupt, "worker"); !strings.Contains(f.Reason, "field created_at: missing") || f.ExitCode != -1 {
		t.Errorf("corrupt target: %+v", f)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("the tool was run")
	}
}
