package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/prompt"
	"sett/contract/tool"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	"sett/roles/role/gateway"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Execution is how the tool ran.
type Execution struct {
	Phase     blackboard.Phase `json:"phase"`
	Directory string           `json:"directory"`
	Start     string           `json:"start,omitempty"` // the commit that its private tree started from; absent: it has none
	Stdin     json.RawMessage  `json:"stdin"`
	ExitCode  int              `json:"exit_code"` // -1 when there was none
	Signal    string           `json:"signal,omitempty"`
	TimedOut  bool             `json:"timed_out,omitempty"`
	Stdout    string           `json:"stdout"`
	Stderr    string           `json:"stderr"`
	Took      float64          `json:"took_seconds"`
}

// Artefact is the artefact that would have been written.
type Artefact struct {
	StructuralType  blackboard.StructuralType `json:"structural_type"`
	Type            string                    `json:"type"`
	Payload         string                    `json:"payload"`
	Summary         string                    `json:"summary"`
	Metadata        json.RawMessage           `json:"metadata,omitempty"`
	SourceArtefacts []string                  `json:"source_artefacts"`
	Verdict         blackboard.Verdict        `json:"verdict,omitempty"` // of a Review
	Commit          string                    `json:"commit,omitempty"`  // that it names, whole
}

// Problem is why a run would have ended as a Failure, or why there is no bid.
type Problem struct {
	Type   string `json:"type"` // of the Failure; bid: there was no bid
	Reason string `json:"reason"`

	withheld bool // there is no bid because the call for it was withheld
}

// noBid is the type of a problem without a bid, which is no Failure: the agent ignores the
// claim, or has it wait.
const noBid = "bid"

const tryBidTimeout = 30 * time.Second // as in the cub

// bid evaluates the agent's bid as its cub does.
func (t *Trial) bid(ctx context.Context) error {
	r := &t.report
	switch {
	case len(t.Extra) > 0:
		r.Bid, r.BidReason = blackboard.BidExclusive, "a rework is granted without bidding"
	case len(t.Agent.Bids) == 0 && len(t.Agent.BidScript) > 0 && t.Target.ProducedByAgent == t.Agent.Name:
		r.Bid, r.BidReason = blackboard.BidIgnore, "its own work"
	case len(t.Agent.Bids) == 0 && len(t.Agent.BidScript) > 0:
		return t.bidByScript(ctx)
	default:
		choice := config.ChooseBid(t.Agent, blackboard.Target{
			LogicalID: t.Target.LogicalID, Version: t.Target.Version, Type: t.Target.Type, Agent: t.Target.ProducedByAgent, Role: t.Target.ProducedByRole})
		r.Bid, r.BidReason = choice.Bid, choice.Reason
		if choice.Rule != "" {
			r.BidReason = fmt.Sprintf("%q in line %d of %s", choice.Rule, choice.Line, instance.ConfigName)
		}
		if choice.Bid == config.BidModel {
			return bidByModel(ctx, t)
		}
	}
	return nil
}

// bidByScript runs the bid script. If it fails, the bid is ignore, as in a running
// instance; here the report names the fault as well.
func (t *Trial) bidByScript(ctx context.Context) error {
	stdin, err := tool.EncodeBid(t.Target, t.Claim, t.Chain)
	if err != nil {
		return err
	}
	dir := inside(t)
	if t.Agent.Resolved.Pin != "" {
		dir = pinnedDir(t)
	}
	res, err := exec(ctx, t, toolrun.Command{
		Args: t.own(t.Agent.BidScript), Dir: dir, Stdin: stdin, Timeout: tryBidTimeout, Limit: 64 << 10, Stderr: said(t, "bid script"),
	}, varsOf(t, "", 0), nil)
	if res.Cancelled {
		return term.Interrupted("interrupted; nothing was recorded")
	}
	var bid blackboard.BidType
	switch {
	case err != nil:
	case res.TimedOut:
		err = fmt.Errorf("bid script took longer than %s", tryBidTimeout)
	case res.ExitCode != 0:
		err = fmt.Errorf("bid script ended with exit code %d %s", res.ExitCode, res.Signal)
	default:
		bid, err = tool.ParseBid(res.Stdout)
	}
	t.report.Bid, t.report.BidReason = bid, "bid script"
	if err != nil {
		t.report.Bid, t.report.BidReason = blackboard.BidIgnore, err.Error()
		t.report.Problem = &Problem{Type: noBid, Reason: err.Error()}
	}
	return nil
}

