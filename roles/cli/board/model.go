package board

import (
	"slices"
	"time"

	"sett/roles/cli/act"
	"sett/roles/view"
)

// kind is the kind of a pane.
type kind int

const (
	paneNow kind = iota
	paneGoals
	paneGoal
	paneThing // an artefact or a claim
	paneLogs
	paneHelp
)

// The parts of a goal.
const (
	partTimeline = "timeline"
	partResult   = "result"
	partStory    = "story"
	partGraph    = "graph"
	partChanges  = "changes"
	partLedger   = "ledger"
)

var parts = []string{partTimeline, partResult, partStory, partGraph, partChanges, partLedger}

// statuses are those that goals are narrowed to, in turn.
var statuses = []string{"", "active", "failed", "achieved", "stalled"}

// place says which values a pane shows.
type place struct {
	kind   kind
	id     string   // of the goal, artefact or claim
	part   int      // of a goal
	status string   // of goals
	args   []string // of logs: the end of the command line
	title  string   // of logs
}

// pane is a place with its values, and where its reader is.
type pane struct {
	place
	number  int // no other pane has it
	values  any // nil: not read yet
	at      time.Time
	problem *act.Problem // there are no values because of it
	filter  string
	on      string // the key of the row that the cursor is at; empty: it has none
	line    int    // and its index; -1: the cursor was not moved
	top     int    // the first line that is shown
	tail    bool   // the last lines are shown, also when more come
	log     []string
	dropped bool // older lines of the log

	broken struct { // a text, or so much of the log, in lines of so many columns
		text    string
		log     int
		columns int
		lines   []row
	}
}

const mostLog = 2000 // lines of a log that are kept, and at times twice as many

// model is the state of the board.
type model struct {
	instance      string
	columns, rows int
	now           time.Time
	started       time.Time
	clock         func(time.Time) string // a time of day for people

	stack   []*pane // the last one is shown
	numbers int
	filters bool    // the filter is being typed
	asked   *prompt // the act that is being prepared; nil: none
	message string
	bad     bool // the message tells of a failure
	until   time.Time

	matters []view.Matter // all that are open, as they were read last
	read    time.Time     // when that was
	reading bool
	again   bool // read once more
	hurry   bool // and at once: its reader wants it
	delay   int  // that reading is put off by; 0: it is not
	delays  int
	away    string
	lost    string // why reading fails
	old     time.Time
	seconds int // since the beginning
}

// An effect is something that the program does for the model, and tells it of.
type (
	effect any
	reads  struct{ pane pane }
	does   struct {
		move, id string
		wish     act.Wish
	}
	follows struct { // the log of a pane, instead of any other
		pane int
		args []string
	}
	leaves   struct{}
	suspends struct{}
	redraws  struct{}
)

// The news that the program tells.
type (
	wasRead struct { // the answer to reads
		pane    int
		place   place
		values  any
		matters []view.Matter
		err     error
		took    time.Duration
	}
	happened struct{} // there is a new entry in the ledger
	message  struct { // of the command that follows the ledger
		name, text string
	}
	logged struct { // lines of the log that is followed
		pane  int
		lines []string
	}
	logEnded struct {
		pane int
		err  error
	}
	wasDone struct { // the answer to does
		done act.Done
		err  error
	}
	passed struct{ now time.Time } // a second
	due    struct{ delay int }     // reading was put off until now
)

// Times, in seconds where they have no unit.
const (
	longestWait = 10 * time.Second // between two reads while entries come
	busyEvery   = 3                // the present is read anew while tools run, for their last lines
	quietEvery  = 30               // and in any case
	tryEvery    = 2                // a read that failed is tried again
	tellTime    = 10 * time.Second
)

// newModel begins with the present, or with a goal.
func newModel(instance, goal string, now time.Time, clock func(time.Time) string) *model {
	m := &model{instance: instance, columns: 80, rows: 24, now: now, started: now, clock: clock}
	m.push(place{kind: paneNow})
	if goal != "" {
		m.push(place{kind: paneGoal, id: goal})
	}
	return m
}

func (m *model) here() *pane { return m.stack[len(m.stack)-1] }

func (m *model) push(p place) *pane {
	m.numbers++
	next := &pane{place: p, number: m.numbers, line: -1, tail: p.kind == paneLogs}
	m.stack = append(m.stack, next)
	return next
}

// open shows a place above the one that is shown.
func (m *model) open(p place) []effect {
	next := m.push(p)
	if p.kind == paneLogs {
		return []effect{follows{next.number, p.args}}
	}
	return m.stir()
}

// home shows a pane that is under no other.
func (m *model) home(k kind) []effect {
	if m.here().kind == k {
		return nil
	}
	m.stack = m.stack[:1]
	if k == paneNow {
		return append([]effect{follows{}}, m.stir()...)
	}
	m.push(place{kind: k})
	return append([]effect{follows{}}, m.stir()...)
}

