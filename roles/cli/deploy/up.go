package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// Options are the flags of a sett up. Empty ones leave the decision to sett.yml.
type Options struct {
	Runtime      string
	RedisURL     string
	Server       string // RedisURL, if a flag names it
	CAFile       string // certificates for it; empty: sett.yml says
	Embedded     bool
	Orchestrator string
	Timeout      *time.Duration // nil: until nothing more becomes ready; 0: no limit
	AdoptEmpty   bool           // a blackboard that is not the one of before is taken as it is
	TakeOver     bool           // a blackboard that belongs to another workspace is taken from it
	Consent      instance.Consent
}

// upRun is one sett up: it looks, plans, and carries the plan out.
type upRun struct {
	job
	facts    *facts
	launch   launcher
	position string // in the ledger: a new orchestrator's entry comes after it; empty: the present one stays
}

// launcher starts the parts of an instance in one runtime.
type launcher interface {
	// materials finds the images and binaries of the parts, notes them in the facts and
	// completes the configuration. With create it also makes the missing ones, and release
	// gives them back when the parts run.
	materials(ctx context.Context, f *facts, create bool) (release func(), err error)
	// launch starts the blackboard, if it is sett's own, and the orchestrator, and hands
	// changes to those that run. In between it calls serve with the blackboard's unit.
	launch(ctx context.Context, serve func(context.Context, *runtime.Unit) error) error
	// owner is the user that agents, and the role that prepares their trees, run as.
	owner() (uid, gid int)
}

// Up starts the instance, or applies the changes to a running one. Where another program was faster
// to take a port of a part, the start that failed is repeated with another port.
func Up(ctx context.Context, at *instance.Locator, o Options) error {
	for try := 1; ; try++ {
		u := newUp(at, o)
		err := u.run(ctx)
		if err == nil || ctx.Err() != nil || try == portTries || !outrun(u) {
			return err
		}
		at.Sayf("sett: note: another program took a port of this instance meanwhile; it is started again, with another one\n")
	}
}

// outrun says whether a port of a part that was not started is another program's.
func outrun(u *upRun) bool {
	if u.plan == nil || u.plan.Action == actionApply || u.c.Runtime == config.RuntimeDocker {
		return false
	}
	return slices.ContainsFunc([]string{u.in.Repository, u.in.ModelGateway}, func(addr string) bool {
		return addr != "" && !vacant(addr)
	})
}

// DryRun returns the plan of an up and makes nothing.
func DryRun(ctx context.Context, at *instance.Locator, o Options) (*Plan, error) {
	u := newUp(at, o)
	u.dryRun = true
	return u.dry(ctx)
}

func newUp(at *instance.Locator, o Options) *upRun {
	return &upRun{job: job{at: at, began: at.Now(), options: o, limit: limit{whole: o.Timeout}}}
}

// dry looks and plans.
func (u *upRun) dry(ctx context.Context) (*Plan, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	grown, err := u.options.Consent.Growth(u.at, requestOf(u.facts, u.options))
	if err != nil {
		return nil, err
	}
	if _, err := u.open(ctx, instance.NoLock); err != nil {
		return nil, err
	}
	limited, cancel := u.limit.context(ctx)
	defer cancel()
	if err = u.look(limited, limited); err == nil {
		err = u.facts.unobtainable()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, u.inTime(limited, err)
	}
	u.plan.Rights = grown
	if in := instance.Replaced(ctx, u.at, u.facts.root); in != nil {
		u.plan.note(nil, "%s; --yes goes on with it", replacedBy(u, in))
	}
	noteConversion(limited, u)
	for _, doubt := range u.facts.doubts {
		if doubt.Gate == "" { // the blackboard may know those better
			u.plan.note(nil, "%s", doubtLine(doubt))
		}
	}
	return u.plan, nil
}

// run agrees on the rights of sett.yml, locks the instance, carries the plan out and says
// how it went.
func (u *upRun) run(ctx context.Context) error {
	if err := keepDescriptors(); err != nil {
		return err
	}
	if err := u.read(); err != nil {
		return err
	}
	if err := staysWithRepository(ctx, u); err != nil {
		return err
	}
	if err := u.options.Consent.Settle(u.at, requestOf(u.facts, u.options)); err != nil {
		return err
	}
	u.began = u.at.Now() // without the time of a question
	release, err := u.open(ctx, instance.LockDir)
	if err != nil {
		return err
	}
	defer u.in.LetGo(release)
	u.at.Hold.On()
	SweepBerths(ctx, u.at)
	if err := u.carryOut(ctx); err != nil {
		return u.explain(ctx, err)
	}
	return u.conclude()
}

