package cub

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/tool"
	"sett/roles/cub/toolrun"
	line "sett/roles/role/repository"
)

// interpret turns a finished run into an artefact: the tool's result, or a Failure.
func (x *executor) interpret(ctx context.Context, w *work, res toolrun.Result) outcome {
	if res.TimedOut {
		x.metrics.timeouts.Inc()
	}
	out, err := tool.Read(x.settings.Adapter, w.Grant.Phase, tool.End{
		ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, OutOfMemory: res.OutOfMemory, MemoryKill: res.MemoryKill, Timeout: x.settings.Timeout, Call: w.waited, Model: x.settings.Asks.Model,
		Command: config.Unpinned(x.settings.Command, x.settings.Pin), Stdout: res.Stdout, Stderr: res.Stderr, StdoutSize: res.StdoutSize, StdoutTruncated: res.StdoutTruncated,
	})
	if err != nil {
		return x.failed(ctx, w, res, err)
	}
	if len(w.left) > 0 {
		if out, err = out.With("left_out", w.left); err != nil {
			return x.failed(ctx, w, res, err)
		}
	}
	a := x.artefact(w, out)
	held, err := x.commits(ctx, w, a.ID, out)
	if errors.Is(err, errCancelled) || errors.Is(err, errStopping) {
		return outcome{ended: err, run: res}
	}
	if err != nil {
		return x.failed(ctx, w, res, err)
	}
	a.Payload, a.Commit, a.Metadata, a.Summary = held.Payload, held.Commit, held.Metadata, held.Summary
	switch a.StructuralType {
	case blackboard.Failure:
		x.keep(ctx, w, leftByFailed)
		a.Summary = w.withLeftovers(a.Summary)
	case blackboard.Question:
		x.keep(ctx, w, suspended(x, w, "a question"))
	default:
		x.settle(ctx, w)
	}
	o := outcome{artefact: a, toolTime: res.Reaped.Sub(res.Started)}
	if a.StructuralType == blackboard.Review {
		o.verdict = blackboard.VerdictOf(a.Payload)
	}
	return o
}

// tellOf logs what a run did to the memory of its container.
func tellOf(log *slog.Logger, res toolrun.Result) {
	if killed := res.MemoryKill.Text(); killed != "" {
		log.Warn(killed)
	}
	if res.EmptiedTmp != "" {
		log.Info("emptied /tmp: " + res.EmptiedTmp)
	}
}

// commits settles the commit of an output: the tool's own, or one that the repository
// makes of its changes.
func (x *executor) commits(ctx context.Context, w *work, artefact string, out tool.Output) (tool.Output, error) {
	if x.settings.Adapter.Kind == config.AdapterCommit {
		return x.commit(ctx, w, artefact, out)
	}
	if out.Commit == tool.Changes {
		return out.Changed(x.settings.Commits, func(out tool.Output) (tool.Output, error) { return x.commit(ctx, w, artefact, out) })
	}
	var held line.Held
	work := out.StructuralType == blackboard.Standard || out.StructuralType == blackboard.Terminal
	beside := out.Commit != ""
	out, err := tool.Commits(out, x.settings.Commits, func(part, hash string) (_ string, err error) {
		last := work && (part == tool.PartCommit || !beside)
		held, err = x.hold(ctx, w, part, line.Take{Hash: hash, Artefact: artefact, Rebased: out.Rebased, Last: last})
		return held.Commit, err
	})
	if err != nil {
		return out, err
	}
	out.Summary = toldRest(out.Summary, held.Rest)
	return out.Beside(held.Modules)
}

// artefact gives a tool's output its place in the graph. A rework is the next
// version in its target's thread; any other output begins a thread of its own.
func (x *executor) artefact(w *work, out tool.Output) blackboard.Artefact {
	a := blackboard.Artefact{
		ID: x.env.NewID(), StructuralType: out.StructuralType, Type: out.Type, Payload: out.Payload,
		SourceArtefacts: []string{w.Claim.ArtefactID}, ProducedByRole: x.settings.Role, ProducedByAgent: x.settings.Agent,
		ClaimID: w.Claim.ID, WorkflowID: w.Claim.WorkflowID, Summary: out.Summary, Metadata: out.Metadata,
	}
	source := func(ids ...string) {
		for _, id := range ids {
			if !slices.Contains(a.SourceArtefacts, id) {
				a.SourceArtefacts = append(a.SourceArtefacts, id)
			}
		}
	}
	source(w.Claim.AdditionalContextIDs...)
	source(w.joined...)
	source(w.Grant.Settled...)
	for i := 1; i < len(w.Grant.Asked); i += 2 {
		source(w.Grant.Asked[i]) // questions and answers alternate
	}
	work := a.StructuralType == blackboard.Standard || a.StructuralType == blackboard.Terminal
	if w.Claim.Rework && work {
		a.LogicalID = w.Claim.Target.LogicalID
	}
	if a.StructuralType == blackboard.Terminal {
		source(w.Claim.WorkflowID)
	}
	return a
}

// suspended is the message of the commit of a tool's changes until a question: it may become the tool's result.
func suspended(x *executor, w *work, question string) string {
	return tool.CommitMessage(x.settings.Role, "work before "+question, w.Claim.ID)
}

const leftByFailed = "left by a tool that failed"

// failed makes the Failure of a failed run, after the tool's changes were kept.
func (x *executor) failed(ctx context.Context, w *work, res toolrun.Result, cause error) outcome {
	x.keep(ctx, w, leftByFailed)
	w.log.Error("tool failed", "error", cause, "exit_code", res.ExitCode, "stdout", excerpt(res.Stdout), "stderr", excerpt(res.Stderr))
	reason := cause.Error()
	if x.settings.Pin != "" { // of a program that cannot be started
		reason = strings.ReplaceAll(reason, x.settings.Pin+"/", "")
	}
	report := blackboard.FailureReport{
		Reason: reason, ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut,
		StdoutSize: res.StdoutSize, StderrSize: res.StderrSize, Agent: x.settings.Agent, Attempt: w.Grant.Attempt,
	}
	w.tellLeft(&report)
	if over := asBudget(cause); over != nil {
		report.Budget = over.Refusal.Budget
	}
	payload, err := encodeReport(report, res.Stdout, res.Stderr)
	if err != nil {
		payload = `{"reason":"unknown"}`
	}
	return outcome{toolTime: res.Reaped.Sub(res.Started), artefact: blackboard.Artefact{
		ID: x.env.NewID(), StructuralType: blackboard.Failure, Type: tool.FailureType(cause), Payload: payload,
		SourceArtefacts: []string{w.Claim.ArtefactID}, ProducedByRole: x.settings.Role, ProducedByAgent: x.settings.Agent,
		ClaimID: w.Claim.ID, WorkflowID: w.Claim.WorkflowID, Summary: w.withLeftovers(reason),
	}}
}

// talk logs stdout of a tool that talks there; nil: it prints its result.
func talk(x *executor, w *work) io.Writer {
	switch x.settings.Adapter.Kind {
	case config.AdapterCheck, config.AdapterCommit:
		return lineLogger{w.log, "stdout", "tool"}
	}
	return nil
}

// lineLogger logs an output of a tool line by line while the tool runs.
type lineLogger struct {
	log    *slog.Logger
	stream string // stdout or stderr
	source string
}

func (l lineLogger) Write(line []byte) (int, error) {
	l.log.Info(l.stream, "source", l.source, "line", strings.TrimRight(string(line), "\r\n"))
	return len(line), nil
}