// back leaves the pane that is shown.
func (m *model) back() []effect {
	if len(m.stack) == 1 {
		return nil
	}
	left := m.here()
	m.stack = m.stack[:len(m.stack)-1]
	if left.kind == paneLogs {
		return append([]effect{follows{}}, m.stir()...)
	}
	return m.stir()
}

// source is the pane whose values are read: the one that is shown, or the present, where
// that one has none. The title counts the matters of either.
func (m *model) source() *pane {
	if k := m.here().kind; k == paneLogs || k == paneHelp {
		return m.stack[0]
	}
	return m.here()
}

// stir reads the pane that is shown, now or when the read under way has ended.
func (m *model) stir() []effect {
	if m.reading {
		m.again, m.hurry = true, true
		return nil
	}
	m.reading, m.again, m.hurry, m.delay = true, false, false, 0
	return []effect{reads{*m.source()}}
}

// renew does that where nobody pressed a key for it: a read that is put off stays so.
func (m *model) renew() []effect {
	switch {
	case m.reading:
		m.again = true
		return nil
	case m.delay != 0:
		return nil
	}
	return m.stir()
}

// tell shows a message for a while.
func (m *model) tell(text string, bad bool) {
	m.message, m.bad, m.until = text, bad, m.now.Add(tellTime)
}

// told takes news of the program.
func (m *model) told(what any) []effect {
	switch t := what.(type) {
	case wasRead:
		return m.wasRead(t)
	case happened:
		m.away = "" // an entry is told of: the blackboard is there
		return m.renew()
	case message:
		switch t.name {
		case act.Away:
			m.away = t.text
			m.age()
		case act.Back:
			m.away = ""
			return m.stir()
		}
	case logged:
		if p := m.pane(t.pane); p != nil {
			p.log = append(p.log, t.lines...)
			if len(p.log) > 2*mostLog {
				p.log, p.dropped, p.broken.lines = slices.Clone(p.log[len(p.log)-mostLog:]), true, nil
			}
		}
	case logEnded:
		if p := m.pane(t.pane); p != nil && t.err != nil {
			problem := act.ProblemOf(t.err)
			p.problem = &problem
		}
	case wasDone:
		return m.wasDone(t)
	case passed:
		return m.passed(t.now)
	case due:
		if t.delay == m.delay { // nothing was read meanwhile
			m.delay = 0
			return m.renew()
		}
	}
	return nil
}

func (m *model) pane(number int) *pane {
	for _, p := range m.stack {
		if p.number == number {
			return p
		}
	}
	return nil
}

// age notes since when the shown values are old.
func (m *model) age() {
	if m.old.IsZero() {
		m.old = m.now
	}
}

// wasRead takes values. The next read waits as long as this one took, so that a busy
// ledger does not keep a core busy.
func (m *model) wasRead(t wasRead) []effect {
	m.reading = false
	p := m.pane(t.pane)
	if p != nil && p.id == t.place.id && p.part == t.place.part && p.status == t.place.status {
		m.take(p, t)
	}
	if !m.again {
		return nil
	}
	if m.hurry || p != m.source() || p.values == nil || t.took == 0 {
		return m.stir()
	}
	m.delays++
	m.again, m.delay = false, m.delays
	return []effect{waits{min(3*t.took, longestWait), m.delay}}
}

// waits puts reading off.
type waits struct {
	time.Duration
	delay int
}

// take keeps the values of a pane.
func (m *model) take(p *pane, t wasRead) {
	if t.err != nil {
		problem := act.ProblemOf(t.err)
		if !whole(t.err) {
			m.lost = problem.Error
			m.age()
			if p.values == nil {
				p.problem = &problem
			}
			return
		}
		m.tell(problem.Error, true)
	}
	m.lost, p.problem = "", nil
	if m.away == "" {
		m.old = time.Time{}
	}
	p.values, p.at, m.matters, m.read = t.values, m.now, t.matters, m.now
}

// about are the open matters of a pane.
func (m *model) about(p *pane) []view.Matter {
	if p.kind != paneGoal && p.kind != paneThing {
		return m.matters
	}
	var some []view.Matter
	for _, x := range m.matters {
		if x.WorkflowID == p.id || x.ID == p.id {
			some = append(some, x)
		}
	}
	return some
}

// passed takes a second.
func (m *model) passed(now time.Time) []effect {
	m.now = now
	m.seconds++
	if m.message != "" && now.After(m.until) {
		m.message = ""
	}
	every := quietEvery
	if v, ok := m.source().values.(*present); ok && slices.ContainsFunc(v.Instance.Waits, isRunning) {
		every = busyEvery
	}
	if m.lost != "" || m.source().problem != nil {
		every = tryEvery
	}
	if m.seconds%every == 0 {
		return m.renew()
	}
	return nil
}
