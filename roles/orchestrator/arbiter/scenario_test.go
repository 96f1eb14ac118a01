package arbiter

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scenarios")

// TestScenarios plays the claims written down in testdata. A file is a row of
// blocks: commands, a line of four dashes, what they print, an empty line. Lines
// that begin with # are comments. The commands:
//
//	policy clan=a,b [reviews=N] [limit=ask] [timeout=1m] [question=1h]    sett.yml
//	claim [origin=…] [bidders=a,b] [by=a] [version=N] [status=…] [bids=a:review,b:claim]
//	                                            a new claim, on an artefact by this agent
//	reject PERSON [by=a] [version=N]            the claim that a rejection at a gate opens
//	rework                                      the claim that the one before ended with
//	again                                       the claim by which a person tries it again
//	grant AGENT PHASE STATE [VERDICT]           a grant put there by hand
//	bid AGENT BID
//	withhold AGENT                              its bid waits for a call of its model
//	start AGENT
//	finish AGENT TYPE [VERDICT]                 hand in a result
//	answer AGENT · requeue AGENT · retry AGENT · crash AGENT
//	review PERSON VERDICT                       a person reviews
//	cancel                                      a person ends the claim
//	sleep 30s
//	hold · release                              decisions on the claim as it is now, whatever happens
//	decide                                      one decision, applied
//	run                                         decisions until there are none
//
// A move prints nothing when it is taken, else why it was refused.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(text))
			if got == string(text) {
				return
			}
			if !*update {
				t.Fatalf("%s does not come out as written (-update rewrites it); it is now\n%s", file, got)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// play runs a scenario and returns it with the output that its blocks really have.
func play(text string) string {
	b := &board{now: modelOpened}
	var out, block strings.Builder
	expected := false // inside of what a block is to print
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case expected:
			if expected = bare != ""; !expected {
				out.WriteString("\n")
			}
			continue
		case bare == "----":
			out.WriteString("----\n" + block.String())
			block.Reset()
			expected = true
			continue
		case bare != "" && bare[0] != '#':
			block.WriteString(b.command(strings.Fields(bare)))
		}
		out.WriteString(line)
	}
	return out.String() + block.String()
}

// command runs one line and returns what it prints.
func (b *board) command(f []string) string {
	switch f[0] {
	case "policy":
		return b.setPolicy(options(f[1:]))
	case "claim":
		return b.open(options(f[1:]))
	case "reject":
		b.open(options(f[2:]))
		b.s.Claim.ExpectedBidders = nil
		_ = b.review(f[1], blackboard.Feedback)
		return ""
	case "decide":
		return b.decide(1)
	case "run":
		return b.decide(20)
	case "hold":
		b.stale = b.s.Claim.Revision
		return ""
	case "release":
		b.stale = 0
		return ""
	}
	if err := b.move(append(f, "", "", "", "")); err != nil {
		return strings.Join(f, " ") + ": " + err.Error() + "\n"
	}
	return ""
}

// move makes a move by anybody but the arbiter.
func (b *board) move(f []string) error {
	agent := f[1]
	switch f[0] {
	case "bid":
		return b.bid(agent, blackboard.BidType(f[2]))
	case "withhold":
		b.s.Claim.Withheld = map[string]blackboard.Withheld{agent: {Kind: blackboard.WithheldPaused, Why: "paused", Since: b.now}}
		b.changed()
		return nil
	case "start":
		return b.start(agent)
	case "finish":
		return b.finish(agent, blackboard.StructuralType(f[2]), blackboard.Verdict(f[3]))
	case "answer":
		return b.requeue(agent, blackboard.GrantAwaitingAnswer)
	case "requeue":
		return b.requeue(agent, blackboard.GrantRunning)
	case "retry":
		return b.requeue(agent, blackboard.GrantQueued, blackboard.GrantRunning)
	case "crash":
		return b.crash(agent, "exit status 137")
	case "review":
		return b.review(agent, blackboard.Verdict(f[2]))
	case "cancel":
		return b.cancel()
	case "again":
		return b.again()
	case "rework":
		return b.openRework()
	case "sleep":
		d, err := time.ParseDuration(f[1])
		b.now = b.now.Add(d)
		return err
	case "grant":
		g := blackboard.Grant{Agent: agent, Phase: blackboard.Phase(f[2]), Attempt: 1, State: blackboard.GrantState(f[3]), QueuedAt: b.now}
		if g.State.Ended() {
			g.Verdict, g.ResultID = blackboard.Verdict(f[4]), "Review-"+agent+"-1"
		}
		b.put(g)
		b.changed()
		return nil
	}
	return fmt.Errorf("unknown command")
}

