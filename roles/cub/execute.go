package cub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/tool"
	"sett/contract/trace"
	"sett/roles/cub/assemble"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// work is one running grant.
type work struct {
	blackboard.Started
	broken error // its records are not readable: the tool does not run
	ref    blackboard.GrantRef
	log    *slog.Logger
	tree   *tree         // nil: the tool has none, or none yet
	unseen []string      // of its Questions and Answers, those about budgets, which no tool sees
	denied bool          // a person was asked for more of a budget, and gave none
	joined []string      // the results of the claim's parallel phase, for the exclusive grant
	waited time.Duration // for its model, by a call that had no end at the tool's timeout
	left   []string      // parts of the task that the tool's prompt had no room for
}

// added lists the artefacts that the claim adds to the tool's context, in their order.
func (w *work) added() []string {
	all := slices.Concat(w.Claim.AdditionalContextIDs, w.joined, w.Grant.Settled)
	if w.Grant.Failure != "" {
		all = append(all, w.Grant.Failure)
	}
	for _, id := range w.Grant.Asked {
		if !slices.Contains(w.unseen, id) {
			all = append(all, id)
		}
	}
	return all
}

// outcome is the end of a run: a result to record, or the reason for none.
type outcome struct {
	artefact blackboard.Artefact
	verdict  blackboard.Verdict
	toolTime time.Duration
	ended    error          // errCancelled, errStopping, errHarmed or errClash: nothing to record
	run      toolrun.Result // the ended run
}

func (x *executor) newWork(claim string, s blackboard.Started, broken error) *work {
	s.Claim.ID = claim
	return &work{
		Started: s, broken: broken,
		ref: blackboard.GrantRef{Claim: claim, Agent: x.settings.Agent, Attempt: s.Grant.Attempt, Holder: x.settings.Incarnation},
		log: x.log.With("claim", claim, "workflow", s.Claim.WorkflowID, "phase", s.Grant.Phase, "attempt", s.Grant.Attempt).With(named(x)...),
	}
}

// execute runs one grant to its end. It may return the next one, started in the same
// round trip that recorded the result. An error ends the cub.
func (x *executor) execute(ctx context.Context, w *work) (*work, error) {
	defer x.crew.leave(w.Claim.ID)
	base := context.WithoutCancel(ctx)
	w.log.Info("work received", "artefact", w.Claim.ArtefactID)
	x.metrics.grants.WithLabelValues(string(w.Grant.Phase)).Inc()
	if ctx.Err() != nil {
		return nil, x.handBack(ctx, w, toolrun.Result{ExitCode: -1}, errStopping) // told to stop during the start
	}

	toolCtx, stop := context.WithCancelCause(base)
	defer stop(nil)
	x.begin(w.Claim.ID, w.Grant.Attempt, stop)
	x.crew.working(x.slot, x.env.Now())
	defer x.crew.working(x.slot, time.Time{})
	defer x.begin("", 0, nil)
	defer x.stopAfterGrace(ctx, w, stop)()

	out := x.attemptWork(ctx, toolCtx, w)
	if errors.Is(out.ended, errStopping) {
		return nil, x.handBack(ctx, w, out.run, errStopping)
	}
	if errors.Is(out.ended, errHarmed) {
		if err := x.handBack(ctx, w, out.run, out.ended); !errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, out.ended
	}
	if errors.Is(out.ended, errCancelled) {
		w.log.Info("tool stopped: grant cancelled", "leftovers", w.leftovers())
		return nil, nil
	}
	if errors.Is(out.ended, errClash) {
		return nil, nil
	}
	return x.handIn(ctx, w, out)
}

// stopAfterGrace ends the tool when the cub must stop and the grace is over, or at
// once at the second request.
func (x *executor) stopAfterGrace(ctx context.Context, w *work, stop context.CancelCauseFunc) (disarm func()) {
	unsaid := context.AfterFunc(ctx, func() { w.log.Info("stopping: the running tool may finish", "grace", x.settings.Grace) })
	over := role.AfterGrace(ctx, x.settings.Grace, x.env.Hurry, func() { stop(errStopping) })
	return func() {
		unsaid()
		over()
	}
}

