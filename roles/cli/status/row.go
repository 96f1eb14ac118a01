package status

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/runtime"
)

// Row is an instance in the list. The fields' names are part of the interface.
type Row struct {
	Name         string       `json:"name"`
	Workspace    string       `json:"workspace"`
	Runtime      string       `json:"runtime"`
	State        string       `json:"state"` // running, degraded, unreachable, lost or stopped
	Agents       int          `json:"agents"`
	Ready        *int         `json:"agents_ready,omitempty"` // absent: its blackboard cannot be read, nor can it say the three numbers that end in _open
	NotReady     []string     `json:"agents_not_ready"`
	Unhealthy    []string     `json:"agents_unhealthy"` // their newest bid could not be evaluated, or they are unfit
	Claims       *int         `json:"claims_open,omitempty"`
	Questions    *int         `json:"questions_open,omitempty"`
	Gates        *int         `json:"gates_open,omitempty"`     // artefacts that wait for approval
	CreatedAt    time.Time    `json:"created_at,omitzero"`      // absent: nobody knows
	Down         []string     `json:"parts_down"`               // of those that should run
	Paused       []string     `json:"parts_paused"`             // by the container engine
	Restarting   []string     `json:"parts_restarting"`         // they have ended, and are being started again
	Known        bool         `json:"known"`                    // to this user's state directory; otherwise only the engine or its processes have it
	HealthURL    string       `json:"health_url"`               // base address of health and metrics; empty: the orchestrator does not run, or serves none
	NoWrites     string       `json:"refuses_writes,omitempty"` // the server's words; absent: the blackboard takes writes
	Unled        string       `json:"nobody_leads,omitempty"`   // for how long, in words; absent: an orchestrator leads
	Notifier     *Notifier    `json:"notifier,omitempty"`       // absent: it has no trouble, as far as it says
	OtherSchema  string       `json:"other_schema,omitempty"`   // the form of the records that this sett does not read; absent: it reads them
	NoLedger     string       `json:"ledger_lost,omitempty"`    // unmarked, foreign or older: it is not the blackboard of before
	Models       []view.Spent `json:"models,omitempty"`         // the calls of all goals by model; absent: there are none
	ModelsPaused bool         `json:"models_paused,omitempty"`  // a person stopped all calls
	ModelsPause  *view.Pause  `json:"models_pause,omitempty"`   // absent: nobody did

	// With -v, of an instance that answers:
	Parts     []Part      `json:"parts,omitzero"`
	Details   []Agent     `json:"agents_detail,omitzero"`
	Waits     []view.Wait `json:"waits,omitzero"`
	WaitsMore int         `json:"waits_more,omitempty"` // open work that was not looked at
	Stopping  bool        `json:"stopping,omitempty"`
	Disk      Disk        `json:"disk,omitzero"` // absent: not measured yet

	in   *instance.Instance
	why  error // it is unreachable, or its blackboard refuses writes or has another ledger
	gone error // its blackboard has not the ledger of before; with the ways on
	host bool  // its orchestrator is a process
	lost bool  // a part's container was removed

	asked bool // its blackboard was

	running []string // its parts, with State Lost

	refusal *blackboard.NoWritesError // nil: the blackboard takes writes
	schema  *blackboard.SchemaError   // nil: this sett reads its records
	reasons []string                  // of Unhealthy
}

// Table shows instances to people, with the reasons why one does not run as it should.
func Table(at *instance.Locator, rows []Row) error {
	if len(rows) == 0 {
		at.Sayf("sett: no instances; sett up starts one\n")
		return nil
	}
	if err := overview(at, rows).Write(at.Stdout); err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.detailText(at); err != nil {
			return err
		}
	}
	for _, r := range rows {
		r.explain(at)
	}
	return nil
}

// leastPath is the room that the workspace has in the list, if need be in place of columns
// that say less.
const leastPath = 20

// overview is the table of instances. On a narrow terminal it lacks some columns.
func overview(at *instance.Locator, rows []Row) *term.Table {
	columns, _ := term.Size(at.Stdout)
	dispensable := []string{"RUNTIME", "AGE", "CLAIMS"}
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Gates != nil && *r.Gates > 0 }) {
		dispensable = append(dispensable, "GATES")
	}
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Questions != nil && *r.Questions > 0 }) {
		dispensable = append(dispensable, "QUESTIONS")
	}
	for lacks := 0; ; lacks++ {
		t := tableWithout(at, rows, dispensable[:lacks])
		wide := 0
		widths := t.Widths()
		for _, n := range widths {
			wide += n + 2
		}
		path := widths[len(widths)-1]
		if wide-2-path+min(path, leastPath) <= columns || columns <= 0 || lacks == len(dispensable) {
			return t
		}
	}
}

// tableWithout is the table without some of its columns.
func tableWithout(at *instance.Locator, rows []Row, lacks []string) *term.Table {
	names := []string{"NAME", "STATE", "AGENTS", "CLAIMS", "QUESTIONS", "GATES", "RUNTIME", "AGE", "WORKSPACE"}
	wanted := func(all []any) (some []any) {
		for i, v := range all {
			if !slices.Contains(lacks, names[i]) {
				some = append(some, v)
			}
		}
		return some
	}
	t := at.Table(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(lacks, name) })...)
	for _, r := range rows {
		t.Row(wanted([]any{r.Name, stateCell(r.State), r.ready(), count(r.Claims), count(r.Questions), count(r.Gates),
			r.Runtime, r.age(at.Now()), term.Cell{Text: at.Tilde(r.Workspace) + r.remark(), Path: true}})...)
	}
	return t
}

