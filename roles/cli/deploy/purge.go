package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// removeDir removes the directory of an instance. The state goes last: as long as anything is left, the instance is known,
// and another purge goes on.
func removeDir(ctx context.Context, in *instance.Instance) error {
	entries, err := os.ReadDir(in.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var left []string
	for _, e := range entries {
		path := filepath.Join(in.Dir, e.Name())
		if path == in.StatePath() {
			continue
		}
		if no := removeTree(ctx, path); no != nil {
			left, err = append(left, path), errors.Join(err, no)
		}
	}
	if err == nil {
		left, err = []string{in.Dir}, removeTree(ctx, in.Dir)
	}
	return inTheWay(in, err, "all else of it is gone", left...)
}

// inTheWay is the error of a purge that cannot remove files, as those of another user, with the command that can.
func inTheWay(in *instance.Instance, err error, rest string, left ...string) error {
	if err == nil {
		return nil
	}
	return role.Fail(role.Failed, fmt.Errorf("remove instance %s: %w; %s", in.Name, err, rest), "%s; then the same command again", store.Remedy(left...))
}

// removeTree removes a directory also while another command, or a process that is just
// ending, writes a last file there. A tool may have left modes that forbid it.
func removeTree(ctx context.Context, dir string) error {
	for range rounds {
		if err := store.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) || !instance.Tick(ctx) {
			return err
		}
	}
	return store.RemoveAll(dir)
}

// errLeft says that the user wants the records left alone.
var errLeft = errors.New("--leave-records")

// erase removes an instance's keys from a server of the user's own. The error says why they stay.
func (d *downRun) erase(ctx context.Context, in *instance.Instance) error {
	if !in.External {
		return nil // its ledger goes as a whole
	}
	if d.LeaveRecords {
		return errLeft
	}
	b, err := d.openToErase(ctx, in)
	if err != nil {
		return err
	}
	defer b.Close()
	removed, err := b.Control.Erase(ctx)
	if err == nil {
		d.at.Printf("removed %s of %s from %s\n", words.Count(removed, "key"), in.Name, role.Clean(instance.Redact(in.URL)))
	}
	return err
}

// openToErase opens a board with keys that are the instance's.
func (d *downRun) openToErase(ctx context.Context, in *instance.Instance) (*instance.Board, error) {
	b, err := instance.Connect(ctx, instance.To(d.at.Terminal, in, "sett-cli"))
	if err != nil {
		return nil, err
	}
	err = instance.OwnedByAnother(ctx, d.at, in, b)
	var gone *blackboard.LostError
	if err == nil {
		if no := instance.CheckBoard(ctx, d.at, in, b); errors.As(no, &gone) && gone.Loss == blackboard.LossForeign {
			err = no
		}
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// reaches refuses a purge that could not remove the instance's records from a server of the user's own: without its state
// nobody could later.
func (d *downRun) reaches(ctx context.Context, in *instance.Instance) error {
	if !d.Purge || !in.External || d.LeaveRecords {
		return nil
	}
	b, err := d.openToErase(ctx, in)
	if err == nil {
		b.Close()
	}
	if ctx.Err() != nil || !d.matters(in, err) {
		return ctx.Err()
	}
	return recordsStay(in, err, "nothing was stopped or removed")
}

// matters says whether a purge ends because records stay: they are this instance's, and the user did not ask for it. An
// instance that never was up has none.
func (d *downRun) matters(in *instance.Instance, why error) bool {
	return why != nil && !errors.Is(why, errLeft) && !instance.IsOwned(why) && !errors.Is(why, blackboard.ErrLost) && upAt(in) != ""
}

// recordsStay is the error of a purge that cannot remove records.
func recordsStay(in *instance.Instance, why error, so string) error {
	first := "once it answers, the same command again"
	if schema := (*blackboard.SchemaError)(nil); errors.As(why, &schema) {
		first = schema.Remedy() + ", then the same command"
	} else if instance.RefusesLogin(why) {
		first = "sett down, sett up with the login that is right now, then the same command"
	}
	return role.Fail(role.Environment, fmt.Errorf("remove the records of %s from %s: %s; %s", in.Name, role.Clean(instance.Redact(in.URL)), role.Clean(words.FirstLine(why)), so),
		"%s; or with --leave-records, which removes all but these records", first)
}

// sayLeft names the records that stay, and the reason.
func (d *downRun) sayLeft(in *instance.Instance, why error) {
	if why == nil {
		return
	}
	because := ""
	if !errors.Is(why, errLeft) {
		because = ": " + role.Clean(words.FirstLine(why))
	}
	d.at.Sayf("sett: note: its records stay on %s, under keys that begin with sett:{%s}%s\n", role.Clean(instance.Redact(in.URL)), in.Name, because)
}