// attemptWork assembles the tool's input, has its tree prepared, waits until its model may be called, runs the tool,
// reads its output and settles its tree. Life is the cub's, ctx the grant's.
func (x *executor) attemptWork(life, ctx context.Context, w *work) outcome {
	none := toolrun.Result{ExitCode: -1}
	late, cancel := outlasting(ctx)
	defer cancel()
	if w.broken != nil {
		return x.failed(late, w, none, w.broken)
	}
	var again *unreadable
	err := x.patiently(ctx, func() (err error) { again, err = heedMore(ctx, x, w); return err })
	if err == nil && again != nil {
		return askForMore(x, w, none, again.of, "The answer cannot be read: "+again.why.Error())
	}
	var task assemble.Task
	if err == nil {
		task, err = x.assemble(ctx, w)
	}
	if err == nil {
		err = x.prepare(life, ctx, w, task)
	}
	if err == nil {
		err = awaitModel(life, ctx, x, w)
	}
	if found := (*clashError)(nil); errors.As(err, &found) {
		return clash(ctx, x, w, task, found.Clash)
	}
	if ended := endOf(ctx, err); ended != nil {
		return outcome{ended: ended, run: none}
	}
	if err != nil {
		return x.failed(late, w, none, err)
	}
	out := x.runTool(ctx, late, w, task.Chain)
	x.release(w)
	if out.ended != nil {
		soon, cancel := context.WithTimeoutCause(late, afterTheEnd, out.ended)
		defer cancel()
		x.keep(soon, w, "left by a tool that was stopped")
	}
	return out
}

// endOf returns the reason to end a grant early, where an error came of one; nil: it did not.
func endOf(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, errStopping) {
		return err
	}
	return context.Cause(ctx)
}

// assemble collects the context of the tool's task.
func (x *executor) assemble(ctx context.Context, w *work) (task assemble.Task, err error) {
	err = x.patiently(ctx, func() (err error) {
		if w.joined, err = x.parallelResults(ctx, w); err != nil {
			return err
		}
		if x.trees == nil {
			task.Chain, task.Missing, err = assemble.Chain(ctx, x.board.records, w.Artefact, w.added())
			return err
		}
		task, err = assemble.ForTask(ctx, x.board.records, &x.memory, w.Artefact, w.added(), w.joined, w.Grant.Settled)
		return err
	})
	if err != nil {
		return task, fmt.Errorf("assemble context: %w", err)
	}
	w.log.Info("target fetched", "artefact", w.Artefact.ID, "type", w.Artefact.Type, "version", w.Artefact.Version,
		"context", len(task.Chain))
	if len(task.Missing) > 0 {
		w.log.Warn("sources are missing", "artefacts", task.Missing)
	}
	return task, nil
}

// patiently repeats a call while the blackboard is away: granted work does not fail
// for that.
func (x *executor) patiently(ctx context.Context, call func() error) error {
	return x.reachable.Patiently(ctx, x.log, x.env.Hurry, call)
}

