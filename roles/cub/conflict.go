package cub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cub/assemble"
	"sett/roles/cub/toolrun"
	line "sett/roles/role/repository"
)

// errClash ends the attempt of a grant whose commits do not merge: it waits until that is settled.
var errClash = errors.New("the commits to start from conflict")

// clashError has the conflict that a tree could not be prepared for.
type clashError struct{ *line.Clash }

func (e *clashError) Error() string { return errClash.Error() }

// clash reports a conflict and hands the grant back until it is settled. The same commits lead to
// the same Conflict, whichever grant meets them.
func clash(ctx context.Context, x *executor, w *work, task assemble.Task, c *line.Clash) outcome {
	none := toolrun.Result{ExitCode: -1}
	a, err := conflictOf(w, task, c)
	if err == nil {
		err = x.patiently(ctx, func() error {
			return x.board.work.Clash(ctx, blackboard.Clash{GrantRef: w.ref, Conflict: a})
		})
	}
	switch {
	case errors.Is(err, blackboard.ErrRefused):
		w.log.Info("conflict not reported: the grant belongs to another holder", "error", err)
		return outcome{ended: errCancelled, run: none}
	case endOf(ctx, err) != nil:
		return outcome{ended: endOf(ctx, err), run: none}
	case err != nil:
		return x.failed(ctx, w, none, fmt.Errorf("report a conflict: %w", err))
	}
	w.log.Info("waiting for a conflict to be settled", "conflict", a.ID, "files", c.Files)
	return outcome{ended: errClash, run: none}
}

// conflictOf is the artefact about commits that do not merge.
func conflictOf(w *work, task assemble.Task, c *line.Clash) (blackboard.Artefact, error) {
	payload, err := json.Marshal(blackboard.Conflict{
		Ours: blackboard.ConflictSide{Artefacts: c.Of, Commit: c.Ours}, Theirs: blackboard.ConflictSide{Artefacts: []string{c.TheirsOf}, Commit: c.Theirs},
		Base: c.Base, Files: c.Files, Conflicts: c.Kinds, Hunks: c.Hunks,
	})
	sources := append(slices.Clone(c.Of), c.TheirsOf)
	var makers []string
	for _, a := range task.Starts {
		if slices.Contains(sources, a.ID) && !slices.Contains(makers, a.ProducedByAgent) {
			makers = append(makers, a.ProducedByAgent)
		}
	}
	return blackboard.Artefact{
		ID: c.Artefact, StructuralType: blackboard.Standard, Type: blackboard.TypeConflict, Payload: string(payload), Commit: c.Commit,
		SourceArtefacts: sources, ProducedByRole: blackboard.RoleRepository, WorkflowID: w.Claim.WorkflowID,
		Summary: fmt.Sprintf("conflict between the commits of %s in %s", strings.Join(makers, ", "), few(withKinds(c.Files, c.Kinds))),
	}, err
}

// withKinds are the files, those without git's marks with the kind of their conflict.
func withKinds(files []string, kinds []blackboard.ConflictFile) []string {
	files = slices.Clone(files)
	for i, file := range files {
		for _, k := range kinds {
			if k.File == file && !k.Marks {
				files[i] += " (" + k.Kind + ")"
			}
		}
	}
	return files
}

// few names the first files of a conflict.
func few(files []string) string {
	const most = 3
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more files", strings.Join(files[:most], ", "), len(files)-most)
}

// settles is the Conflict that the grant's commit has to settle; empty: its task is another.
func (w *work) settles() string {
	if !w.Artefact.IsConflict() {
		return ""
	}
	return w.Artefact.ID
}
