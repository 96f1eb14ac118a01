package cub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// TestProgramsWithoutTheContract: a check reviews by its exit code, and a filter makes its
// stdout a final result from the payload on its stdin.
func TestProgramsWithoutTheContract(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	checker := c.start("checker", vars{env.Command: shell(`cat >stdin; echo "line 3 is wrong" >&2; [ "$SETT_TARGET_PAYLOAD" != bad ]`),
		env.Adapter: `{"adapter":"check","stdin":"none"}`})
	for payload, want := range map[string]blackboard.Verdict{"good": blackboard.Approve, "bad": blackboard.Feedback} {
		claim := c.work("checker", blackboard.PhaseReview, payload)
		g := c.await(claim, "checker", blackboard.GrantDone, blackboard.GrantFailed)
		a := c.artefact(g.ResultID)
		if g.Verdict != want || a.StructuralType != blackboard.Review {
			c.t.Errorf("%s: verdict %q, %+v", payload, g.Verdict, a)
		}
		if want == blackboard.Feedback && a.Payload != `{"exit":1,"output":"line 3 is wrong\n"}` {
			c.t.Errorf("feedback %s", a.Payload)
		}
	}
	if b, err := os.ReadFile(filepath.Join(checker.dir, "stdin")); err != nil || len(b) > 0 {
		t.Errorf("its stdin: %q %v", b, err)
	}
	c.start("upper", vars{env.Command: shell("tr a-z A-Z"), env.Adapter: `{"adapter":"text","stdin":"payload","makes":["Loud"],"terminal":true}`})
	a := c.result(c.work("upper", blackboard.PhaseExclusive, "hello there"), "upper")
	if a.StructuralType != blackboard.Terminal || a.Type != "Loud" || a.Payload != "HELLO THERE" {
		t.Errorf("%+v", a)
	}
}

// TestToolsTalkOnStdout: stdout is logged while a check runs, and not where it is the result.
func TestToolsTalkOnStdout(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	checker := c.start("checker", vars{env.Command: shell(`echo "ok pkg/one"; until [ -e go ]; do sleep 0.01; done; echo; echo "FAIL pkg/two"; exit 1`), env.Adapter: `{"adapter":"check","stdin":"none"}`})
	claim := c.work("checker", blackboard.PhaseReview, "x")
	checker.log.await(t, "stdout", "source", "tool", "line", "ok pkg/one") // it goes on only when that was seen
	if err := os.WriteFile(filepath.Join(checker.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := c.artefact(c.await(claim, "checker", blackboard.GrantDone, blackboard.GrantFailed).ResultID)
	if a.Payload != `{"exit":1,"output":"ok pkg/one\n\nFAIL pkg/two\n"}` {
		t.Errorf("feedback %s", a.Payload)
	}
	checker.log.await(t, "stdout", "line", "FAIL pkg/two", "claim", claim)
	filter := c.start("upper", vars{env.Command: shell("echo said >&2; tr a-z A-Z"), env.Adapter: `{"adapter":"text","stdin":"payload","makes":["Loud"]}`})
	c.result(c.work("upper", blackboard.PhaseExclusive, "hello there"), "upper")
	filter.log.await(t, "stderr", "line", "said")
	if lines := filter.log.find(t, "stdout"); len(lines) > 0 {
		t.Errorf("logged %v", lines)
	}
}

// The reason at the end of an output above the limit is in a check's feedback, in a Failure and its output, and in the log.
func TestLastWordsOfALongOutput(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	long := `yes 0123456789abcde | head -c 12000000%s; echo "fatal error: LASTWORD"%[1]s; exit 1`
	checker := c.start("checker", vars{env.Command: shell(fmt.Sprintf(long, "")), env.Adapter: `{"adapter":"check","stdin":"none"}`})
	claim := c.work("checker", blackboard.PhaseReview, "x")
	a := c.artefact(c.await(claim, "checker", blackboard.GrantDone, blackboard.GrantFailed).ResultID)
	if !strings.HasSuffix(a.Payload, `fatal error: LASTWORD\n"}`) || a.Summary != "fatal error: LASTWORD" {
		t.Errorf("feedback %q: …%s", a.Summary, a.Payload[max(0, len(a.Payload)-100):])
	}
	checker.log.await(t, "stdout", "line", "fatal error: LASTWORD", "claim", claim)
	c.start("speaker", vars{env.Command: shell(fmt.Sprintf(long, " >&2"))})
	_, r := c.failure(c.work("speaker", blackboard.PhaseExclusive, "x"), "speaker")
	if !strings.HasSuffix(r.Reason, ": fatal error: LASTWORD") || !strings.HasSuffix(r.Stderr, "\nfatal error: LASTWORD\n") || r.StderrSize != 12000022 {
		t.Errorf("reason %q, %d bytes of stderr", r.Reason, r.StderrSize)
	}
}
