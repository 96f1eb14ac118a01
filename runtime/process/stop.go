package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"sett/runtime"
)

// Stop asks the unit's main process, and only that, to end (SIGTERM), and kills
// what is left of the unit when the grace is over. When the context ends before
// the grace, it returns the context's error and leaves the unit to its request.
func (r *Runtime) Stop(ctx context.Context, name string, grace time.Duration) error {
	if err := runtime.CheckName(name); err != nil {
		return nil // there cannot be such a unit
	}
	token, err := r.stop(ctx, name, grace)
	if err != nil {
		return fmt.Errorf("stop unit %s: %w", name, err)
	}
	r.mu.Lock()
	c := r.children[token]
	r.mu.Unlock()
	if c != nil {
		select {
		case <-c.done: // reaped: now even its process id is gone
		case <-ctx.Done():
		}
	}
	return nil
}

func (r *Runtime) stop(ctx context.Context, name string, grace time.Duration) (token string, err error) {
	release, err := waitLock(ctx, r.unitLockPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // no unit was ever started here
	}
	if err != nil {
		return "", err
	}
	defer release()
	rec, running, err := r.settle(ctx, name)
	if err != nil {
		return "", err
	}
	if running {
		if err := terminate(ctx, rec.ident, grace); err != nil {
			return "", err
		}
		if err := r.kill(rec); err != nil {
			return "", err
		}
	}
	return rec.Token, r.removeRecord(name)
}

// terminate asks one process to end and waits as long as the grace allows. That it
// did not end is no error.
func terminate(ctx context.Context, id ident, grace time.Duration) error {
	if err := send(id, syscall.SIGTERM); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := awaitEnd(wait, id); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ctx.Err()
}

// List returns the units that match, from their records. Records that cannot be
// read are left out, with a warning in the log.
func (r *Runtime) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	recs, err := r.knownRecords()
	if err != nil {
		return nil, err
	}
	units := make([]runtime.Unit, 0, len(recs))
	for _, rec := range recs {
		if rec.Labels.Match(selector) {
			units = append(units, rec.unit(rec.End == nil && alive(rec.ident)))
		}
	}
	return units, ctx.Err()
}

// knownRecords is records with half ones completed. It waits for nobody: a half
// record whose lock is held is of a unit that is just being started.
func (r *Runtime) knownRecords() ([]record, error) {
	all, err := r.records()
	if err != nil {
		return nil, err
	}
	known := all[:0]
	for _, rec := range all {
		if rec.PID == 0 {
			var ok bool
			if rec, ok = r.recover(rec.Name); !ok {
				continue
			}
		}
		known = append(known, rec)
	}
	return known, nil
}

// recover looks after a half record: the unit it speaks of is found, or it is
// removed.
func (r *Runtime) recover(name string) (record, bool) {
	release, _, err := tryLock(r.unitLockPath(name))
	if err != nil {
		return record{}, false
	}
	defer release()
	rec, err := r.readRecord(name)
	if err == nil {
		rec, err = r.complete(rec)
	}
	if err == nil && rec.PID != 0 {
		return rec, true
	}
	if err == nil {
		if err = r.kill(rec); err == nil {
			err = r.removeRecord(name)
		}
	}
	if err != nil {
		r.log.Warn("half started unit left out", "unit", name, "error", err)
	}
	return record{}, false
}
