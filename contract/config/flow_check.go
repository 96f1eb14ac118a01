package config

import (
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/spelling"
)

// Warning is a doubt about a valid file.
type Warning struct {
	Problem
	// Gate is the pattern of approve that may hold nothing. An artefact of such a type on
	// the blackboard removes the doubt. Empty: it is no doubt about a gate.
	Gate string
}

// Bounds of the checks, against a file that is made to be slow.
const (
	mostFaults  = 20   // that are named
	mostNearest = 1000 // types that a name is compared with
)

// flowCheck compares makes, bids, approve and commits with each other.
type flowCheck struct {
	*Flow
	d      *decoder
	agents []entry  // in the file
	known  []string // types that get a claim
	final  []string // types that are only made as final results
	faults int
}

// checkFlow reports types that nobody makes, and warns of all else that keeps goals from
// their end. An agent that says no makes may make anything, so that a missing type is
// only a doubt then. Agents is the key of the file, and all is its value.
func (d *decoder) checkFlow(c *Config, agents, all *node) {
	f := &flowCheck{Flow: c.Flow(), d: d, agents: all.entries}
	for _, t := range f.Types {
		if t.Claimed() {
			f.known = append(f.known, t.Name)
		} else if len(t.Makers) > 0 {
			f.final = append(f.final, t.Name)
		}
	}
	f.checkBids()
	f.checkGates()
	f.checkCommits()
	if len(d.problems) > 0 {
		return
	}
	f.checkWants()
	f.checkBeginning(agents)
	f.checkEnd(agents)
	f.checkCircles()
}

// at is the place of a type's name in a list.
func (f *flowCheck) at(path, name string) position { return f.d.read.named[path+"\x00"+name] }

// made is the place that has an agent make a type: its name in makes, the adapter that makes it
// unsaid, or the agent, where shared settings do.
func (f *flowCheck) made(agent, name string) position {
	if at, ok := f.d.read.named[join("agents", agent)+".makes\x00"+name]; ok {
		return at
	}
	i := slices.IndexFunc(f.agents, func(e entry) bool { return e.key.text == agent })
	if i < 0 {
		return position{1, 1} // it cannot be: the agent was read there
	}
	own := f.agents[i]
	if i := slices.IndexFunc(own.value.entries, func(e entry) bool { return e.key.text == "adapter" }); i >= 0 {
		return own.value.entries[i].value.at
	}
	return own.key.at
}

// fault adds an error where the clan is closed, else a warning.
func (f *flowCheck) fault(at position, hint, format string, args ...any) {
	if !f.Closed() {
		f.doubt(at, hint, format, args...)
	} else if f.faults++; f.faults <= mostFaults {
		f.d.add(at, hint, format, args...)
	}
}

func (f *flowCheck) doubt(at position, hint, format string, args ...any) {
	if f.faults++; f.faults <= mostFaults {
		f.d.doubts = append(f.d.doubts, Warning{Problem: f.d.problem(at, hint, fmt.Sprintf(format, args...))})
	}
}