// stdin is the text that the tool reads, from the contract's JSON.
func (t *Trial) stdin(in tool.Input, contract []byte) []byte {
	if t.Agent.Adapter.Stdin != config.StdinPrompt {
		return tool.Stdin(t.Agent.Adapter, contract, t.Target)
	}
	task := prompt.Task{
		Role: t.Agent.Role, Instructions: t.Agent.Prompts.Execution, Input: in, Form: prompt.FormOf(t.Agent.Adapter), Makes: t.Agent.Adapter.Makes,
		Final: t.Agent.Adapter.Terminal && in.ClaimType == blackboard.BidExclusive,
	}
	if in.Workspace != nil {
		task.Files = role.TreeFiles(t.place.dir)
	}
	return []byte(prompt.New(task).Text())
}

// run runs the tool and reads its output.
func (t *Trial) run(ctx context.Context, phase blackboard.Phase) error {
	in := tool.Input{ClaimType: phase.Bid(), Target: t.Target, ContextChain: t.Chain, Workspace: t.place.start}
	stdin, err := in.Encode()
	if err != nil {
		return err
	}
	r := &Execution{Phase: phase, Directory: inside(t), Stdin: json.RawMessage(stdin), ExitCode: -1}
	where := r.Directory + ", an empty directory"
	if t.place.start != nil {
		r.Start = t.place.start.Commit
		where = fmt.Sprintf("%s, a private tree at %s", r.Directory, words.Commit(r.Start))
	}
	t.say("runs in", where)
	if given := t.stdin(in, stdin); !bytes.Equal(given, stdin) {
		stdin = given
		if r.Stdin, err = json.Marshal(string(given)); err != nil {
			return err
		}
	}
	t.report.Run = r
	t.say("stdin", fmt.Sprintf("%d bytes, %s of context%s", len(stdin), words.Count(len(t.Chain), "artefact"), map[bool]string{false: "; -v shows it"}[t.Verbose]))
	if t.Verbose && t.Form.ForPeople() {
		t.Printf("%s\n", words.Indent(role.CleanText(string(stdin)), "    "))
	}
	res, err := runWithModel(ctx, t, toolrun.Command{
		Args: t.own(t.Agent.Command), Dir: r.Directory, Stdin: stdin, Timeout: t.Agent.Timeout, Stderr: said(t, t.Agent.Name),
	}, varsOf(t, phase.Bid(), t.attempt))
	if place := (*role.Error)(nil); errors.As(err, &place) { // it is no fault of the tool
		return err
	}
	over := (*gateway.OverBudget)(nil)
	if !errors.As(err, &over) && res.Cancelled {
		return term.Interrupted("interrupted; nothing was recorded")
	}
	took := res.Reaped.Sub(res.Started)
	r.ExitCode, r.Signal, r.TimedOut, r.Took = res.ExitCode, res.Signal, res.TimedOut, took.Seconds()
	r.Stdout, r.Stderr = string(res.Stdout), string(res.Stderr)
	if err == nil || over != nil {
		t.say("exit", fmt.Sprintf("%s after %s", cmp.Or(res.Signal, fmt.Sprint(res.ExitCode)), words.Span(took)))
	}
	out, err := t.interpret(ctx, phase, res, err)
	if err != nil {
		t.report.Problem = &Problem{Type: tool.FailureType(err), Reason: err.Error()}
		if len(res.Stdout) > 0 && !t.Quiet {
			t.say("stdout", fmt.Sprintf("%d bytes", res.StdoutSize))
			if t.Form.ForPeople() {
				t.Printf("%s\n", words.Indent(view.Tail(role.CleanText(string(res.Stdout)), 20), "    "))
			}
		}
	} else {
		t.report.Artefact = t.artefact(out)
		if killed := res.MemoryKill.Text(); killed != "" {
			t.say("note", killed)
		}
	}
	t.changes(ctx, r)
	return nil
}

