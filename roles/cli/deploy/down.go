package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// DownOptions are the flags of a sett down.
type DownOptions struct {
	All, Purge, Yes bool
	LeaveRecords    bool          // a purge leaves a Redis of the user's own alone
	Timeout         time.Duration // until another sett up or down has ended; 0: no limit
}

// downRun is one sett down.
type downRun struct {
	DownOptions
	at *instance.Locator
}

// Down stops the instance, or all of them.
func Down(ctx context.Context, at *instance.Locator, o DownOptions) error {
	if o.LeaveRecords && !o.Purge {
		return role.Fail(role.Usage, errors.New("--leave-records says what --purge leaves alone"), "sett down --purge --leave-records; sett down alone removes nothing")
	}
	d := &downRun{o, at}
	SweepBerths(ctx, at)
	if o.All {
		return d.everything(ctx)
	}
	var all []*instance.Instance
	in, err := at.Find()
	if err == nil {
		all = append(all, in)
	} else if all, err = instance.Unknown(ctx, at, err, o.Purge); err != nil {
		return err
	}
	for _, in := range all {
		if err := d.one(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// one stops one instance, after the questions about it.
func (d *downRun) one(ctx context.Context, in *instance.Instance) error {
	if !in.Known() && !in.Lost && in.Images == 0 {
		if err := d.sureOfStranger(in); err != nil {
			return err
		}
	}
	if d.Purge {
		if err := d.reaches(ctx, in); err != nil {
			return err
		}
		what := "everything that is kept of instance " + in.Name
		if in.Images > 0 {
			what = words.Count(in.Images, "image") + " that Sett built for an instance " + in.Name
			if in.Workspace != "" {
				what += " of " + role.Clean(d.at.Tilde(in.Workspace))
			}
		}
		if n := len(instance.Unlanded(ctx, d.at, in)); n > 0 {
			what += ", with " + words.Count(n, "commit") + " of results that the repository lacks"
		}
		if n := leftoversOf(ctx, d.at, in); n > 0 {
			what += ", with " + words.Count(n, "leftover") + " of tools"
		}
		if !d.LeaveRecords && instance.PurgesBoard(ctx, d.at, in) {
			what += ", and its keys on " + role.Clean(instance.Redact(in.URL))
		}
		if other := instance.OtherLedger(ctx, d.at, in); other != "" {
			what += ", and " + other
		}
		if cfg, err := in.Config(); err == nil && !d.Yes {
			if u := untoldOf(ctx, d.at, in, cfg); u.count > 0 {
				what += ", with " + u.String()
			}
		}
		if err := d.sure("Remove " + what + "?"); err != nil {
			return err
		}
	}
	err := d.end(ctx, in)
	if err != nil && ctx.Err() != nil {
		return role.Fail(role.Interrupted, errors.New("interrupted; part of the instance may still run"), "sett down goes on, sett up starts it again")
	}
	return err
}

// sureOfStranger asks whether an instance that only the engine knows is the one that is
// meant, unless the user named it. A shared engine may have another user's of that path.
func (d *downRun) sureOfStranger(in *instance.Instance) error {
	if name, err := d.at.Named(); err != nil || name != "" {
		return err
	}
	return d.sure(fmt.Sprintf("The engine has instance %s of this workspace, which this state directory does not know. Stop it?", in.Name))
}

// sure asks before an action that cannot be taken back, unless --yes answers.
func (d *downRun) sure(question string) error {
	if d.Yes {
		return nil
	}
	ok, err := d.at.Confirm(question, "--yes")
	if err == nil && !ok {
		err = role.Fail(role.Failed, errors.New("nothing was done"), "")
	}
	return err
}

// everything stops every instance of this user and of the container engine.
func (d *downRun) everything(ctx context.Context) error {
	if d.at.Flags.Name != "" {
		return role.Fail(role.Usage, errors.New("either --all or --name"), "")
	}
	all, err := d.at.All()
	if err != nil {
		return err
	}
	lost, err := instance.Lost(d.at, all)
	if err != nil {
		return err
	}
	strangers, err := d.at.Strangers(ctx, all)
	if err != nil {
		d.at.Sayf("sett: note: no container engine was asked: %s\n", words.FirstLine(err))
	}
	all = append(all, lost...)
	if d.Purge && err == nil {
		alone, err := instance.ImagesAlone(ctx, d.at)
		if err != nil {
			return err
		}
		strangers = append(strangers, alone...)
	}
	if all = append(all, strangers...); len(all) == 0 {
		d.at.Sayf("sett: no instances\n")
		return nil
	}
	if err := d.sure(d.question(all, strangers)); err != nil {
		return err
	}
	var errs []error
	for _, in := range all {
		err := d.reaches(ctx, in)
		if err == nil {
			err = d.end(ctx, in)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", in.Name, err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// question names the instances, and those of them that may be another user's.
func (d *downRun) question(all, strangers []*instance.Instance) string {
	q := "Stop " + strings.Join(instance.Names(all), ", ")
	if len(strangers) > 0 {
		q += fmt.Sprintf(" (of these, %s may be another user's: only the engine knows them)", strings.Join(instance.Names(strangers), ", "))
	}
	if d.Purge {
		q += ", and remove everything that is kept of them"
	}
	return q + "?"
}

// end stops one instance, and removes it with --purge.
func (d *downRun) end(ctx context.Context, in *instance.Instance) error {
	d.at.Hold.On()
	place, err := d.at.Place(ctx, in)
	if err != nil {
		return err
	}
	release, err := d.lock(ctx, in)
	if err != nil {
		return err
	}
	defer func() {
		if in.Lost {
			in.LetGo(release)
			return
		}
		release()
	}()
	cfg, err := in.Config()
	if err != nil {
		cfg = &config.Config{} // a stop does not fail for unknown grace periods
	}
	stranger := !in.Known() && !in.Lost
	if in.Damage != nil { // while its records tell the state
		if err := in.Save(); err != nil {
			return role.Fail(role.Failed, err, "")
		}
		d.at.Sayf("sett: the state of %s is mended\n", in.Name)
	}
	s := &stopper{at: d.at, in: in, place: place, config: cfg, tell: true, purges: d.Purge}
	if err := s.stop(ctx); err != nil {
		return err
	}
	beside, unasked, err := d.stopBeside(ctx, in, s)
	if err != nil {
		return err
	}
	if s.stopped == 0 && in.Images == 0 {
		d.at.Printf("%s was not running\n", in.Name)
	}
	d.tellUntold(s.untold)
	if d.Purge {
		return d.remove(ctx, in, place, beside, unasked)
	}
	if err := place.Clear(ctx, false); err != nil {
		return role.Fail(role.Failed, fmt.Errorf("clean up after instance %s: %w", in.Name, err), "sett down tries again")
	}
	if stranger {
		_ = os.RemoveAll(in.Dir) // it was made for the lock
		return nil
	}
	if in.Down = true; in.Known() {
		if err := in.Save(); err != nil {
			d.at.Sayf("sett: warning: %v\n", err)
		}
	}
	return nil
}

// tellUntold says that notify was not told of events.
func (d *downRun) tellUntold(u untold) {
	switch {
	case u.count > 0 && d.Purge:
		d.at.Sayf("sett: note: %s; they are removed too\n", u)
	case u.count > 0:
		d.at.Sayf("sett: note: %s; they wait for the next sett up\n", u)
	}
}

// stopBeside stops the parts that run in the other runtime. Its place may have a ledger, too; nil: it has nothing.
// unasked is the reason why the engine cannot be asked.
func (d *downRun) stopBeside(ctx context.Context, in *instance.Instance, first *stopper) (beside instance.Place, unasked, err error) {
	beside, err = instance.Beside(ctx, d.at, in)
	if err != nil && in.Runtime != config.RuntimeDocker {
		return nil, err, ctx.Err() // no down of processes waits for an engine
	}
	if err != nil || beside == nil {
		return nil, nil, err
	}
	s := *first
	s.place, s.stopped = beside, 0
	if err := s.stop(ctx); err != nil {
		if (instance.IsEngineAway(err) || in.Runtime != config.RuntimeDocker) && ctx.Err() == nil {
			return nil, err, nil
		}
		return nil, nil, err
	}
	first.stopped += s.stopped
	return beside, nil, nil
}

// lock locks the instance, after another sett up or down of it has ended.
func (d *downRun) lock(ctx context.Context, in *instance.Instance) (release func(), err error) {
	rt := in.Processes()
	release, holder, err := rt.TryLock(instance.UpLock)
	switch {
	case err == nil:
		return release, nil
	case !errors.Is(err, errLocked):
		return nil, role.Fail(role.Environment, fmt.Errorf("lock instance %s, so nothing was stopped: %w", in.Name, err),
			"make %s writable, and its file system have room (ls -ld, mount and df show both); then the same command stops it", role.ShellWord(role.Clean(in.Dir)))
	}
	d.at.Sayf("sett: waiting for another sett up or down of %s (process %d)\n", in.Name, holder)
	ctx, cancel := role.WithLimit(ctx, d.Timeout, errTooLong)
	defer cancel()
	release, err = rt.Lock(ctx, instance.UpLock)
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		err = role.Fail(role.TimedOut, fmt.Errorf("stop instance %s: another sett up or down is at work on it after %s (process %d)", in.Name, d.Timeout, holder), "--timeout gives it more time")
	}
	return release, err
}

// remove removes everything that is kept of a stopped instance, in both runtimes. unasked: the engine cannot be asked for
// its part.
func (d *downRun) remove(ctx context.Context, in *instance.Instance, place, beside instance.Place, unasked error) error {
	lost, left := instance.Unlanded(ctx, d.at, in), leftoversOf(ctx, d.at, in)
	if err := removeTree(ctx, in.TreesDir()); err != nil { // first: only tools leave files that cannot be removed
		return inTheWay(in, err, "its ledger and its store are still there", in.TreesDir())
	}
	kept := d.erase(ctx, in) // while its address is known
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d.matters(in, kept) {
		return recordsStay(in, kept, "the instance is stopped, and its state and store are still there")
	}
	other := ""
	if unasked == nil {
		other = instance.OtherLedger(ctx, d.at, in)
	}
	err := place.Clear(ctx, true)
	if beside != nil {
		err = errors.Join(err, beside.Clear(ctx, true))
	}
	if err != nil {
		return role.Fail(role.Failed, fmt.Errorf("remove what the engine keeps of instance %s: %w", in.Name, err), "sett down --purge tries again")
	}
	err = in.NotePurge(d.at.Getenv, d.at.Now())
	if beside != nil && in.Runtime != config.RuntimeDocker {
		err = errors.Join(err, instance.NoteOtherPurge(in, d.at.Getenv, d.at.Now()))
	}
	if err != nil {
		d.at.Sayf("sett: warning: %v\n", err)
	}
	if err := removeDir(ctx, in); err != nil {
		return err
	}
	if err := instance.ForgetAgreed(d.at, in); err != nil {
		d.at.Sayf("sett: warning: %v\n", err)
	}
	if other != "" {
		other = ", and " + other
	}
	if in.Images > 0 {
		d.at.Printf("removed the images that Sett built for %s\n", in.Name)
		return nil
	}
	d.at.Printf("removed what was kept of %s%s\n", in.Name, other)
	d.sayKept(ctx, in, unasked)
	if len(lost) > 0 {
		d.at.Sayf("sett: note: %s of results went with it, which the repository does not have in this form\n", words.Count(len(lost), "commit"))
	}
	if left > 0 {
		d.at.Sayf("sett: note: %s of tools went with it\n", words.Count(left, "leftover"))
	}
	d.letGo(ctx, in)
	d.sayLeft(in, kept)
	return nil
}

// sayKept names a ledger that the engine keeps after a purge of an instance of local mode: the engine cannot be asked, or
// it has a ledger of an instance of that name and workspace that this one was not seen to have.
func (d *downRun) sayKept(ctx context.Context, in *instance.Instance, unasked error) {
	again := "sett down --purge --name " + in.Name
	switch {
	case unasked != nil:
		d.at.Sayf("sett: note: what the container engine keeps of %s stays, its ledger among it, for the engine cannot be asked: %s\n", in.Name, words.FirstLine(unasked))
		d.at.Sayf("sett: hint: once it answers: %s\n", again)
	case in.Runtime != config.RuntimeDocker && !in.OnEngine && in.Workspace != "":
		if kept, err := instance.KeptOnEngine(ctx, d.at, in); err == nil && kept.Ledger {
			d.at.Sayf("sett: note: the container engine keeps a ledger of an instance %s of this workspace, which is not known to be that of this one\n", in.Name)
			d.at.Sayf("sett: hint: %s removes that, too\n", again)
		}
	}
}

// leftoversOf counts the leftovers of tools that go with an instance. Without git none is counted.
func leftoversOf(ctx context.Context, at *instance.Locator, in *instance.Instance) int {
	all, err := instance.OwnLeftovers(ctx, at, in)
	if err != nil {
		return 0
	}
	return len(all)
}

// letGo removes the refs by which an older sett held the commits of results in the
// repository. Commits that nothing else holds stay, and that is said: they may be
// somebody's work.
func (d *downRun) letGo(ctx context.Context, in *instance.Instance) {
	if in.Workspace == "" {
		return
	}
	left, err := instance.Repository(d.at, in).LetGo(ctx, in.Name)
	if err == nil && left > 0 {
		d.at.Sayf("sett: note: commits of %s that are on no branch stay in the repository: git for-each-ref %s\n",
			words.Count(left, "artefact"), git.HeldRef(in.Name, ""))
	}
}
