package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// marks are the blackboards of an instance as they were seen last, by their kinds: an
// instance that moves from containers to processes and back has two ledgers.
type marks map[string]blackboard.Mark

// marksPath is the path of the file with the marks. It lies beside the state, which only
// sett up writes.
func (in *Instance) marksPath() string { return filepath.Join(in.Dir, "board.json") }

// boardKind is the kind of the instance's present blackboard.
func (in *Instance) boardKind() string {
	switch {
	case in.External:
		return "external"
	case in.Runtime != config.RuntimeDocker:
		return "local"
	case in.Embedded:
		return "embedded"
	}
	return "redis"
}

// Mark returns the instance's blackboard as it was seen last, by a command or by an
// orchestrator that is a process of this machine; zero: it was never seen, or an older
// sett saw it.
func (in *Instance) Mark() blackboard.Mark {
	m := in.marks()[in.boardKind()]
	text, err := os.ReadFile(filepath.Join(in.Dir, role.SightFile))
	if m.ID == "" || err != nil {
		return m
	}
	seen, err := blackboard.ParseMark(string(text))
	if err != nil {
		return m
	}
	return m.After(seen)
}

func (in *Instance) marks() marks {
	var all marks
	if err := ReadFile(in.marksPath(), &all); err != nil {
		return nil // as if it was never seen: what the blackboard has counts
	}
	return all
}

// SetMark keeps a blackboard's mark in place of the one before; the zero mark forgets
// that.
func (in *Instance) SetMark(m blackboard.Mark) error {
	all := in.marks()
	if all == nil {
		all = marks{}
	}
	if all[in.boardKind()] == m {
		return nil
	}
	all[in.boardKind()] = m
	if m.ID == "" {
		delete(all, in.boardKind())
	}
	return WriteFile(in.marksPath(), all)
}

// saw keeps a later sight of the blackboard. A directory that cannot be written keeps no
// command from its work.
func (in *Instance) saw(m blackboard.Mark) {
	if known := in.Mark(); known.ID != "" {
		_ = in.SetMark(known.After(m))
	}
}

// CheckBoard compares a blackboard with the one that the instance had, and keeps the sight.
// One of another workspace is refused to commands that act, and is not compared for others.
func CheckBoard(ctx context.Context, l *Locator, in *Instance, b *Board) error {
	if ours, err := checkOwner(ctx, l, in, b); err != nil || !ours {
		return err
	}
	seen, err := b.Look(ctx)
	if err == nil {
		in.saw(seen)
		return nil
	}
	return LostLedger(l, in, err)
}

// LostLedger gives the error about a lost blackboard its exit code and the ways on.
func LostLedger(l *Locator, in *Instance, err error) error {
	var lost *blackboard.LostError
	if !errors.As(err, &lost) {
		return err
	}
	on := l.CommandLine(in, "up --adopt-empty")
	if lost.Removed != nil {
		return role.Fail(role.Environment, lost, "%s names what the rest lacks; to go on without these entries: %s", l.CommandLine(in, "ledger export"), on)
	}
	switch lost.Loss {
	case blackboard.LossForeign:
		return role.Fail(role.Environment, lost, "does redis.url name the right server? If so, %s makes that ledger this instance's", on)
	case blackboard.LossOlder:
		return role.Fail(role.Environment, lost, "bring the newer data back, or go on with the copy: %s", on)
	}
	return role.Fail(role.Environment, lost, "bring the server's data back, or an export: %s; or begin anew: %s",
		l.CommandLine(in, "ledger import FILE"), on)
}

// isEmptied says whether the error is about a blackboard without any ledger.
func isEmptied(err error) bool {
	var lost *blackboard.LostError
	return errors.As(err, &lost) && lost.Loss == blackboard.LossEmpty
}

// AdoptBoard makes the present blackboard the instance's, however it was lost.
func AdoptBoard(ctx context.Context, l *Locator, in *Instance, b *Board) error {
	id := in.Mark().ID
	if id == "" {
		id = l.NewID()
	}
	mark, err := b.Control.Settle(ctx, id, true, l.Who())
	if err == nil {
		err = in.SetMark(mark)
	}
	if err != nil || !in.External {
		return err
	}
	if err := ChooseOwner(l, in); err != nil {
		return err
	}
	return b.Control.Own(ctx, ownerOf(l, in), "", "")
}
