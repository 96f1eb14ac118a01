package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cub/toolrun"
	"sett/roles/cub/worktree"
	"sett/roles/role"
)

// runReport is how the tool ran.
type runReport struct {
	Phase     blackboard.Phase `json:"phase"`
	Directory string           `json:"directory"`
	CloneOf   string           `json:"clone_of,omitempty"` // the commit, when it ran in a clone
	Stdin     json.RawMessage  `json:"stdin"`
	ExitCode  int              `json:"exit_code"` // -1 when there was none
	Signal    string           `json:"signal,omitempty"`
	TimedOut  bool             `json:"timed_out,omitempty"`
	Stdout    string           `json:"stdout"`
	Stderr    string           `json:"stderr"`
	Took      float64          `json:"took_seconds"`
}

// trialArtefact is the artefact that would have been written.
type trialArtefact struct {
	StructuralType  blackboard.StructuralType `json:"structural_type"`
	Type            string                    `json:"type"`
	Payload         string                    `json:"payload"`
	Summary         string                    `json:"summary"`
	Metadata        json.RawMessage           `json:"metadata,omitempty"`
	SourceArtefacts []string                  `json:"source_artefacts"`
	Verdict         blackboard.Verdict        `json:"verdict,omitempty"` // of a Review
}

// trialProblem is why a run would have ended as a Failure.
type trialProblem struct {
	Type   string `json:"type"` // of the Failure
	Reason string `json:"reason"`
}

const tryBidTimeout = 30 * time.Second // as in the cub

// bid evaluates the agent's bid as its cub does.
func (t *trial) bid(ctx context.Context) error {
	r := &t.report
	switch {
	case len(t.extra) > 0:
		r.Bid, r.BidReason = blackboard.BidExclusive, "a rework is granted without bidding"
	case len(t.agent.Bids) == 0 && len(t.agent.BidScript) > 0 && t.target.ProducedByAgent == t.agent.Name:
		r.Bid, r.BidReason = blackboard.BidIgnore, "its own work"
	case len(t.agent.Bids) == 0 && len(t.agent.BidScript) > 0:
		return t.bidByScript(ctx)
	default:
		r.Bid, r.BidReason = config.ChooseBid(t.agent, blackboard.Target{
			LogicalID: t.target.LogicalID, Version: t.target.Version, Type: t.target.Type, Agent: t.target.ProducedByAgent, Role: t.target.ProducedByRole})
		if r.BidReason == "" {
			r.BidReason = "bids of " + configName
		}
	}
	return nil
}

// bidByScript runs the bid script. What it does wrong makes the bid ignore, as in
// life, but is a problem here: that is what trying is for.
func (t *trial) bidByScript(ctx context.Context) error {
	stdin, err := tool.EncodeBid(t.target, t.claim, t.chain)
	if err != nil {
		return err
	}
	res, err := toolrun.New().Run(ctx, toolrun.Command{
		Args: t.agent.BidScript, Dir: t.root, Stdin: stdin, Timeout: tryBidTimeout, Limit: 64 << 10,
		Env: t.environ(t.root, "", 0), Stderr: &prefixed{t.Stderr, "bid script"},
	})
	if res.Cancelled {
		return interrupted("interrupted; nothing was recorded")
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
		t.report.Problem = &trialProblem{"bid", err.Error()}
	}
	return nil
}

// environ is the environment that the orchestrator and the cub would give the
// tool in local mode.
func (t *trial) environ(dir string, bid blackboard.BidType, attempt int) []string {
	c := env.Of(t.agent)
	c.Instance, c.Workspace, c.Incarnation = t.name, dir, t.NewID()
	vars := env.Inherited(t.Environ())
	for _, v := range t.agent.Environment {
		vars = append(vars, v.Name+"="+v.Value)
	}
	return env.ToolEnviron(append(vars, c.Environ()...), env.ToolVars{
		ClaimID: t.claim, ClaimType: string(bid), TargetID: t.target.ID, TargetType: t.target.Type, TargetPayload: t.target.Payload,
		TargetVersion: t.target.Version, Attempt: attempt,
	})
}

// run runs the tool and reads its output.
func (t *trial) run(ctx context.Context, c *tryCmd, phase blackboard.Phase) error {
	stdin, err := tool.Input{ClaimType: phase.Bid(), Target: t.target, ContextChain: t.chain}.Encode()
	if err != nil {
		return err
	}
	r := &runReport{Phase: phase, Stdin: json.RawMessage(stdin), ExitCode: -1}
	t.report.Run = r
	t.say(c, "stdin", fmt.Sprintf("%d bytes, %s of context%s", len(stdin), count(len(t.chain), "artefact"), map[bool]string{false: "; -v shows it"}[c.Verbose]))
	if c.Verbose && c.forPeople() {
		t.printf("%s\n", indent(cleanText(string(stdin)), "    "))
	}
	remove, err := t.directory(ctx, c, r)
	if err != nil {
		return err
	}
	defer remove()
	res, err := toolrun.New().Run(ctx, toolrun.Command{
		Args: t.agent.Command, Dir: r.Directory, Stdin: stdin, Timeout: t.agent.Timeout, Env: t.environ(r.Directory, phase.Bid(), 1),
		Stderr: &prefixed{t.Stderr, t.agent.Name},
	})
	if res.Cancelled {
		return interrupted("interrupted; nothing was recorded")
	}
	took := res.Reaped.Sub(res.Started)
	r.ExitCode, r.Signal, r.TimedOut, r.Took = res.ExitCode, res.Signal, res.TimedOut, took.Seconds()
	r.Stdout, r.Stderr = string(res.Stdout), string(res.Stderr)
	if err == nil {
		t.say(c, "exit", fmt.Sprintf("%s after %s", orElse(res.Signal, fmt.Sprint(res.ExitCode)), span(took)))
	}
	out, err := t.interpret(ctx, phase, res, err)
	if err != nil {
		t.report.Problem = &trialProblem{tool.FailureType(err), err.Error()}
		if len(res.Stdout) > 0 {
			t.say(c, "stdout", fmt.Sprintf("%d bytes", res.StdoutSize))
			if c.forPeople() {
				t.printf("%s\n", indent(tail(cleanText(string(res.Stdout)), 20), "    "))
			}
		}
	} else {
		t.report.Artefact = t.artefact(out)
	}
	t.changes(ctx, r)
	return nil
}