// options reads name=value pairs.
func options(f []string) map[string]string {
	o := map[string]string{}
	for _, pair := range f {
		name, value, _ := strings.Cut(pair, "=")
		o[name] = value
	}
	return o
}

// list reads names separated by commas.
func list(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(name string) bool { return name == "" })
}

func (b *board) setPolicy(o map[string]string) string {
	b.p = Policy{Clan: list(o["clan"])}
	b.p.MaxReviewIterations, _ = strconv.Atoi(o["reviews"])
	b.p.BidTimeout, _ = time.ParseDuration(o["timeout"])
	b.p.QuestionTimeout, _ = time.ParseDuration(o["question"])
	b.p.AskAtReviewLimit = o["limit"] == "ask"
	return ""
}

// open is open.lua, and the part of decide.lua that opens a rework.
func (b *board) open(o map[string]string) string {
	version, _ := strconv.Atoi(o["version"])
	b.failures, b.rework = 0, nil
	b.s = blackboard.Snapshot{Claim: blackboard.Claim{
		ID: "claim", ArtefactID: "artefact", Status: blackboard.PendingReview, Origin: blackboard.OriginArtefact,
		ExpectedBidders: b.p.Clan, Revision: 1, OpenedAt: b.now,
		Target: blackboard.Target{Agent: o["by"], Version: max(1, version), Type: "Draft"},
	}}
	if bidders, given := o["bidders"]; given {
		b.s.Claim.ExpectedBidders = list(bidders)
	}
	if status, given := o["status"]; given {
		b.s.Claim.Status = blackboard.ClaimStatus(status)
	}
	for _, bid := range list(o["bids"]) {
		agent, kind, _ := strings.Cut(bid, ":")
		b.s.Bids = append(b.s.Bids, blackboard.Bid{Agent: agent, Type: blackboard.BidType(kind)})
	}
	if origin := blackboard.ClaimOrigin(o["origin"]); origin != "" {
		b.s.Claim.Origin = origin
	}
	return ""
}

// decide takes and applies at most so many decisions, and tells of them.
func (b *board) decide(most int) string {
	var out strings.Builder
	for range most {
		d := Decide(b.s, b.p, b.now)
		out.WriteString(b.print(d))
		if d.Kind == Wait {
			return out.String()
		}
		if err := b.apply(d); err != nil {
			return out.String() + err.Error() + "\n"
		}
	}
	if most > 1 {
		out.WriteString("goes on for ever\n")
	}
	return out.String()
}

// print puts a decision into a line, and what goes with it into lines below.
func (b *board) print(d Decision) string {
	s := string(d.Kind)
	if d.Phase != "" {
		s += " " + string(d.Phase)
	}
	if len(d.Agents) > 0 {
		s += " " + strings.Join(d.Agents, ",")
	}
	if d.Closed {
		s += " closed"
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	s += "\n"
	if d.FailureType != "" {
		s += "  Failure " + d.FailureType + "\n"
	}
	if d.Rework != nil {
		s += "  rework by " + d.Rework.Agent + " with " + strings.Join(d.Rework.Context, ",") + "\n"
		if d.Rework.Ask != "" {
			s += "  ask first: " + d.Rework.Ask + "\n"
		}
	}
	if !d.AskAgain.IsZero() {
		s += fmt.Sprintf("  ask again in %s\n", d.AskAgain.Sub(b.now))
	}
	return s + printWaits(waitsOf(b.s, b.p, b.now, d))
}

func printWaits(waits []waitFor) string {
	s := ""
	for _, w := range waits {
		s += "  " + strings.TrimSpace(fmt.Sprintf("%s %s", w.What, w.Agent))
		if w.Subject != "" {
			s += " to " + w.Subject
		}
		s += fmt.Sprintf(" since %s\n", w.Since.Sub(modelOpened))
	}
	return s
}
