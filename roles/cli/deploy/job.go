package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/cli/pin"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// job is the data that the parts of one sett up share.
type job struct {
	at      *instance.Locator
	options Options
	began   time.Time
	in      *instance.Instance // locked, unless this is a dry run
	c       *config.Config     // the desired one
	plan    *Plan
	place   instance.Place
	board   *instance.Board   // nil until it answers
	known   bool              // the board was seen before
	pinned  pin.Set           // the clan's own files, as they are in the working tree
	values  map[string]string // of the host's variables that programs get, by name
	keys    map[string]string // of models, by name; headers with values of this machine, as NAME/HEADER; proxies, by env.ProxyKey
	unfit   map[string]bool   // agents with a program that cannot be run, and "" for the notifier; nil: not known
	certain bool              // the board has that mark, or gets it, if it is used at all
	mark    blackboard.Mark   // of the board: as it was seen before, or a new one; settle makes it the board's
	limit   limit             // of what is done now
	led     bool              // the orchestrator leads
	dryRun  bool              // nothing is made
}

// save writes the state and the configuration.
func (j *job) save() error {
	if err := j.in.Save(); err != nil {
		return err
	}
	if err := instance.WriteFile(j.in.PinnedPath(), j.pinned); err != nil {
		return err
	}
	return instance.SaveConfig(j.in, j.c)
}

// labels are those of a part that exists once.
func (j *job) labels(component string) runtime.Labels {
	l := j.in.Labels()
	l[runtime.LabelComponent] = component
	return l
}

// boardEnviron tells a part where the blackboard is, and where the certificates for it are;
// empty: it needs none.
func (j *job) boardEnviron(at, ca string) []string {
	return env.Redis{
		URL: at, Timeout: j.c.Redis.Timeout, Retries: j.c.Redis.Retries, GiveUp: j.c.Redis.GiveUp,
		CAFile: ca, Mark: j.mark,
	}.Environ()
}

// hostEnviron is the environment of each part that is a process of this machine.
func (j *job) hostEnviron() []string {
	vars := env.Inherited(j.at.Environ())
	for _, v := range []struct{ name, value string }{
		{env.StateDir, j.in.Dir}, {env.Instance, j.in.Name}, {env.Config, j.in.ConfigPath()}, {env.Pins, j.in.Pins().Dir},
		{env.Workspace, j.in.Workspace}, {env.Run, j.in.Run}, {env.HealthAddr, j.in.HealthAddr()},
		{env.Lease, j.at.Getenv(env.Lease)}, {env.Courses, j.at.Getenv(env.Courses)},
	} {
		if v.value != "" {
			vars = append(vars, v.name+"="+v.value)
		}
	}
	return vars
}

// connect waits until the blackboard answers, or the unit that is to serve it has ended.
func (j *job) connect(ctx context.Context, unit *runtime.Unit) error {
	at := instance.To(j.at.Terminal, j.in, "sett-up")
	at.Timeout, at.Once, at.CAFile, at.Convert = j.c.Redis.Timeout, unit != nil, j.c.Redis.CAFile, true
	for {
		b, err := instance.Connect(ctx, at)
		if err == nil {
			j.board = b
			return nil
		}
		// Sett's own blackboard takes its own password: that is another program at its port.
		stranger := unit != nil && instance.RefusesLogin(err)
		if unit == nil || !errors.Is(err, blackboard.ErrUnavailable) && !stranger {
			return role.NotOpened(err, cmp.Or(instance.Remedy(err), instance.Silent(j.in.URL)))
		}
		if why := j.ended(ctx, unit); why != nil {
			return why
		}
		if !instance.Tick(ctx) {
			return j.late(ctx, runtime.ComponentBlackboard)
		}
	}
}

// ended returns an error if the unit does not run. A new one must not need a restart.
func (j *job) ended(ctx context.Context, unit *runtime.Unit) error {
	units, err := j.place.List(ctx, nil)
	if err != nil || ctx.Err() != nil {
		return nil // the wait goes on, or ends for its own reason
	}
	for _, now := range units {
		if now.Name == unit.Name && (now.Running || now.Restarting && j.plan.Action == actionApply) {
			return nil
		}
	}
	return role.Fail(role.Environment, j.failed(ctx, unit.Name, "ended", time.Time{}), "sett logs %s", unit.Name)
}

// announce prints the heading of the parts' lines.
func (j *job) announce() {
	j.at.Printf("%s  %s\n", j.at.Paint(j.in.Name, term.Bold), role.Clean(j.at.Tilde(j.in.Workspace)))
}

// programUnfit is what the line of an unfit part says.
const programUnfit = "its program cannot be run, see above"

// warnUnfit warns of a part with a program that cannot be run where the part is, unless up did
// before. The notifier has no agent's name.
func warnUnfit(j *job, agent, part, image, why, consequence string) {
	if j.unfit[agent] {
		return
	}
	if image != "" && j.c.Runtime == config.RuntimeDocker {
		part += " in " + role.Clean(image)
	}
	j.at.Sayf("sett: warning: %s: %s; %s\n", part, role.Clean(why), consequence)
}

// answers says that an agent has started, and in which state.
func answers(j *job, agent config.Agent, state instance.AgentState, p blackboard.Presence) {
	if state == instance.AgentUnfit {
		warnUnfit(j, agent.Name, "agent "+agent.Name, agent.Image, p.Trouble, goalsFail)
	}
	switch state {
	case instance.AgentUnfit:
		partLine(j, agent.Name, string(state), term.Bad, programUnfit)
	case instance.AgentUnwell:
		partLine(j, agent.Name, string(state), term.Warn, role.Clean(p.Trouble))
	default:
		j.ready(agent.Name, "")
	}
}

// ready prints the line of a part that is ready.
func (j *job) ready(part, detail string) {
	j.limit.moved()
	partLine(j, part, "ready", term.Good, detail)
}

// partLine prints the line of a part.
func partLine(j *job, part, state string, as term.Style, detail string) {
	name := fmt.Sprintf("  %-*s  ", partWidth(j.c), part)
	label := fmt.Sprintf("%s%s  %6s  ", name, state, words.Span(j.at.Now().Sub(j.began)))
	rest := strings.TrimPrefix(term.Hang(j.at.Stdout, label, detail), name+state)
	j.at.Printf("%s%s%s\n", name, j.at.Paint(state, as), strings.TrimRight(rest, " "))
}

// partWidth is that of the longest name of a part.
func partWidth(c *config.Config) int {
	width := len(runtime.ComponentOrchestrator)
	if len(c.Models) > 0 {
		width = max(width, len(runtime.ComponentModelGateway))
	}
	for _, name := range c.Names() {
		width = max(width, len(name))
	}
	return width
}

// blackboardDetail describes the blackboard on its line.
func (j *job) blackboardDetail() string {
	switch {
	case j.in.External:
		return "external, " + role.Clean(instance.Redact(j.in.URL))
	case j.plan.Blackboard.Kind == "embedded":
		return "embedded, " + j.board.Addr()
	}
	return role.Clean(j.c.Services.Redis.Image) + ", " + j.board.Addr()
}
