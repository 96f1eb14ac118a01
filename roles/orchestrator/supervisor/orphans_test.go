package supervisor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

// notes are grants that keep the reason of each Failure; refusal refuses it.
type notes struct {
	reasons []string
	refusal error
}

func (n *notes) Fail(_ context.Context, _ blackboard.Claim, _ blackboard.Grant, r blackboard.FailureReport) (bool, error) {
	if n.refusal != nil {
		return false, n.refusal
	}
	n.reasons = append(n.reasons, r.Reason)
	return true, nil
}

func (n *notes) Retry(context.Context, blackboard.GrantRef, string) error { return nil }
func (n *notes) Decide(string)                                            {}

// An exit that could not be recorded is recorded with its own words by the next look for orphans, also when
// nothing else is left of its unit.
func TestExitIsRecordedLater(t *testing.T) {
	t.Parallel()
	grants := &notes{refusal: errors.New("ERR no")}
	running := []blackboard.Running{{Claim: "c", Agent: "a", Attempt: 1, Holder: "h"}}
	o := &Orphans{
		Log: slog.New(slog.DiscardHandler), Grants: grants, Incarnations: NewIncarnations(), Crashed: func(string) {},
		Config:  func() *config.Config { return &config.Config{Agents: []config.Agent{{Name: "a"}}} },
		Running: func(context.Context) ([]blackboard.Running, error) { return running, nil },
		Snapshot: func(_ context.Context, claim string) (blackboard.Snapshot, error) {
			return blackboard.Snapshot{Claim: blackboard.Claim{ID: claim}, Grants: []blackboard.Grant{{Agent: "a", State: blackboard.GrantRunning, Attempt: 1, Holder: "h"}}}, nil
		},
	}
	o.Settle(t.Context(), runtime.Exit{Code: 7, Text: "exit status 7", Unit: runtime.Unit{Labels: runtime.Labels{runtime.LabelIncarnation: "h"}}})
	o.Incarnations.forget("h")
	o.look(t.Context(), time.Now())
	grants.refusal = nil
	o.look(t.Context(), time.Now())
	if want := []string{"agent a died while it worked: exit status 7"}; !slices.Equal(grants.reasons, want) {
		t.Errorf("recorded %q, want %q", grants.reasons, want)
	}
	if left := o.Incarnations.debts(); len(left) > 0 {
		t.Errorf("still to be recorded: %q", left)
	}
}

// A unit that Sett ended did not die by itself, and needs no witness.
func TestEndedBySett(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]runtime.Exit{
		"agent a was ended while it worked: silent for 30s":                        {Why: "silent for 30s", Text: runtime.Unwatched},
		"agent a was ended while it worked: silent for 30s: signal: killed":        {Why: "silent for 30s", Text: "signal: killed"},
		"agent a died while it worked: " + runtime.Unwatched:                       {Text: runtime.Unwatched},
		"agent a died while it worked: signal: segmentation fault (out of memory)": {Text: "signal: segmentation fault", OOM: true},
	} {
		grants := &notes{}
		o := &Orphans{Log: slog.New(slog.DiscardHandler), Grants: grants, Crashed: func(string) {},
			Config: func() *config.Config { return &config.Config{Agents: []config.Agent{{Name: "a"}}} }}
		if err := o.crashed(t.Context(), blackboard.Claim{}, blackboard.Grant{Agent: "a"}, e); err != nil || !slices.Equal(grants.reasons, []string{want}) {
			t.Errorf("%q, want %q; %v", grants.reasons, want, err)
		}
	}
}

// The Failure of a cub that gave the blackboard up names that, the setting and the leftover.
func TestGaveUp(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Redis: config.Redis{GiveUp: 10 * time.Second}}
	now := time.Now()
	r := role.NewReachable(func() time.Time { return now }, 10*time.Second)
	r.Tried(true)
	now = now.Add(12300 * time.Millisecond)
	tail := `{"error":"` + r.Lost(errors.New("EOF")).Error() + `"}`
	for want, c := range map[string]struct {
		mode blackboard.WorkspaceMode
		exit runtime.Exit
	}{
		", since the blackboard did not answer for 12.3s (redis.give_up: 10s); changes of its tool are leftover 89ABCDEF/a-2": {blackboard.ReadWrite, runtime.Exit{Code: 7, Tail: tail}},
		", since the blackboard did not answer for 12.3s (redis.give_up: 10s)":                                                {blackboard.ReadOnly, runtime.Exit{Code: 7, Tail: tail}},
		"": {blackboard.ReadWrite, runtime.Exit{Code: 7, Tail: "no git"}},
	} {
		agent := config.Agent{Name: "a", Workspace: config.Workspace{Mode: c.mode}}
		if got := gaveUp(cfg, agent, "0123456789ABCDEF", 2, c.exit); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSignalOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"signal: killed": "SIGKILL", "silent for 30s: signal: terminated": "SIGTERM", "signal: aborted (core dumped)": "SIGABRT",
		"signal: segmentation fault: no space": "SIGSEGV", "exit status 137": "", "signal: no such": "", "": "",
	} {
		if got := signalOf(runtime.Exit{Text: text}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A Failure has of the log of a cub that died what its own tool wrote, and the cub's own words; nothing of other claims.
func TestWordsOn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	cub := slog.New(slog.NewJSONHandler(&log, nil)).With("component", "cub", "instance", "i", "agent", "a")
	mine, before, other := cub.With("claim", "C", "workflow", "W", "attempt", 2), cub.With("claim", "C", "workflow", "W", "attempt", 1), cub.With("claim", "D", "workflow", "V", "attempt", 2)
	log.WriteString("rest of a line of claim D, SECRET\"}\n")
	mine.Info("stderr", "source", "tool", "line", "  one \"quoted\" ä")
	for _, l := range []*slog.Logger{other, before} {
		l.Info("stderr", "source", "tool", "line", "SECRET")
		l.Error("tool failed", "error", "SECRET")
	}
	cub.Warn("notice ignored", "claim", "D", "error", "SECRET")
	cub.Info("SECRET", "artefact", "x")
	mine.Info("stdout", "source", "tool", "line", "two")
	mine.Warn("tool is slow", "n", 3)
	cub.With("claim", "C").Info("stderr", "source", "bid script", "line", "bids")
	mine.Info("stderr", "source", "tool", "line", "three")
	log.WriteString("panic: no memory\n\ntime=1 level=INFO msg=SECRET claim=D\n{\"time\":\"SECRET")
	got := wordsOn("C", 2, log.String())
	if got.stderr != "  one \"quoted\" ä\nthree\n" || got.stdout != "two\n" {
		t.Errorf("of the tool: %+v", got)
	}
	lines := strings.Split(strings.TrimSpace(got.log), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], " WARN tool is slow n=3") || !strings.HasSuffix(lines[1], ` INFO stderr line="bids" source="bid script"`) || lines[2] != "panic: no memory" {
		t.Errorf("of the cub: %q", lines)
	}
	if all := got.stdout + got.stderr + got.log; strings.Contains(all, "SECRET") {
		t.Errorf("of others: %s", all)
	}
}
