package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/cli/live"
	"sett/roles/cli/logline"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view"
	"sett/runtime"
)

// While nothing happens, a follower of the ledger names the waits of open work: after
// waitsAfter without an event, and then whenever they change.
const (
	waitsAfter = 2 * time.Second
	mostWaits  = 20 // lines at a time
)

// kindWaits is the kind of a line about waits. The ledger has no such entry.
const kindWaits = "waits"

// waitsEntry is a line about waits for programs. The names of its fields are part of
// the interface.
type waitsEntry struct {
	Time     time.Time   `json:"time"`
	Kind     string      `json:"kind"`                  // "waits"
	Workflow string      `json:"workflow_id,omitempty"` // that was asked for; absent: all
	Waits    []view.Wait `json:"waits"`
	More     int         `json:"waits_more,omitempty"` // open work that was not looked at
}

// tellWaits shows the waits until the context ends.
func (v *ledgerView) tellWaits(ctx context.Context) {
	var told []view.Wait
	var foreign sayForeign
	quiet := time.NewTimer(waitsAfter)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.stirred:
			quiet.Reset(waitsAfter)
			continue
		case <-quiet.C:
		}
		waits, more, err := status.Reader(v.a.at, v.board, v.in).Waits(ctx, v.workflow)
		foreign.look(ctx, v, len(waits))
		select {
		case <-v.stirred: // behind a slow link an event was shown while they were read: they may be over
			quiet.Reset(waitsAfter)
			continue
		default:
		}
		if err == nil { // that the blackboard is away is said already
			if err := v.tell(ctx, told, waits, more); err != nil {
				return // the follower of the ledger ends too
			}
			told = waits
		}
		quiet.Reset(waitsAfter)
	}
}

// sayForeign says once that a key has another type, where there are no waits or they cannot be read: the goal may not go on
// for that.
type sayForeign struct{ said bool }

func (s *sayForeign) look(ctx context.Context, v *ledgerView, waits int) {
	if s.said || waits > 0 {
		return
	}
	if key := v.board.Foreign(ctx); key != nil {
		s.said = true
		v.say(ctx, fmt.Sprintf("%v; sett doctor says what to do", key))
	}
}

// A follower looks so often at whether an orchestrator leads. It says so when nobody does for
// some looks: a leader renews, and another one takes over, well before.
const (
	leadCheck  = 2 * time.Second
	looksUnled = 3
)

// tellLead says once that nobody leads, and once that somebody does again, until the context
// ends. The goal does not go on meanwhile, whatever it waits for.
func (v *ledgerView) tellLead(ctx context.Context) {
	looks := 0
	_ = role.Every(ctx, leadCheck, func(ctx context.Context) error {
		led, err := status.Led(ctx, v.board)
		switch {
		case err != nil: // that the blackboard is away is said already
		case !led:
			if looks++; looks == looksUnled {
				v.say(ctx, status.Unled(ctx, v.a.at, v.board, v.in))
			}
		default:
			if looks >= looksUnled {
				v.say(ctx, "an orchestrator leads again")
			}
			looks = 0
		}
		return nil
	})
}

func (v *ledgerView) say(ctx context.Context, text string) {
	v.mu.Lock() // nothing is said while a person is asked
	defer v.mu.Unlock()
	if ctx.Err() == nil {
		v.a.Sayf("sett: %s\n", text)
	}
}

// The bottom of a screen is looked at so often, and its waits are read so often: while
// something happens, and while nothing does.
const (
	drawEvery  = 250 * time.Millisecond
	readBusy   = 500 * time.Millisecond
	readIdle   = 2 * time.Second
	foldedMost = 2 * time.Second // an opened claim is kept back for so long until all have bid
)

// draw redraws the bottom of the screen until the context ends.
func (v *ledgerView) draw(ctx context.Context, heard *toolLines) {
	work, foreign := live.Work{Said: heard.last}, sayForeign{}
	stirred := true
	_ = role.Every(ctx, drawEvery, func(ctx context.Context) error {
		v.mu.Lock()
		err := v.due(foldedMost)
		v.mu.Unlock()
		if err != nil || v.screen.Still() {
			return err
		}
		select {
		case <-v.stirred:
			stirred = true
		default:
		}
		now := v.a.Now()
		if since := now.Sub(work.Read); since >= readIdle || stirred && since >= readBusy {
			stirred = false
			fresh, err := v.work(ctx)
			foreign.look(ctx, v, len(fresh.Waits))
			if err == nil { // that the blackboard is away is said already
				work.Waits, work.More, work.Matters = fresh.Waits, fresh.More, fresh.Matters
				heard.running(work.Waits)
			}
			work.Read = v.a.Now()
		}
		return v.screen.Bottom(work.Bottom(now), v.a.Paint)
	})
}