// interpret returns the tool's output, or the reason of a Failure. It checks in the
// cub's order.
func (t *Trial) interpret(ctx context.Context, phase blackboard.Phase, res toolrun.Result, err error) (tool.Output, error) {
	if err != nil {
		return tool.Output{}, err
	}
	out, err := tool.Read(t.Agent.Adapter, phase, tool.End{
		ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, OutOfMemory: res.OutOfMemory, MemoryKill: res.MemoryKill, Timeout: t.Agent.Timeout, Call: t.waited, Model: cubOf(t).Asks.Model,
		Command: t.Agent.Command, Stdout: res.Stdout, Stderr: res.Stderr, StdoutSize: res.StdoutSize, StdoutTruncated: res.StdoutTruncated,
	})
	switch {
	case err != nil:
	case t.Agent.Adapter.Kind == config.AdapterCommit:
		out, err = t.commit(ctx, out)
	case out.Commit == tool.Changes:
		out, err = out.Changed(t.Agent.Commits, func(out tool.Output) (tool.Output, error) { return t.commit(ctx, out) })
	default:
		var modules []string
		out, err = tool.Commits(out, t.Agent.Commits, func(part, hash string) (commit string, err error) {
			commit, modules, err = t.take(ctx, part, hash, out.Rebased)
			return commit, err
		})
		if err == nil {
			t.noteModules(modules)
			out, err = out.Beside(modules)
		}
	}
	return out, err
}

func (t *Trial) artefact(out tool.Output) *Artefact {
	a := &Artefact{
		StructuralType: out.StructuralType, Type: out.Type, Payload: out.Payload, Summary: out.Summary, Metadata: out.Metadata, Commit: out.Commit,
		SourceArtefacts: append([]string{t.Target.ID}, t.Extra...),
	}
	if a.StructuralType == blackboard.Terminal && !slices.Contains(a.SourceArtefacts, t.Target.WorkflowID) {
		a.SourceArtefacts = append(a.SourceArtefacts, t.Target.WorkflowID)
	}
	if a.StructuralType == blackboard.Review {
		a.Verdict = blackboard.VerdictOf(a.Payload)
	}
	return a
}

// changes reports the tool's commits, and the files that changed or were left uncommitted.
func (t *Trial) changes(ctx context.Context, r *Execution) {
	if t.Agent.Workspace.Mode != blackboard.ReadWrite {
		return
	}
	if t.place.made == "" {
		left, err := t.place.tree.Look(ctx, r.Start, store.Artefact("left"))
		if err != nil {
			t.say("note", role.Clean(err.Error()))
		}
		t.report.Commits, t.report.LeftDirty = left.Commits, left.Files
		return
	}
	g := git.At(t.Environ(), t.place.store.Dir)     // all of it is committed
	g.Environ = append(g.Environ, "GIT_DIR="+g.Dir) // git may be told to find no bare repository by itself
	lines := func(args ...string) []string {
		out, err := g.Run(ctx, args...)
		if err != nil || out == "" {
			return nil
		}
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	from := cmp.Or(t.place.start.Before, r.Start) // the commit has the work before a question, too
	t.report.Commits = lines("log", "--reverse", "--format=%h %s", from+".."+t.place.made)
	t.report.Changed = lines("-c", "core.quotePath=false", "diff", "--name-status", "--no-renames", "--no-ext-diff", from, t.place.made)
}
