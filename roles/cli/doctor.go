package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/docker"
)

type doctorCmd struct {
	outputs
}

// Help is shown by `sett doctor --help`.
func (doctorCmd) Help() string {
	return `Looks at everything that Sett needs here, and says what is wrong and what to do about
it. It changes nothing, pulls nothing, and takes five seconds at most. It works outside
of any workspace, too; with --name it looks at that instance.

A check is ok, a warning (it works, but not as well as it could), a problem (what you
want will not work), or skipped, with the reason. The exit code is 7 when there is a
problem, and 0 otherwise. An engine that is missing is a problem where sett.yml has
runtime: docker in it, or an instance runs in containers, and a warning elsewhere:
sett up --runtime process needs none.

Examples: sett doctor
          sett doctor -o json`
}

// The states of a finding.
const (
	findOK      = "ok"
	findWarning = "warning"
	findProblem = "problem"
	findSkipped = "skipped"
)

// finding is what a check has found about one thing. The fields' names, and the
// names of checks, are part of the interface.
type finding struct {
	Check   string `json:"check"`
	Subject string `json:"subject,omitempty"` // which of several things it is about
	Status  string `json:"status"`            // ok, warning, problem or skipped
	Finding string `json:"finding"`           // one line
	Do      string `json:"do,omitempty"`      // what to type or change; absent: nothing
}

func fine(subject, format string, args ...any) finding {
	return finding{Subject: subject, Status: findOK, Finding: fmt.Sprintf(format, args...)}
}

func warning(subject, do, format string, args ...any) finding {
	return finding{Subject: subject, Status: findWarning, Finding: fmt.Sprintf(format, args...), Do: do}
}

func problem(subject, do, format string, args ...any) finding {
	return finding{Subject: subject, Status: findProblem, Finding: fmt.Sprintf(format, args...), Do: do}
}

func skipped(format string, args ...any) finding {
	return finding{Status: findSkipped, Finding: fmt.Sprintf(format, args...)}
}

// wrong is a problem with an error's own hint.
func wrong(subject string, err error) finding {
	// A finding is one line.
	f := problem(subject, "", "%s", strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(err.Error()))
	var e *role.Error
	if errors.As(err, &e) {
		f.Do = e.Hint
	}
	return f
}

// How long a doctor takes at most. Opening an engine is a part of it, since others
// ask that engine then.
const (
	doctorTime = 4500 * time.Millisecond
	engineTime = 3 * time.Second
)

// exam is one run of the doctor: what all checks look at.
type exam struct {
	a         *app
	root      string      // of the workspace; empty: there is none
	instances []*instance // all that this user has
	meant     *instance   // nil: none, or none is known
	meantErr  error
	sheet     sheet // sett.yml
	engines   engineExam
	space     func(path string) (space, error)
}

// engineExam is the engine once it has been asked for.
type engineExam struct {
	done   chan struct{}
	engine *docker.Engine
	err    error
	late   bool // it took all the time there was
}

// checks are all checks, in the order in which they are shown.
var checks = []struct {
	name string
	run  func(x *exam, ctx context.Context) []finding
}{
	{"sett", (*exam).sett},
	{"configuration", (*exam).configuration},
	{"commands", (*exam).commands},
	{"engine", (*exam).engine},
	{"hardening", (*exam).hardening},
	{"images", (*exam).images},
	{"git", (*exam).git},
	{"repository", (*exam).repository},
	{"state", (*exam).state},
	{"disk", (*exam).disk},
	{"ports", (*exam).ports},
	{"limits", (*exam).limits},
	{"clock", (*exam).clock},
	{"instance", (*exam).health},
	{"blackboard", (*exam).blackboard},
	{"leftovers", (*exam).leftovers},
}

// Run runs all checks side by side.
func (c *doctorCmd) Run(a *app) error {
	ctx, cancel := context.WithTimeout(a.ctx, doctorTime)
	defer cancel()
	x := newExam(ctx, a)
	results := make([]chan []finding, len(checks))
	for i, check := range checks {
		results[i] = make(chan []finding, 1) // whoever comes too late is not waited for
		go func() { results[i] <- check.run(x, ctx) }()
	}
	var all []finding
	for i, check := range checks {
		for _, f := range await(ctx, results[i]) {
			f.Check, f.Finding, f.Do = check.name, oneLine(f.Finding), oneLine(f.Do)
			all = append(all, f)
		}
	}
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	return c.report(a, all)
}

// await takes a check's findings. One that does not end when its time is over gets a
// moment more to say so itself.
func await(ctx context.Context, result <-chan []finding) []finding {
	select {
	case fs := <-result:
		return fs
	case <-ctx.Done():
	}
	select {
	case fs := <-result:
		return fs
	case <-time.After(200 * time.Millisecond):
		return []finding{warning("", "", "no answer within %s", doctorTime)}
	}
}

// newExam gathers what several checks look at, and begins to ask for the engine.
func newExam(ctx context.Context, a *app) *exam {
	x := &exam{a: a, space: spaceOf, engines: engineExam{done: make(chan struct{})}}
	x.root, _ = a.workspace(ctx) // what says that there is none is said by who needs it
	x.instances, x.meantErr = a.instances()
	if x.meantErr == nil {
		x.meant, x.meantErr = a.instance(ctx)
	}
	runtime := ""
	if x.meant != nil {
		runtime = x.meant.Runtime // where sett up leaves it, if sett.yml does not say
	}
	x.sheet = a.readSheet(ctx, runtime)
	go func() {
		defer close(x.engines.done)
		limited, cancel := context.WithTimeout(ctx, engineTime)
		defer cancel()
		x.engines.engine, x.engines.err = a.engine(limited)
		x.engines.late = limited.Err() != nil
	}()
	return x
}

// engineAnswer waits for the engine.
func (x *exam) engineAnswer(ctx context.Context) (*docker.Engine, error) {
	select {
	case <-x.engines.done:
		return x.engines.engine, x.engines.err
	case <-ctx.Done():
		return nil, fmt.Errorf("ask the container engine: %w", ctx.Err())
	}
}

// inContainers says whether agents are to be containers here: as sett.yml says, or
// else as the instance was started; sure is whether anybody said so.
func (x *exam) inContainers() (containers, sure bool) {
	switch {
	case x.sheet.config != nil && x.sheet.explicit:
		return x.sheet.config.Runtime == config.RuntimeDocker, true
	case x.meant != nil:
		return x.meant.Runtime == config.RuntimeDocker, true
	}
	return true, false
}

// each runs f for every instance of interest, side by side: the one that is meant,
// else all there are.
func (x *exam) each(f func(in *instance) []finding) []finding {
	all := x.instances
	if x.meant != nil {
		all = []*instance{x.meant}
	}
	found := make([][]finding, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		wg.Go(func() { found[i] = f(in) })
	}
	wg.Wait()
	var out []finding
	for _, fs := range found {
		out = append(out, fs...)
	}
	return out
}
