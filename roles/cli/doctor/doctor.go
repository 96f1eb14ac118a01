// Package doctor checks everything that Sett needs on a machine, and names the remedy of
// each problem. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// The states of a finding.
const (
	OK      = "ok"
	Warning = "warning"
	Problem = "problem"
	Skipped = "skipped"
)

// Finding is the result of a check about one thing. The fields' names, and the
// names of checks, are part of the interface.
type Finding struct {
	Check   string `json:"check"`
	Subject string `json:"subject,omitempty"` // which of several things it is about
	Status  string `json:"status"`            // ok, warning, problem or skipped
	Finding string `json:"finding"`           // one line
	Do      string `json:"do,omitempty"`      // the remedy; absent: nothing
}

func fine(subject, format string, args ...any) Finding {
	return Finding{Subject: subject, Status: OK, Finding: fmt.Sprintf(format, args...)}
}

func warning(subject, do, format string, args ...any) Finding {
	return Finding{Subject: subject, Status: Warning, Finding: fmt.Sprintf(format, args...), Do: do}
}

func problem(subject, do, format string, args ...any) Finding {
	return Finding{Subject: subject, Status: Problem, Finding: fmt.Sprintf(format, args...), Do: do}
}

func skipped(format string, args ...any) Finding {
	return Finding{Status: Skipped, Finding: fmt.Sprintf(format, args...)}
}

// wrong is a problem with an error's own hint.
func wrong(subject string, err error) Finding {
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

// exam is one run of the doctor: the data that checks share.
type exam struct {
	at        *instance.Locator
	root      string               // of the workspace; empty: there is none
	instances []*instance.Instance // all that this user has
	meant     *instance.Instance   // nil: none, or none is known
	meantErr  error
	sheet     sheet // sett.yml
	engines   engineExam
	space     func(path string) (space, error)
}

// engineExam is the engine once it has been asked for.
type engineExam struct {
	done   chan struct{}
	engine *containerEngine
	err    error
	late   bool // it took all the time there was
}

// checks are all checks, in the order in which they are shown.
var checks = []struct {
	name string
	run  func(x *exam, ctx context.Context) []Finding
}{
	{"sett", (*exam).sett},
	{"configuration", (*exam).configuration},
	{"commands", (*exam).commands},
	{"engine", (*exam).engine},
	{"hardening", (*exam).hardening},
	{"walls", (*exam).walls},
	{"images", (*exam).images},
	{"models", (*exam).models},
	{"traces", (*exam).traces},
	{"git", (*exam).git},
	{"repository", (*exam).repository},
	{"state", (*exam).state},
	{"disk", (*exam).disk},
	{"ports", (*exam).ports},
	{"limits", (*exam).limits},
	{"clock", (*exam).clock},
	{"instance", (*exam).health},
	{"blackboard", (*exam).blackboard},
	{"results", (*exam).results},
	{"leftovers", (*exam).leftovers},
}

// Run runs all checks side by side and prints the findings. A problem makes it an error
// of the environment.
func Run(ctx context.Context, at *instance.Locator, form term.Form) error {
	limited, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	x := newExam(limited, at)
	results := make([]chan []Finding, len(checks))
	for i, check := range checks {
		results[i] = make(chan []Finding, 1) // a check that is too late is not waited for
		go func() { results[i] <- check.run(x, limited) }()
	}
	var all []Finding
	for i, check := range checks {
		for _, f := range await(limited, results[i]) {
			f.Check, f.Finding, f.Do = check.name, oneLine(f.Finding), oneLine(f.Do)
			all = append(all, f)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return report(at, form, all)
}

// await takes a check's findings. One that does not end when its time is over gets a
// moment more to say so itself.
func await(ctx context.Context, result <-chan []Finding) []Finding {
	select {
	case fs := <-result:
		return fs
	case <-ctx.Done():
	}
	select {
	case fs := <-result:
		return fs
	case <-time.After(200 * time.Millisecond):
		return []Finding{warning("", "", "no answer within %s", doctorTime)}
	}
}

// newExam gathers the data that checks share, and begins to ask for the engine.
func newExam(ctx context.Context, at *instance.Locator) *exam {
	x := &exam{at: at, space: spaceOf, engines: engineExam{done: make(chan struct{})}}
	x.root, _ = at.Workspace() // a check that needs it reports that there is none
	x.instances, x.meantErr = at.All()
	if x.meantErr == nil {
		x.meant, x.meantErr = at.Find()
	}
	x.sheet = readSheet(ctx, at)
	go func() {
		defer close(x.engines.done)
		limited, cancel := context.WithTimeout(ctx, engineTime)
		defer cancel()
		x.engines.engine, x.engines.err = at.Engine(limited)
		x.engines.late = limited.Err() != nil
	}()
	return x
}

// engineAnswer waits for the engine.
func (x *exam) engineAnswer(ctx context.Context) (*containerEngine, error) {
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
	case x.sheet.config != nil && x.sheet.runtime != "":
		return x.sheet.config.Runtime == config.RuntimeDocker, true
	case x.meant != nil:
		return x.meant.Runtime == config.RuntimeDocker, true
	}
	return true, false
}

// each runs f for every instance of interest, side by side: the one that is meant,
// else all there are.
func (x *exam) each(f func(in *instance.Instance) []Finding) []Finding {
	all := x.instances
	if x.meant != nil {
		all = []*instance.Instance{x.meant}
	}
	found := make([][]Finding, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		wg.Go(func() { found[i] = f(in) })
	}
	wg.Wait()
	var out []Finding
	for _, fs := range found {
		out = append(out, fs...)
	}
	return out
}