// meant is the hint for a type that nobody makes.
func (f *flowCheck) meant(name, otherwise string) string {
	if near := spelling.Nearest(name, f.known[:min(len(f.known), mostNearest)]); near != "" && near != name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// byRepository is the hint for a type of the role repository: no agent makes it. Empty: it is none.
func (f *flowCheck) byRepository(name string, commits bool) string {
	switch name {
	case blackboard.TypeLanding, blackboard.TypeConflict:
		switch {
		case commits:
			return "take it out: Sett makes it, always with a commit"
		case name == blackboard.TypeConflict:
			return ""
		case f.config.Land == nil:
			return "land: {onto: BRANCH, verify: true} has Sett make it before a result lands"
		}
		return "land: {verify: true} has Sett make it before a result lands"
	case blackboard.TypeLandingReview, blackboard.TypeConflictReview:
		return "take it out: Sett makes it, and a Review gets no claim; its result is sent back to the agent that made it"
	}
	return ""
}

func (f *flowCheck) checkBids() {
	for _, a := range f.config.Agents {
		path := join("agents", a.Name) + ".bids"
		for _, rule := range a.Bids {
			at := f.at(path, rule.Type)
			if strings.Contains(rule.Type, "*") {
				if f.Closed() && !slices.ContainsFunc(f.known, func(t string) bool { return blackboard.Match(rule.Type, t) }) {
					f.fault(at, f.meant(rule.Type, "the types are "+strings.Join(f.known[:min(len(f.known), mostFaults)], ", ")),
						"%s: no agent makes a type like %s", path, quote(rule.Type))
				}
				continue
			}
			f.checkMade(at, path, rule.Type)
		}
	}
}

// checkMade looks whether anybody makes a type that gets a claim.
func (f *flowCheck) checkMade(at position, path, name string) {
	t := f.index[name]
	switch {
	case t != nil && t.Claimed():
	case t != nil && len(t.Makers) > 0:
		if f.Closed() {
			f.fault(at, fmt.Sprintf("take terminal out of %s, or this out", t.Final[0]), "%s: %s is only made as a final result, which gets no claim", path, quote(name))
		}
	case f.declares() || f.Closed():
		says := "no agent makes"
		otherwise := "makes: " + name + " belongs to the agent that makes it"
		if !f.Closed() {
			says = "no agent says that it makes"
			otherwise = fmt.Sprintf("if %s does, say so: makes: %s", f.Undeclared[0], name)
		}
		hint := f.byRepository(name, path == "commits")
		if hint == "" {
			hint = f.meant(name, otherwise)
		}
		f.fault(at, hint, "%s: %s %s", path, says, quote(name))
	}
}

func (f *flowCheck) checkCommits() {
	for _, name := range f.config.Commits {
		if t := f.index[name]; t == nil || len(t.Makers) == 0 {
			if near := spelling.Nearest(name, f.final); near != "" && f.Closed() {
				f.fault(f.at("commits", name), fmt.Sprintf("did you mean %q?", near), "commits: no agent makes %s", quote(name))
				continue
			}
			f.checkMade(f.at("commits", name), "commits", name)
		}
	}
}

// checkGates looks for patterns of approve that hold nothing. A final result is held, too.
// Where agents may make any type, those that their bids name count as made.
func (f *flowCheck) checkGates() {
	types := slices.Clone(f.known)
	for _, t := range f.Types {
		if len(t.Makers) > 0 && !t.Claimed() {
			types = append(types, t.Name)
		}
	}
	if !f.Closed() {
		for _, a := range f.config.Agents {
			for _, rule := range a.Bids {
				if strings.Trim(rule.Type, "*") != "" { // a bid on every type names none
					types = append(types, rule.Type)
				}
			}
		}
	}
	for _, pattern := range f.config.Approve {
		if f.faults >= mostFaults || slices.ContainsFunc(types, func(named string) bool { return meet(pattern, named) }) {
			continue
		}
		at := f.at("approve", pattern)
		near := spelling.Nearest(pattern, types[:min(len(types), mostNearest)])
		hint := f.byRepository(pattern, false)
		if hint == "" && near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		if f.Closed() {
			f.fault(at, hint, "approve: %s holds nothing: no agent makes such a type", quote(pattern))
			continue
		}
		f.doubt(at, hint, "approve: %s fits no type in the agents' bids, and no artefact has such a type", quote(pattern))
		f.d.doubts[len(f.d.doubts)-1].Gate = pattern
	}
}

// checkWants looks for results that nobody takes up, and for work that no goal leads to.
func (f *flowCheck) checkWants() {
	for _, a := range f.config.Agents {
		for _, name := range a.Makes() {
			t := f.index[name]
			if a.settled() && len(t.Review)+len(t.Workers()) == 0 && !f.Joined(a.Name) {
				f.doubt(f.made(a.Name, name), "terminal: true makes it the result of the goal; or let an agent bid on it",
					"agents.%s: nobody bids on %s", a.Name, quote(name))
			}
		}
	}
	for _, t := range f.Types {
		if !t.Reached && f.Closed() && t.Claimed() && len(t.Workers()) > 0 && len(t.Makers) > 0 {
			a, _ := f.config.Agent(t.Makers[0])
			f.doubt(f.made(a.Name, t.Name), "let an agent make it of GoalDefined, or of what comes of that",
				"agents.%s: no goal leads to %s", a.Name, quote(t.Name))
		}
	}
}

// checkBeginning looks whether anybody works on a goal.
func (f *flowCheck) checkBeginning(agents *node) {
	if len(f.index[blackboard.TypeGoalDefined].Workers()) > 0 {
		return
	}
	hint := "bids: {GoalDefined: exclusive} belongs to the agent that begins"
	for _, t := range f.Types {
		if t.Name != blackboard.TypeGoalDefined && len(t.Makers) == 0 && spelling.Nearest(t.Name, []string{blackboard.TypeGoalDefined}) != "" {
			hint = fmt.Sprintf("%s names %s; did you mean GoalDefined?", "bids", quote(t.Name))
		}
	}
	f.doubt(agents.at, hint, "no agent works on GoalDefined, so that each goal ends at once")
}

// checkEnd looks whether any result may be final.
func (f *flowCheck) checkEnd(agents *node) {
	works := false
	for _, t := range f.Types {
		for _, name := range t.Workers() {
			a, _ := f.config.Agent(name)
			if works = true; a.MayEnd() && (t.Reached || !f.Closed()) {
				return
			}
		}
	}
	if works {
		f.doubt(agents.at, "add terminal: true to the agent that works last", "no agent makes a final result, so that each goal ends as stalled")
	}
}

// checkCircles looks for work that makes its own beginning again and again: each success
// on the way makes the next type.
func (f *flowCheck) checkCircles() {
	next := map[string][]string{}
	for _, t := range f.Types {
		for _, name := range t.Parallel {
			next[t.Name] = append(next[t.Name], f.surely(name)...)
		}
		if len(t.Exclusive) == 1 {
			next[t.Name] = append(next[t.Name], f.surely(t.Exclusive[0])...)
		}
	}
	for _, t := range f.Types {
		if !t.Reached || t.Name == blackboard.TypeGoalDefined || len(t.Makers) == 0 {
			continue
		}
		if way := circle(next, t.Name); len(way) > 0 {
			a, _ := f.config.Agent(t.Makers[0])
			f.doubt(f.made(a.Name, t.Name), "let one of its agents bid on other types, or review",
				"agents.%s: work goes in a circle without end: %s", a.Name, strings.Join(way, " → "))
			return
		}
	}
}

// surely is the type that each success of an agent makes.
func (f *flowCheck) surely(name string) []string {
	if a, _ := f.config.Agent(name); a.settled() {
		return a.Makes()
	}
	return nil
}

// circle is the way from a type back to itself, or nil.
func circle(next map[string][]string, from string) []string {
	before := map[string]string{}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if _, seen := before[to]; seen {
				continue
			}
			before[to] = queue[0]
			if to != from {
				queue = append(queue, to)
				continue
			}
			way := []string{to}
			for at := before[to]; ; at = before[at] {
				if way = append([]string{at}, way...); at == from {
					return way
				}
			}
		}
	}
	return nil
}

// meet says whether a type can fit both patterns. Two patterns with a '*' each agree
// about some type if their beginnings do and their ends do.
func meet(a, b string) bool {
	fromA, restA, wildA := strings.Cut(a, "*")
	fromB, restB, wildB := strings.Cut(b, "*")
	if !wildA || !wildB {
		return blackboard.Match(a, b) || blackboard.Match(b, a)
	}
	endA, endB := restA[strings.LastIndex(restA, "*")+1:], restB[strings.LastIndex(restB, "*")+1:]
	return (strings.HasPrefix(fromA, fromB) || strings.HasPrefix(fromB, fromA)) && (strings.HasSuffix(endA, endB) || strings.HasSuffix(endB, endA))
}
