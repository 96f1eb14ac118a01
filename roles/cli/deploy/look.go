package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// facts are everything that a plan follows from. Looking makes nothing.
type facts struct {
	desired   *config.Config   // sett.yml, the flags and the environment
	file      string           // sett.yml's path
	root      string           // the workspace
	shown     string           // the workspace as people read it
	sett      string           // the version of this program
	landlock  int              // the kernel's version of Landlock, where tools have walls; 0: none
	boardSaid bool             // sett.yml says whether the blackboard is sett's own, or names an image of Redis
	beyond    []config.Right   // that the runtime adds, which sett.yml does not name
	asBefore  bool             // neither sett.yml nor a flag names the runtime
	rights    []config.Right   // of sett.yml, whatever the flags say
	doubts    []config.Warning // about sett.yml
	unset     []string         // sentences about variables of the host that are wanted and not set

	state      instance.State // of the instance, as its directory has it
	known      bool           // the instance's directory has a state
	lost       bool           // it had one: processes run
	stopping   bool           // a sett down was interrupted
	repository bool           // the workspace is a git repository
	units      []runtime.Unit
	beside     []string       // parts that run in the other runtime, where the instance has none
	unseen     error          // the units of the former runtime cannot be listed
	before     *config.Config // the configuration of the running instance
	last       *config.Config // that with which the instance was last started; nil: there is none that can be read
	address    string         // where sett's own blackboard was and can stay; empty: nowhere
	settings   []string       // notices about what flags, variables and sett.yml say, or do not say
	notices    []string       // about programs that cannot be run
	proxies    []string       // about proxies that the model gateway may not reach
	engine     *engineFacts   // nil: with processes
	pins       pinFacts
	authority  authority // of the server of the blackboard
	upAt       string    // the blackboard with which the instance was up last: see boardOf; empty: it never was
	source     source    // of a store that is still to be made
	pointers   pointers
	care       care
	landing    string // why results cannot land for now; empty: they can, or sett.yml has no land
	borrows    string // that a repository it borrows from is gone, though HEAD needs none of its objects; empty: none is
	evicts     string // a warning about a blackboard that may drop records; empty: it does not
}

// engineFacts are the facts about a container engine.
type engineFacts struct {
	names   containerNames
	control string // the reference of sett's own image
	brain   string // the id of the orchestrator's image and binary
	images  []PlannedImage
	volumes []PlannedThing  // of binaries
	present map[string]bool // networks and volumes of the instance
	built   bool            // builds were made: the image of each agent is known
	missing error           // images that are neither there nor can be made
	notices []string        // for a new start: about the engine and the workspace in it
}

// containerNames are the names of an instance's things on the engine.
type containerNames interface {
	ContainerName(unit string) string
	Network(reach string) string
	LedgerVolume() string
	ControlVolume() string
}

// runs says whether the instance runs, so that an up changes it.
func (f *facts) runs() bool { return runs(f.units) && !f.stopping }

// moved says whether the units of the instance are in another runtime than the desired.
func (f *facts) moved() bool { return f.state.Runtime != "" && f.state.Runtime != f.desired.Runtime }

// unobtainable is the error about images that are neither there nor can be made.
func (f *facts) unobtainable() error {
	if f.engine == nil {
		return nil
	}
	return f.engine.missing
}

// cleared updates the facts when all units have been stopped.
func (f *facts) cleared(now instance.State) {
	f.units, f.stopping, f.state = nil, false, now
}

// runs says whether an instance with these units is running.
func runs(units []runtime.Unit) bool {
	return slices.ContainsFunc(units, func(u runtime.Unit) bool {
		c := u.Labels[runtime.LabelComponent]
		return (u.Running || u.Restarting) && (c == runtime.ComponentKeeper || c == runtime.ComponentOrchestrator)
	})
}

// look observes the instance and its runtime, and makes the plan. Images have a context
// of their own, since they count for no time limit.
func (u *upRun) look(ctx, images context.Context) error {
	f := u.facts
	f.state, f.known, f.stopping = u.in.State, u.in.Known(), u.in.Stopping()
	f.lost = u.in.Lost
	f.upAt = upAt(u.in)
	placeAuthority(u)
	f.repository = instance.Exists(filepath.Join(f.root, ".git"))
	if err := u.lookAtUnits(ctx); err != nil {
		return err
	}
	if err := f.refusal(); err != nil {
		return err
	}
	if err := lookAtSchema(ctx, u); err != nil {
		return err
	}
	if !f.moved() && !f.state.External {
		f.address = boardAddress(f.state.URL, f.units)
	}
	u.in.Workspace, u.in.ConfigFile = f.root, f.file
	if err := lookAtRepository(ctx, u); err != nil {
		return err
	}
	if _, err := u.launch.materials(images, f, false); err != nil {
		return err
	}
	noteValues(f, u.values)
	if err := errors.Join(noteWalls(u), noteModels(u)); err != nil {
		return err
	}
	if err := u.lookAtPrograms(); err != nil {
		return err
	}
	noteRoom(u)
	u.plan = newPlan(f)
	if err := lookAtOwner(ctx, u); err != nil {
		return err
	}
	noteRemoved(ctx, u)
	return nil
}