// runTool runs the tool for ctx at most. Late is for the requests after its end.
func (x *executor) runTool(ctx, late context.Context, w *work, chain []blackboard.Artefact) outcome {
	in := tool.Input{
		ClaimType: w.Grant.Phase.Bid(), Target: w.Artefact, ContextChain: chain,
		Retry: tool.Retry{FailureID: w.Grant.Failure, Why: w.Grant.Why},
	}
	if w.tree != nil {
		in.Workspace = &w.tree.start
	}
	stdin, err := in.Encode()
	if err != nil {
		return x.failed(late, w, toolrun.Result{ExitCode: -1}, err)
	}
	disk := quota{x.settings.Workspace, x.settings.Limits.MaxTree, x.settings.Limits.MinFree}
	if err := makeRoom(x, w, disk); err != nil {
		return x.failed(late, w, toolrun.Result{ExitCode: -1}, err)
	}
	stdin = toolStdin(x.settings, w, in, stdin)
	w.log.Info("tool starting", "command", x.settings.Command, "stdin_size", len(stdin),
		"stdin", excerpt(stdin))
	x.metrics.executions.Inc()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if w.tree != nil {
		go disk.watch(running, stop)
	}
	vars := toolVars(w.Claim.ID, w.Grant.Phase.Bid(), w.Grant.Attempt, w.Artefact, chain)
	if x.settings.Traced {
		vars.TraceParent = trace.Parent(w.Artefact.WorkflowID, w.Claim.ID, x.settings.Agent, w.Grant.Attempt)
	}
	model, environ, shut, err := x.openDoor(w, x.environ(vars), stop)
	if err != nil {
		return x.failed(late, w, toolrun.Result{ExitCode: -1}, err)
	}
	defer shut()
	res, err := x.runner.Run(running, toolrun.Command{
		Args: x.settings.Command, Dir: x.settings.Workspace, Stdin: stdin, Timeout: x.settings.Timeout,
		Env: environ, Expired: func() { w.waited = model.Waits() },
		Stdout: talk(x, w), Stderr: lineLogger{w.log, "stderr", "tool"}, NoNetwork: x.noNetwork(), Confine: confined(x.settings.Walls),
	})
	if err != nil {
		return x.failed(late, w, toolrun.Result{ExitCode: -1}, err)
	}
	x.ran.Store(true)
	took := res.Reaped.Sub(res.Started)
	x.metrics.toolSeconds.Observe(took.Seconds())
	w.log.Info("tool ended", "exit_code", res.ExitCode, "signal", res.Signal, "duration", took,
		"stdout_size", res.StdoutSize, "stderr_size", res.StderrSize)
	tellOf(w.log, res)
	cause := context.Cause(running)
	if over := model.Over(); cause == nil && over != nil { // the tool ended by itself, while its other calls did
		cause = over
	}
	return outcomeOf(ctx, late, x, w, res, cause)
}

// outcomeOf is the outcome of a tool that has ended, for a cause or by itself.
func outcomeOf(ctx, late context.Context, x *executor, w *work, res toolrun.Result, cause error) outcome {
	if over := asBudget(cause); over != nil {
		return x.overBudget(late, w, res, over)
	}
	switch {
	case res.Cancelled && errors.Is(cause, errQuota):
		w.tree.full = true
		return x.failed(ctx, w, res, cause)
	case res.Cancelled && cause != nil:
		return outcome{ended: cause, run: res}
	}
	if res.Harm != "" {
		return outcome{ended: x.harm(res.Harm), run: res}
	}
	return x.interpret(late, w, res)
}

// parallelResults returns the results of the claim's parallel phase for its exclusive
// grant, in the order of the agents.
func (x *executor) parallelResults(ctx context.Context, w *work) ([]string, error) {
	if w.Grant.Phase != blackboard.PhaseExclusive {
		return nil, nil
	}
	var all []string
	for _, agent := range w.Claim.GrantedParallelAgents {
		g, err := x.board.records.Grant(ctx, w.Claim.ID, agent)
		if err != nil {
			return nil, err
		}
		if g.Phase == blackboard.PhaseParallel && g.State == blackboard.GrantDone && g.ResultID != "" {
			all = append(all, g.ResultID)
		}
	}
	return all, nil
}

// excerpt shortens a tool's input or output for a log line.
func excerpt(b []byte) string {
	const most = 4 << 10
	if len(b) > most {
		return fmt.Sprintf("%s … (%d bytes) … %s", b[:most/2], len(b), b[len(b)-most/2:])
	}
	return string(b)
}

