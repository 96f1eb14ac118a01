package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

type listCmd struct {
	All bool `help:"Also what the container engine has of instances that this user's state directory does not know."`
	textOrJSON
}

// Help is shown by `sett list --help`.
func (listCmd) Help() string {
	return `Shows all instances of this user, wherever they are. States: running, degraded (some
part does not run or is paused, or an agent is not ready), unreachable (its blackboard
or its container engine does not answer) and stopped.

Example: sett list -o json`
}

// instanceRow is what is shown of an instance. The fields' names are part of the
// interface.
type instanceRow struct {
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Runtime   string    `json:"runtime"`
	State     string    `json:"state"`
	Agents    int       `json:"agents"`
	Ready     int       `json:"agents_ready"`
	NotReady  []string  `json:"agents_not_ready"`
	Claims    int       `json:"claims_open"`
	Questions int       `json:"questions_open"`
	CreatedAt time.Time `json:"created_at,omitzero"` // absent: nobody knows
	Down      []string  `json:"parts_down"`          // of those that should run
	Paused    []string  `json:"parts_paused"`        // by the container engine
	Known     bool      `json:"known"`               // to this user's state directory; otherwise only the engine has it

	why  error // it is unreachable
	host bool  // its orchestrator is a process
	lost bool  // a part's container was removed
}

// Run shows the instances.
func (c *listCmd) Run(a *app) error {
	all, err := a.instances()
	if err != nil {
		return err
	}
	if c.All {
		strangers, err := a.strangers(a.ctx, all)
		if err != nil {
			a.sayf("note: no container engine was asked: %s\n", firstLine(err))
		}
		all = append(all, strangers...)
	}
	rows := make([]instanceRow, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		wg.Go(func() { rows[i] = a.inspect(a.ctx, in) })
	}
	wg.Wait()
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if c.json() {
		return a.printJSON(struct {
			Instances []instanceRow `json:"instances"`
		}{rows})
	}
	if len(rows) == 0 {
		a.sayf("no instances; sett up starts one\n")
		return nil
	}
	t := a.table("NAME", "STATE", "AGENTS", "CLAIMS", "QUESTIONS", "RUNTIME", "AGE", "WORKSPACE")
	for _, r := range rows {
		t.row(r.Name, stateCell(r.State), fmt.Sprintf("%d/%d ready", r.Ready, r.Agents), r.count(r.Claims), r.count(r.Questions),
			r.Runtime, r.age(a.Now()), a.tilde(r.Workspace)+r.remark())
	}
	if err := t.write(a.Stdout); err != nil {
		return err
	}
	for _, r := range rows {
		r.explain(a)
	}
	return nil
}

// count shows a number that only a blackboard which answers can give.
func (r instanceRow) count(n int) string {
	if r.State == stateStopped || r.State == stateUnreachable {
		return "-"
	}
	return strconv.Itoa(n)
}

// explain says what is wrong with an instance.
func (r instanceRow) explain(a *app) {
	if r.State == stateStopped {
		return
	}
	for _, part := range r.Down {
		a.sayf("%s: %s does not run; sett logs --name %s %s\n", r.Name, part, r.Name, part)
	}
	for _, part := range r.Paused {
		a.sayf("%s: %s is paused; docker unpause sett-%s.%s\n", r.Name, clean(part), r.Name, clean(part))
	}
	if r.why != nil {
		a.sayf("%s: %s\n", r.Name, firstLine(r.why))
	}
	for _, agent := range r.NotReady {
		a.sayf("%s: agent %s is not ready; sett logs --name %s %s\n", r.Name, agent, r.Name, agent)
	}
	keeper := slices.Contains(r.Down, runtime.ComponentKeeper) || r.Runtime == config.RuntimeDocker && !r.host
	if r.Known && (r.lost || keeper && slices.Contains(r.Down, runtime.ComponentOrchestrator)) {
		a.sayf("%s: nothing brings that back but: sett up --name %s -C %s\n", r.Name, r.Name, clean(shellWord(r.Workspace)))
	}
}