// work reads the open work.
func (v *ledgerView) work(ctx context.Context) (w live.Work, err error) {
	if !v.waits {
		return w, nil
	}
	r := status.Reader(v.a.at, v.board, v.in)
	if w.Waits, w.More, err = r.Waits(ctx, v.workflow); err != nil {
		return w, err
	}
	if slices.ContainsFunc(w.Waits, view.Wait.ByPerson) {
		w.Matters, err = view.MatterReader{Reader: r, Workflow: v.workflow}.Open(ctx)
	}
	return w, err
}

// hear follows the output of the tools that run.
func (v *ledgerView) hear(ctx context.Context, heard *toolLines) {
	place, err := v.a.at.Place(ctx, v.in)
	if err != nil {
		return // there is a bottom without it
	}
	f := &logline.Follower{Place: place, Keep: -1, Picks: true,
		Wants: func(l logline.Line) bool {
			return l.Tool() != "" && (v.workflow == "" || l.Attr(logline.Workflow) == v.workflow)
		},
		Show: func(l logline.Line) error {
			heard.hear(l)
			if v.logs {
				return v.said(l)
			}
			return nil
		},
		Sources: func(ctx context.Context) ([]logline.Source, error) {
			agents := heard.agents()
			if v.logs {
				agents = v.agents
			}
			if len(agents) == 0 {
				return nil, nil
			}
			return logline.Sources(ctx, place, v.in.LogsDir(), agents)
		}}
	o := runtime.LogOptions{Lines: lastLines}
	if v.logs {
		o = runtime.LogOptions{Lines: -1, Since: v.a.Now().Add(-time.Second)} // the goal is as young
	}
	_ = f.Run(ctx, o)
}

// lastLines are read of a log, to find the last one of a tool among Sett's own.
const lastLines = 20

// said shows a line of a tool.
func (v *ledgerView) said(l logline.Line) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.out
	if v.screen != nil {
		out = v.screen
	}
	columns, _ := term.Size(out)
	return term.WriteAll(out, l.Said(&v.a.Terminal, v.width, columns, term.Hue(slices.Index(v.agents, l.Source.Part)))+"\n")
}

// lastWords waits until the tools' last lines are shown: they come by another way than the
// ledger's entries. Workers may have ended before anybody saw them run.
func (v *ledgerView) lastWords(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lastWordsTime):
	}
}

const lastWordsTime = 700 * time.Millisecond

// toolLines are the last lines of output of the tools that run.
type toolLines struct {
	mu    sync.Mutex
	names []string          // agents with a running tool
	lines map[string]string // by agent and claim
}

// running tells which tools run now. The lines of others are forgotten.
func (t *toolLines) running(waits []view.Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.lines
	t.names, t.lines = nil, map[string]string{}
	for _, w := range waits {
		if w.What == blackboard.WaitResult {
			t.names = append(t.names, w.Agent)
			t.lines[w.Agent+" "+w.SubjectID] = old[w.Agent+" "+w.SubjectID]
		}
	}
}

func (t *toolLines) agents() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.names)
}

func (t *toolLines) hear(l logline.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := l.Source.Part + " " + l.Attr(logline.Claim)
	if _, runs := t.lines[key]; runs && strings.TrimSpace(l.Tool()) != "" {
		t.lines[key] = l.Tool()
	}
}

func (t *toolLines) last(agent, claim string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[agent+" "+claim]
}

// tell shows the waits if they changed: to people the new ones.
func (v *ledgerView) tell(ctx context.Context, told, waits []view.Wait, more int) error {
	fresh := otherThan(waits, told)
	if len(fresh) == 0 && len(otherThan(told, waits)) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := v.a.Now()
	return v.form.Entry(v.out, waitsEntry{now.UTC(), kindWaits, v.workflow, waits, more}, func() error {
		for _, w := range fresh[:min(len(fresh), mostWaits)] {
			text := role.Clean(w.Line())
			if err := v.row(now, w.WorkflowID, kindWaits, status.ToneOf(w), w.Agent, text, term.Plain); err != nil {
				return err
			}
		}
		if more += max(len(fresh)-mostWaits, 0); more > 0 && len(fresh) > 0 {
			return v.row(now, v.workflow, kindWaits, term.Dim, "", fmt.Sprintf("and %d more", more), term.Plain)
		}
		return nil
	})
}

// otherThan returns the waits that are not among others.
func otherThan(waits, others []view.Wait) []view.Wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w view.Wait) bool { return slices.ContainsFunc(others, w.Is) })
}