// handIn records the result, patiently while the blackboard is away, and starts the
// next grant in the same call if there is one.
func (x *executor) handIn(ctx context.Context, w *work, out outcome) (*work, error) {
	out.artefact.Metadata = withUsage(context.WithoutCancel(ctx), x, w, out.artefact.Metadata)
	result := blackboard.Result{GrantRef: w.ref, Artefact: out.artefact, Verdict: out.verdict, ToolTime: out.toolTime, Base: w.base(), Unmerged: w.unmerged()}
	next := ""
	if ctx.Err() == nil && !x.mode.works() {
		next = x.crew.take()
	}
	var s blackboard.Started
	var startErr error
	held := 0.0
	var last hindrance
	over := nameWait(x, w, blackboard.WaitBlackboard, &last)
	err := x.patiently(context.WithoutCancel(ctx), func() (err error) {
		if s, err, startErr = x.send(ctx, result, next); errors.Is(err, blackboard.ErrUnavailable) && held == 0 {
			held = 1
			x.metrics.held.Add(held)
		}
		if err != nil {
			last.is(err)
		}
		return err
	})
	over()
	x.metrics.held.Sub(held)
	switch {
	case errors.Is(err, blackboard.ErrRefused):
		w.log.Warn("result refused: the grant is gone, or belongs to another holder", "error", err)
	case err != nil:
		w.log.Error("result not written", "artefact", out.artefact.ID, "error", err)
		if next != "" {
			x.crew.leave(next)
		}
		return nil, err
	default:
		x.reachable.Back()
		x.record(w, out)
	}
	if next == "" {
		return nil, nil
	}
	return x.started(ctx, next, s, startErr)
}

func (x *executor) send(ctx context.Context, r blackboard.Result, next string) (blackboard.Started, error, error) {
	ctx = context.WithoutCancel(ctx)
	if next == "" {
		return blackboard.Started{}, x.board.work.Finish(ctx, r), nil
	}
	return x.board.work.FinishAndStart(ctx, r, x.request(next))
}

// record logs and counts a recorded result.
func (x *executor) record(w *work, out outcome) {
	a := out.artefact
	x.metrics.artefacts.WithLabelValues(string(a.StructuralType)).Inc()
	if a.StructuralType == blackboard.Failure {
		x.metrics.failures.Inc()
		w.log.Error("failure recorded", "artefact", a.ID, "type", a.Type, "reason", a.Summary)
		return
	}
	x.metrics.successes.Inc()
	logicalID, version := a.ID, 1
	if a.LogicalID != "" { // no other agent adds to a thread with an open claim
		logicalID, version = a.LogicalID, w.Claim.Target.Version+1
	}
	w.log.Info("artefact created", "artefact", a.ID, "type", a.Type, "structural_type", a.StructuralType,
		"logical_id", logicalID, "version", version, "verdict", out.verdict)
}

// mostHandedBack is the most times that a grant returns to its queue, not counting a
// stop of the instance. A tool can stop its own cub at each attempt; nobody else does
// so that often before an attempt ends.
const mostHandedBack = 10

// handBack returns the grant to its queue, for another worker or for this agent
// after a restart. A grant that returned too often fails, as if its cub had died.
func (x *executor) handBack(ctx context.Context, w *work, run toolrun.Result, why error) error {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := x.board.work.Requeue(short, blackboard.HandBack{GrantRef: w.ref, Most: mostHandedBack, Reason: why.Error(), Base: w.base()})
	switch {
	case errors.Is(err, blackboard.ErrRefused):
		out := x.failed(ctx, w, run, fmt.Errorf("%w for the %dth time while its tool ran: does the tool stop its cub?", why, mostHandedBack+1))
		out.artefact.Type = blackboard.TypeAgentCrashed
		ended, cancel := context.WithCancel(ctx) // no grant is started with this result: the cub ends
		cancel()
		if _, err := x.handIn(ended, w, out); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		w.log.Info("work handed back", "reason", why, "leftovers", w.leftovers())
	}
	return context.Canceled
}