// read reads the configuration, once: the one that is agreed to is the one that is used.
func (u *upRun) read() (err error) {
	if _, err := u.at.Named(); err != nil {
		return err
	}
	if u.facts, err = u.readConfig(); err != nil {
		return err
	}
	u.c = u.facts.desired
	if u.values, err = hostValues(u.facts, u.at.Lookup); err != nil {
		return err
	}
	if u.facts.root, err = u.at.Workspace(); err != nil {
		return err
	}
	u.facts.shown = u.at.Tilde(u.facts.root)
	return nil
}

// open opens the runtime and claims the instance.
func (u *upRun) open(ctx context.Context, lock instance.LockFunc) (release func(), err error) {
	var elsewhere map[string]string
	if u.launch, elsewhere, err = newLauncher(ctx, &u.job, u.facts.root); err != nil {
		return nil, err
	}
	if elsewhere, err = u.withLost(elsewhere); err != nil {
		return nil, err
	}
	if u.in, release, err = u.at.ClaimInstance(ctx, u.facts.root, elsewhere, lock); err != nil {
		return nil, err
	}
	err = staysOnBoard(u)
	if err == nil {
		err = u.in.NoteLost(ctx)
	}
	if err != nil {
		u.in.LetGo(release)
		return nil, err
	}
	return release, nil
}

// withLost adds the instances that have lost their state directories to the names of
// instances elsewhere.
func (u *upRun) withLost(elsewhere map[string]string) (map[string]string, error) {
	lost, err := instance.Lost(u.at, nil)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, in := range lost {
		if !in.Known() {
			all[in.Name] = in.Workspace
		}
	}
	maps.Copy(all, elsewhere)
	return all, nil
}

// carryOut looks, plans and does. Images take the time that they take.
func (u *upRun) carryOut(ctx context.Context) error {
	limited, cancel := u.limit.context(ctx)
	defer cancel()
	if err := u.look(limited, ctx); err != nil {
		return u.inTime(limited, err)
	}
	sayNotices(u.at.Sayf, u.plan.atOnce)
	if err := u.clear(limited); err != nil {
		return u.inTime(limited, err)
	}
	release, err := u.supply(ctx)
	if err != nil {
		return err
	}
	defer release()
	limited, cancel = u.limit.context(ctx)
	defer cancel()
	err = u.do(limited)
	if err == nil {
		dropTrees(limited, u)
		for _, doubt := range Doubts(ctx, u.board, u.facts.doubts) {
			u.plan.note(&u.plan.atEnd, "%s", doubtLine(doubt))
		}
	}
	if u.board != nil {
		u.board.Close()
	}
	if err == nil {
		u.dropPins(limited)
	}
	return u.inTime(limited, err)
}

// inTime makes the end of the time the reason of an error that follows from it.
func (u *upRun) inTime(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) && role.CodeOf(err) != role.TimedOut && !instance.IsOwned(err) {
		return role.Fail(role.TimedOut, fmt.Errorf("%s: %w", u.limit.over(), err), "--timeout gives it more time")
	}
	return err
}

// explain gives an error its exit code and says whether the instance runs.
func (u *upRun) explain(ctx context.Context, err error) error {
	if refusal := (*blackboard.NoWritesError)(nil); errors.As(err, &refusal) && u.plan != nil && u.plan.Action != actionApply {
		refusal.Down = true
	}
	switch {
	case ctx.Err() != nil && u.plan != nil && u.plan.Action == actionApply:
		return role.Fail(role.Interrupted, errors.New("interrupted; the instance goes on running"), "sett list")
	case ctx.Err() != nil:
		return role.Fail(role.Interrupted, errors.New("interrupted; what had been started was stopped"), "")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return role.Fail(role.Environment, err, "make room below %s", u.in.Dir)
	}
	return err
}

// conclude prints the notices that are read best at the end, and the next command.
func (u *upRun) conclude() error {
	if notices := u.plan.atEnd; len(notices) > 0 {
		u.at.Sayf("\n")
		sayNotices(u.at.Sayf, notices)
	}
	if u.plan.tells {
		u.in.Told, u.in.Unpinned, u.in.ToldValues = true, u.facts.pins.unpinned, u.in.ToldValues || u.c.Interpolates()
		if err := u.in.Save(); err != nil {
			return err
		}
	}
	name := ""
	if u.at.Flags.Name != "" {
		name = " --name " + u.in.Name
	}
	u.at.Sayf("\nNext:\n  sett forage --goal \"…\" --wait%s\n", name)
	return nil
}
