package cub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/tool"
	"sett/roles/cub/assemble"
	line "sett/roles/role/repository"
)

// trees is what a cub asks of the role repository, about the one tree of its tool. Each
// request may be repeated.
type trees interface {
	Prepare(ctx context.Context, q line.Prepare) (line.Prepared, error)
	Take(ctx context.Context, q line.Take) (line.Held, error)
	Commit(ctx context.Context, q line.Commit) (line.Held, error)
	Keep(ctx context.Context, q line.Keep) (line.Held, error)
	Settle(ctx context.Context, q line.Settle) (line.Held, error)
}

// Times of the requests to the repository.
const (
	shortestPause = 50 * time.Millisecond // between two tries
	longestPause  = 2 * time.Second
	afterTheEnd   = 2 * time.Second // for the requests of a grant that was cancelled or stopped
)

// tree is the private tree of one grant.
type tree struct {
	start tool.Workspace
	open  bool      // the repository may still keep something of it
	asked bool      // to keep what the tool left
	kept  line.Held // the changes that the tool left
	lost  string    // why they cannot be kept; empty: they are, or may still be
	full  bool      // the tool was stopped because of the disk
}

func (w *work) grant() line.Grant { return line.Grant{Claim: w.Claim.ID, Attempt: w.Grant.Attempt} }

// prepare has the grant's tree made. A stop of the cub ends the wait: the next holder of
// the grant asks again.
func (x *executor) prepare(life, ctx context.Context, w *work, task assemble.Task) error {
	if x.trees == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(errStopping) })()
	q := line.Prepare{
		Grant: w.grant(), Goal: w.Claim.WorkflowID, Branch: assemble.Goal(w.Artefact, task.Chain).Base().Branch,
		Resumes: w.Grant.AskedIn, ResumesOf: w.Grant.AskedOf, ReadOnly: x.settings.Mode == blackboard.ReadOnly, MaxSize: x.settings.Limits.MaxSize,
	}
	for _, a := range task.Starts {
		q.Artefacts = append(q.Artefacts, a.ID)
	}
	for _, a := range task.Chain {
		if a.StructuralType == blackboard.Review && a.ProducedByRole == blackboard.RoleRepository && a.ProducedByAgent == "" && a.Commit != "" {
			q.Beside = append(q.Beside, a.ID) // the branch that it did not land on
		}
	}
	start, err := insist(ctx, x, w, func() (line.Prepared, error) { return x.trees.Prepare(ctx, q) })
	switch {
	case errors.Is(err, line.ErrMissing):
		return &missingError{err}
	case err != nil:
		return fmt.Errorf("prepare the tree: %w", err)
	case start.Clash != nil:
		return &clashError{start.Clash}
	}
	w.tree = &tree{start: start.Workspace, open: x.settings.Mode == blackboard.ReadWrite}
	w.log.Info("tree prepared", "commit", start.Commit, "from", q.Artefacts, "unmerged", len(start.Unmerged))
	return nil
}

// missingError says that the commit to start from is nowhere.
type missingError struct{ cause error }

func (e *missingError) Error() string {
	return "prepare the tree: " + e.cause.Error() + "; an older Sett left its commits in the repository alone: sett forage --base COMMIT starts a goal from one"
}

func (e *missingError) Unwrap() error { return e.cause }

// FailureType returns the artefact type of its Failure.
func (e *missingError) FailureType() string { return blackboard.TypeMissingCommit }

// hold has the repository check a commit of the tool, and hold it before the artefact is
// known to anybody: git never prunes a result. It returns the whole hash. Part is that of
// the output which names the commit.
func (x *executor) hold(ctx context.Context, w *work, part string, q line.Take) (line.Held, error) {
	if w.tree == nil {
		return line.Held{}, &tool.ViolationError{Reason: part + ": an agent with workspace: {mode: none} has no commits"}
	}
	q.Grant, q.MaxSize, q.Settles = w.grant(), x.settings.Limits.MaxSize, w.settles()
	held, err := insist(ctx, x, w, func() (line.Held, error) { return x.trees.Take(ctx, q) })
	if err != nil {
		return held, refused(part, err)
	}
	warnModules(w, held)
	if r := held.Rest; r != nil {
		w.log.Warn("the tool has left changes that its commit does not have", "files", r.Files, "more", r.More, "kept", r.Kept, "leftovers", r.Ref, "not_kept", r.NotKept)
	}
	w.tree.open = false
	return held, nil
}

// toldRest adds to the summary of a result which changes its commit does not have.
func toldRest(summary string, r *line.Rest) string {
	if r == nil {
		return summary
	}
	told := "not committed: " + r.String()
	switch {
	case r.Kept != "":
		told += fmt.Sprintf("; kept: %.12s", r.Kept)
	case r.NotKept != "":
		told += "; not kept: " + r.NotKept
	}
	return strings.TrimSpace(summary + " (" + told + ")")
}

// warnModules says that a commit has nothing of the changes in submodules.
func warnModules(w *work, held line.Held) {
	if len(held.Modules) > 0 {
		w.log.Warn("the tool has changed submodules: what it changed in them is not committed", "submodules", held.Modules)
	}
}

// refused is the error of a commit that the repository does not hold.
func refused(part string, err error) error {
	if errors.Is(err, line.ErrTool) {
		return &tool.ViolationError{Reason: part + ": " + toolsFault(err)}
	}
	return fmt.Errorf("hold the commit of the result: %w", err)
}