// age says how old an instance is, as far as anybody knows.
func (r instanceRow) age(now time.Time) string {
	if r.CreatedAt.IsZero() {
		return "-"
	}
	return age(now.Sub(r.CreatedAt))
}

// remark says what is peculiar about an instance.
func (r instanceRow) remark() string {
	switch {
	case !r.Known:
		return " (known to the engine only)"
	case !exists(r.Workspace):
		return " (gone)"
	}
	return ""
}

// The states of an instance as people see it.
const (
	stateRunning     = "running"
	stateDegraded    = "degraded"
	stateUnreachable = "unreachable"
	stateStopped     = "stopped"
)

func stateCell(s string) cell {
	return cell{s, map[string]style{stateRunning: good, stateDegraded: warn, stateUnreachable: bad}[s]}
}

// inspect looks at an instance, briefly.
func (a *app) inspect(ctx context.Context, in *instance) instanceRow {
	l := instanceRow{
		Name: in.Name, Workspace: in.Workspace, Runtime: in.Runtime, CreatedAt: in.CreatedAt, State: stateStopped,
		NotReady: []string{}, Down: []string{}, Paused: []string{}, Known: in.known(), host: in.Host,
	}
	cfg, err := in.config()
	if err != nil && l.Known {
		return l
	}
	if err != nil {
		cfg = &config.Config{}
	}
	l.Agents = len(cfg.Agents)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	place, err := a.place(ctx, in)
	var units []runtime.Unit
	if err == nil {
		units, err = place.List(ctx, nil)
	}
	if err != nil {
		l.State, l.why = stateUnreachable, err
		return l
	}
	running := map[string]runtime.Unit{}
	for _, u := range units {
		if u.Running {
			running[u.Name] = u
		}
		if u.Paused {
			l.Paused = append(l.Paused, u.Name)
		}
	}
	if len(running) == 0 {
		return l
	}
	l.State = stateRunning
	if len(l.Paused) > 0 {
		l.State = stateDegraded
	}
	for _, part := range in.parts() {
		if _, ok := running[part]; !ok {
			l.Down, l.State = append(l.Down, part), stateDegraded
			// What has ended is started again; a container that was removed is not.
			made := slices.ContainsFunc(units, func(u runtime.Unit) bool { return u.Name == part })
			l.lost = l.lost || !made && in.Runtime == config.RuntimeDocker && (!in.Host || part == runtime.ComponentBlackboard)
		}
	}
	if !l.Known {
		return l // nobody here has its blackboard's password
	}
	if err := l.read(ctx, a, in, running, cfg.Names()); err != nil {
		l.State = stateUnreachable
		if len(l.Down)+len(l.Paused) == 0 { // they say enough
			l.why = err
		}
	}
	return l
}

// parts are the units that an instance has to have, besides its agents.
func (in *instance) parts() []string {
	parts := []string{runtime.ComponentOrchestrator}
	if !in.External {
		parts = append([]string{runtime.ComponentBlackboard}, parts...)
	}
	if in.Runtime != config.RuntimeDocker || in.Host {
		parts = append(parts, runtime.ComponentKeeper)
	}
	return parts
}

// read asks the blackboard.
func (r *instanceRow) read(ctx context.Context, a *app, in *instance, running map[string]runtime.Unit, agents []string) error {
	b, err := redis.Open(ctx, redis.Options{
		URL: in.URL, Instance: in.Name, Name: "sett-list", Timeout: time.Second, Retries: -1, CAFile: a.Getenv(env.RedisCAFile),
	})
	if err != nil {
		return err
	}
	defer b.Close()
	present, err := b.Agents(ctx)
	if err != nil {
		return err
	}
	now, err := b.ServerTime(ctx)
	if err != nil {
		return err
	}
	for _, name := range agents {
		if unit, ok := running[agentUnit(name)]; ok && isPresent(present[name], unit, now) {
			r.Ready++
			continue
		}
		r.NotReady, r.State = append(r.NotReady, name), stateDegraded
	}
	claims, err := b.OpenClaims(ctx)
	if err != nil {
		return err
	}
	questions, err := b.OpenQuestions(ctx)
	r.Claims, r.Questions = len(claims), len(questions)
	return err
}