// lookAtUnits lists the units, in the runtime where the instance was until now.
func (u *upRun) lookAtUnits(ctx context.Context) (err error) {
	f := u.facts
	f.last, _ = u.in.Config()
	if u.in.Runtime == "" {
		u.in.Runtime = f.desired.Runtime
	}
	u.place, err = u.at.Place(ctx, u.in)
	switch {
	case err != nil && f.moved():
		f.unseen = err
		return nil
	case err != nil:
		return err
	}
	if f.units, err = u.place.List(ctx, nil); err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if f.runs() && f.known {
		f.before, err = u.in.Config()
		f.before = placedSince(f, f.before)
	}
	return errors.Join(err, lookElsewhere(ctx, u))
}

// lookElsewhere looks for parts in the runtime where the instance should have none, as after its state directory was lost
// or brought back. Those that it finds refuse this up.
func lookElsewhere(ctx context.Context, u *upRun) (err error) {
	f := u.facts
	switch {
	case f.known && u.in.Runtime == config.RuntimeDocker:
		f.beside, err = instance.Strayed(ctx, u.in)
	case f.known && u.in.OnEngine:
		for _, unit := range onEngine(ctx, u) {
			if unit.Running {
				f.beside = append(f.beside, unit.Name)
			}
		}
	case !f.known && u.in.Runtime != config.RuntimeDocker && !f.runs():
		if there := onEngine(ctx, u); runs(there) {
			f.units = there
		}
	}
	return err
}

// onEngine lists the containers of an instance without a state directory. Without an engine there are none.
func onEngine(ctx context.Context, u *upRun) []runtime.Unit {
	asked := *u.in
	asked.Workspace = u.facts.root
	kept, err := instance.KeptOnEngine(ctx, u.at, &asked)
	if err != nil {
		return nil
	}
	return kept.Units
}

// refusal is the error about an up that cannot begin.
func (f *facts) refusal() error {
	switch {
	case f.unseen != nil && !f.state.Down: // its clan may run: two would share its store and its trees
		return role.Fail(role.Environment, fmt.Errorf("instance %s was up with runtime %s, and whether parts of it still run cannot be seen: %w", f.state.Name, f.state.Runtime, f.unseen),
			"once the engine answers: sett down; or begin another instance beside it: sett up --runtime process --name NAME")
	case len(f.beside) > 0:
		is, run := "containers", "processes"
		if f.state.Runtime != config.RuntimeDocker {
			is, run = "local mode", "containers"
		}
		return role.Fail(role.Failed, fmt.Errorf("instance %s is one of %s, and parts of it run as %s: %s", f.state.Name, is, run, role.Clean(strings.Join(f.beside, ", "))),
			"sett down --name %s ends them; sett up goes on then", f.state.Name)
	case !f.runs():
		return nil
	case !f.known && f.lost:
		return role.Fail(role.Failed, fmt.Errorf("the state directory of instance %s is gone, and parts of it run", f.state.Name),
			"sett down --name %s ends them; sett up begins anew then", f.state.Name)
	case !f.known:
		return role.Fail(role.Failed, fmt.Errorf("instance %s of this workspace runs already, and its password is in another state directory", f.state.Name),
			"whoever started it can use it; sett down --name %s ends it", f.state.Name)
	case config.Diff(f.before, f.desired).Instance:
		return role.Fail(role.Usage, fmt.Errorf("instance %s runs, and %s, or what the flags say of it, changed in runtime, services, redis or where the orchestrator runs", f.state.Name, instance.ConfigName),
			"sett up with the flags that it was started with%s, or sett down && sett up; for now it goes on as it was", flagsOf(f.before, f.desired))
	}
	return nil
}

// boardAddress is where sett's own blackboard of that URL is or can be again; empty:
// another program has the port.
func boardAddress(at string, units []runtime.Unit) string {
	old, err := url.Parse(at)
	if err != nil || old.User == nil || old.Hostname() != "127.0.0.1" {
		return ""
	}
	serves := func(u runtime.Unit) bool {
		return u.Running && u.Labels[runtime.LabelComponent] == runtime.ComponentBlackboard
	}
	if slices.ContainsFunc(units, serves) {
		return old.Host
	}
	if !vacant(old.Host) {
		return ""
	}
	return old.Host
}

// vacant says whether a part can listen at an address of this machine.
func vacant(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