// interpret turns a finished run into what the tool produced, or why that is a
// Failure; in the cub's order.
func (t *trial) interpret(ctx context.Context, phase blackboard.Phase, res toolrun.Result, err error) (tool.Output, error) {
	switch {
	case err != nil:
		return tool.Output{}, err
	case res.TimedOut:
		return tool.Output{}, fmt.Errorf("tool took longer than %s", t.agent.Timeout)
	case res.Signal != "":
		return tool.Output{}, fmt.Errorf("tool was ended by %s", res.Signal)
	case res.ExitCode != 0:
		return tool.Output{}, fmt.Errorf("tool ended with exit code %d", res.ExitCode)
	case res.StdoutTruncated:
		return tool.Output{}, fmt.Errorf("tool wrote %d bytes to stdout; at most %d are read", res.StdoutSize, blackboard.MaxCapture)
	}
	out, err := tool.ParseOutput(res.Stdout)
	if err == nil {
		out, err = tool.Interpret(phase, out)
	}
	if err == nil && out.Type == blackboard.TypeCodeCommit && out.StructuralType == blackboard.Standard {
		if e := worktree.New(t.report.Run.Directory).HasCommit(ctx, strings.TrimSpace(out.Payload)); e != nil {
			err = &tool.ViolationError{Reason: "CodeCommit: " + e.Error()}
		}
	}
	return out, err
}

func (t *trial) artefact(out tool.Output) *trialArtefact {
	a := &trialArtefact{
		StructuralType: out.StructuralType, Type: out.Type, Payload: out.Payload, Summary: out.Summary, Metadata: out.Metadata,
		SourceArtefacts: append([]string{t.target.ID}, t.extra...),
	}
	if a.StructuralType == blackboard.Terminal && !slices.Contains(a.SourceArtefacts, t.target.WorkflowID) {
		a.SourceArtefacts = append(a.SourceArtefacts, t.target.WorkflowID)
	}
	if a.StructuralType == blackboard.Review {
		a.Verdict = blackboard.VerdictOf(a.Payload)
	}
	return a
}

// directory settles where the tool runs: in the workspace, or in a clone of it
// that is removed afterwards.
func (t *trial) directory(ctx context.Context, c *tryCmd, r *runReport) (remove func(), err error) {
	r.Directory = t.root
	if t.agent.Workspace.Mode != blackboard.ReadWrite {
		t.say(c, "runs in", t.root)
		return func() {}, nil
	}
	g := t.repository(t.root)
	head := g.head(ctx)
	if head == "" {
		return nil, role.Fail(role.Usage, fmt.Errorf("agent %s may write, so it is tried in a clone of HEAD, and %s has no commit", t.agent.Name, t.root),
			`git init && git add -A && git commit -m "first commit"`)
	}
	top, err := os.MkdirTemp("", "sett-try-")
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("make a clone: %w", err), "")
	}
	remove = func() { _ = os.RemoveAll(top) }
	r.Directory, r.CloneOf = filepath.Join(top, filepath.Base(t.root)), head
	if err := t.clone(ctx, g, r.Directory); err != nil {
		remove()
		return nil, err
	}
	t.say(c, "runs in", fmt.Sprintf("%s, a throw-away clone of HEAD %s", r.Directory, commit(head)))
	if files, err := g.dirt(ctx); err == nil && len(files) > 0 {
		t.say(c, "note", fmt.Sprintf("%s not committed and so not in the clone: %s", count(len(files), "file"), paths(files, 5)))
	}
	if c.Keep {
		return func() { t.sayf("sett: the clone is kept in %s\n", r.Directory) }, nil
	}
	return remove, nil
}

// clone makes a clone that shares the repository's objects and cannot reach back
// to it.
func (t *trial) clone(ctx context.Context, g repository, dir string) error {
	if _, err := g.run(ctx, "clone", "--quiet", "--shared", "--", t.root, dir); err != nil {
		return err
	}
	clone := t.repository(dir)
	if _, err := clone.run(ctx, "remote", "remove", "origin"); err != nil {
		return err
	}
	for _, key := range []string{"user.name", "user.email"} { // the repository's own are not cloned
		if value, err := g.run(ctx, "config", key); err == nil {
			if _, err := clone.run(ctx, "config", key, strings.TrimSuffix(value, "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes looks at what the tool did to its clone.
func (t *trial) changes(ctx context.Context, r *runReport) {
	if r.CloneOf == "" {
		return
	}
	g := t.repository(r.Directory)
	if out, err := g.run(ctx, "log", "--reverse", "--format=%h %s", r.CloneOf+"..HEAD"); err == nil && out != "" {
		t.report.Commits = strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	if files, err := g.dirt(ctx); err == nil {
		for _, f := range files {
			t.report.LeftDirty = append(t.report.LeftDirty, f.path)
		}
	}
}
