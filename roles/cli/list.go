package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/runtime"
)

type listCmd struct {
	textOrJSON
}

// Help is shown by `sett list --help`.
func (listCmd) Help() string {
	return `Shows all instances of this user, wherever they are. States: running, degraded (some
part does not run, or an agent is not ready), unreachable (its blackboard does not
answer) and stopped.

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
	CreatedAt time.Time `json:"created_at"`
	Down      []string  `json:"parts_down"` // of those that should run
}

// Run shows the instances.
func (c *listCmd) Run(a *app) error {
	all, err := a.instances()
	if err != nil {
		return err
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
			r.Runtime, age(a.Now().Sub(r.CreatedAt)), a.tilde(r.Workspace)+gone(r.Workspace))
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
	for _, agent := range r.NotReady {
		a.sayf("%s: agent %s is not ready; sett logs --name %s %s\n", r.Name, agent, r.Name, agent)
	}
	if slices.Contains(r.Down, runtime.ComponentKeeper) && slices.Contains(r.Down, runtime.ComponentOrchestrator) {
		a.sayf("%s: nothing is left to bring them back; sett up --name %s -C %s does\n", r.Name, r.Name, clean(a.tilde(r.Workspace)))
	}
}

func gone(workspace string) string {
	if exists(workspace) {
		return ""
	}
	return " (gone)"
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
		NotReady: []string{}, Down: []string{},
	}
	cfg, err := in.config()
	if err != nil {
		return l
	}
	l.Agents = len(cfg.Agents)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	place, err := a.place(ctx, in)
	var units []runtime.Unit
	if err == nil {
		units, err = place.List(ctx, nil)
	}
	running := map[string]runtime.Unit{}
	for _, u := range units {
		if u.Running {
			running[u.Name] = u
		}
	}
	if err != nil || len(running) == 0 {
		return l
	}
	l.State = stateRunning
	parts := []string{runtime.ComponentOrchestrator, runtime.ComponentKeeper}
	if !in.External {
		parts = append([]string{runtime.ComponentBlackboard}, parts...)
	}
	for _, part := range parts {
		if _, ok := running[part]; !ok {
			l.Down, l.State = append(l.Down, part), stateDegraded
		}
	}
	if err := l.read(ctx, a, in, running, cfg.Names()); err != nil {
		l.State = stateUnreachable
	}
	return l
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