// commit has the repository commit the changes that the tool left in its tree, on top of
// the tool's own commits, and hold them before the artefact is known to anybody.
func (x *executor) commit(ctx context.Context, w *work, artefact string, out tool.Output) (tool.Output, error) {
	part := "adapter: commit"
	if x.settings.Adapter.Kind != config.AdapterCommit {
		part = "commit"
	}
	if w.tree == nil {
		return out, &tool.ViolationError{Reason: part + ": an agent with workspace: {mode: none} has no commits"}
	}
	q := line.Commit{
		Grant: w.grant(), Artefact: artefact, Message: tool.CommitMessage(x.settings.Role, out.Summary, w.Claim.ID), MaxSize: x.settings.Limits.MaxSize,
		Settles: w.settles(),
	}
	held, err := insist(ctx, x, w, func() (line.Held, error) { return x.trees.Commit(ctx, q) })
	if len(held.Refused) > 0 {
		w.log.Warn("git takes such names for its own: not committed", "paths", held.Refused)
	}
	switch {
	case err != nil:
		return out, refused(part, err)
	case held.Commit == "":
		return out, tool.UnchangedError{Modules: strings.Join(held.Modules, ", ")}
	case len(held.Embedded) > 0:
		w.log.Warn("the tool has made repositories within its tree: their files are committed, their history is not", "folders", held.Embedded)
	}
	warnModules(w, held)
	w.tree.open = false
	w.log.Info("changes committed", "commit", held.Commit, "embedded", len(held.Embedded))
	return out.Committed(held.Commit, held.Embedded, held.Refused, held.Modules)
}

// keep has the repository keep the changes that the tool left in its tree.
func (x *executor) keep(ctx context.Context, w *work, message string) {
	if w.tree == nil || x.settings.Mode != blackboard.ReadWrite || w.tree.asked {
		return
	}
	w.tree.asked = true
	held, err := insist(ctx, x, w, func() (line.Held, error) {
		return x.trees.Keep(ctx, line.Keep{Grant: w.grant(), Message: message, MaxSize: x.settings.Limits.MaxSize, Empty: w.tree.full})
	})
	if err != nil { // if it can still be done, the repository does it before the tree's next grant
		w.log.Warn("the tool's changes not kept", "error", err)
		if errors.Is(err, line.ErrTool) {
			w.tree.lost = strings.TrimPrefix(toolsFault(err), "keep the tree's changes: ")
		}
		return
	}
	w.tree.open, w.tree.kept = false, held
	if held.Commit != "" {
		w.log.Info("the tool's changes kept", "commit", held.Commit, "leftovers", held.Ref, "beside", held.Beside)
	}
	if len(held.LeftOut) > 0 {
		w.log.Warn("some of the tool's changes not kept", "left_out", held.LeftOut)
	}
}

// toolsFault is the repository's reason for not taking a tool's changes.
func toolsFault(err error) string { return strings.TrimPrefix(err.Error(), line.ErrTool.Error()+": ") }

// settle says that the changes in the tree count for nothing: the tool has ended well.
func (x *executor) settle(ctx context.Context, w *work) {
	if w.tree == nil || !w.tree.open {
		return
	}
	held, err := insist(ctx, x, w, func() (line.Held, error) {
		return x.trees.Settle(ctx, line.Settle{Grant: w.grant(), MaxSize: x.settings.Limits.MaxSize})
	})
	switch {
	case err != nil: // then they are kept
		w.log.Warn("tree not settled", "error", err)
	case held.Commit != "":
		w.log.Warn("the tool has committed, and its result names no commit: does sett.yml name the result's type in commits?",
			"commit", held.Commit, "leftovers", held.Ref)
	}
	w.tree.open = false
}

// release says that the tool has left a read-only tree, of which nothing is kept. Nobody waits
// for the answer: without it the tree has the tool's files until the next grant.
func (x *executor) release(w *work) {
	if w.tree == nil || x.settings.Mode != blackboard.ReadOnly {
		return
	}
	q := line.Settle{Grant: w.grant()}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), afterTheEnd)
		defer cancel()
		_, _ = x.trees.Settle(ctx, q)
	}()
}

// base is the commit that the tool's tree started from; empty: it had none.
func (w *work) base() string {
	if w.tree == nil {
		return ""
	}
	return w.tree.start.Commit
}

// unmerged are the artefacts with a commit that the tool's tree lacked, because of a conflict.
func (w *work) unmerged() (artefacts []string) {
	if w.tree == nil {
		return nil
	}
	for _, u := range w.tree.start.Unmerged {
		artefacts = append(artefacts, u.ArtefactID)
	}
	return artefacts
}

// leftovers is the commit of the changes that the tool left; empty: none.
func (w *work) leftovers() string {
	if w.tree == nil {
		return ""
	}
	return w.tree.kept.Commit
}

// withLeftovers adds to the summary of a Failure which changes were kept, and which were not.
func (w *work) withLeftovers(summary string) string {
	var r blackboard.FailureReport
	w.tellLeft(&r)
	if told := r.Left(); told != "" {
		return summary + " (" + told + ")"
	}
	return summary
}

// tellLeft tells a report of the changes that the tool left.
func (w *work) tellLeft(r *blackboard.FailureReport) {
	if w.tree != nil {
		kept := w.tree.kept
		r.Leftovers, r.Beside, r.LeftOut, r.NotKept = kept.Commit, kept.Beside, kept.LeftOut, w.tree.lost
	}
}

// outlasting returns a context that ends a moment after the given one, since what a tool
// did must not be lost because the grant ends now.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	disarm := context.AfterFunc(ctx, func() {
		time.AfterFunc(afterTheEnd, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		disarm()
		cancel(nil)
	}
}