// WaysOn says how to go on without the ledger of before; empty: it is there.
func (r Row) WaysOn() string {
	if hinted := (*role.Error)(nil); errors.As(r.gone, &hinted) {
		return hinted.Hint
	}
	return ""
}

// count shows a number that only a blackboard which can be read gives.
func count(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// ready shows how many agents are ready.
func (r Row) ready() string {
	if r.Ready == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d ready", *r.Ready, r.Agents)
}

// Schema is the error about records of a form that this sett does not read; nil: it reads them. The instance may run well.
func (r Row) Schema() *blackboard.SchemaError { return r.schema }

// explain says why an instance is not running as it should.
func (r Row) explain(at *instance.Locator) {
	if r.State == Stopped {
		return
	}
	if r.State == Lost {
		at.Sayf("sett: %s: its state directory is gone, and processes of it run: %s\n", r.Name, role.Clean(strings.Join(r.running, ", ")))
		at.Sayf("sett: hint: %s\n", r.in.LostCure())
		return
	}
	for _, part := range r.Down {
		at.Sayf("sett: %s: %s does not run; sett logs --name %s %s\n", r.Name, part, r.Name, part)
	}
	for _, part := range r.Restarting {
		at.Sayf("sett: %s: %s is being restarted by %s; sett logs --name %s %s\n", r.Name, role.Clean(part), r.in.Restarter(), r.Name, role.Clean(part))
	}
	for _, part := range r.Paused {
		at.Sayf("sett: %s: %s is paused; docker unpause sett-%s.%s\n", r.Name, role.Clean(part), r.Name, role.Clean(part))
	}
	if r.Unled != "" {
		at.Sayf("sett: %s: %s; sett logs --name %s orchestrator\n", r.Name, r.Unled, r.Name)
	}
	if r.Notifier != nil {
		at.Sayf("sett: %s: %s; sett logs --name %s notifier\n", r.Name, r.Notifier.Text(), r.Name)
	}
	if r.why != nil {
		at.Sayf("sett: %s: %s\n", r.Name, words.FirstLine(r.why))
	}
	if r.schema != nil {
		at.Sayf("sett: %s: %v\n", r.Name, r.schema)
		at.Sayf("sett: hint: %s\n", r.schema.Remedy())
	}
	if cure := r.Cure(); cure != "" {
		at.Sayf("sett: hint: %s\n", cure)
	}
	if denied := (*blackboard.DeniedError)(nil); errors.As(r.why, &denied) {
		at.Sayf("sett: hint: %s\n", denied.Remedy())
	}
	if ways := r.WaysOn(); ways != "" {
		at.Sayf("sett: hint: %s\n", ways)
	}
	for _, agent := range r.unheard() {
		at.Sayf("sett: %s: agent %s is not ready; sett logs --name %s %s\n", r.Name, agent, r.Name, agent)
	}
	for i, agent := range r.Unhealthy {
		at.Sayf("sett: %s: agent %s is %s\n", r.Name, agent, role.Clean(r.reasons[i]))
	}
	keeper := slices.Contains(r.Down, runtime.ComponentKeeper) || r.Runtime == config.RuntimeDocker && !r.host
	if r.Known && (r.lost || keeper && slices.Contains(r.Down, runtime.ComponentOrchestrator)) {
		at.Sayf("sett: %s: nothing brings that back but: %s\n", r.Name, at.UpLine(r.in))
	}
}

// age says how old an instance is, as far as anybody knows.
func (r Row) age(now time.Time) string {
	if r.CreatedAt.IsZero() {
		return "-"
	}
	return words.Age(now.Sub(r.CreatedAt))
}

// remark says how an instance differs from a usual one.
func (r Row) remark() string {
	switch {
	case !r.Known && r.State != Lost:
		return " (known to the engine only)"
	case !instance.Exists(r.Workspace):
		return " (gone)"
	}
	return ""
}

// The states of an instance as people see it.
const (
	Running     = "running"
	Degraded    = "degraded"
	Unreachable = "unreachable"
	Lost        = "lost"
	Stopped     = "stopped"
)

func stateCell(s string) term.Cell {
	return term.Cell{Text: s, As: map[string]term.Style{Running: term.Good, Degraded: term.Warn, Unreachable: term.Bad, Lost: term.Bad}[s]}
}

// unheard are the agents that are not ready for a reason that they do not tell.
func (r Row) unheard() []string {
	return slices.DeleteFunc(slices.Clone(r.NotReady), func(name string) bool { return slices.Contains(r.Unhealthy, name) })
}

// Busy says whether the blackboard answers nobody, because a script on it has no end.
func (r Row) Busy() bool { return errors.Is(r.why, blackboard.ErrBusy) }

// Cure is the way to mend a blackboard that does not answer, refuses or cannot be read; empty: it is well, or its log says more.
func (r Row) Cure() string {
	if !r.asked || r.gone != nil || r.why == nil {
		return ""
	}
	return instance.Cure(r.in, r.why)
}

// Troubles lists the troubles of an instance, on one line.
func (r Row) Troubles() string {
	var all []string
	for _, c := range []struct {
		what  string
		parts []string
	}{{"does not run", r.Down}, {"being restarted by " + r.in.Restarter(), r.Restarting}, {"paused", r.Paused}, {"not ready", r.unheard()}, {"unhealthy", r.Unhealthy}} {
		if len(c.parts) > 0 {
			all = append(all, strings.Join(c.parts, ", ")+" "+c.what)
		}
	}
	if r.Unled != "" {
		all = append(all, r.Unled)
	}
	if r.Notifier != nil {
		all = append(all, r.Notifier.Text())
	}
	if r.why != nil {
		all = append(all, words.FirstLine(r.why))
	}
	return strings.Join(all, "; ")
}
