package live

import (
	"encoding/json"
	"strings"
	"time"

	"sett/blackboard"
)

// Folder keeps the entry of an opened claim back until all agents have bid, so that one
// line tells of both.
type Folder struct {
	open []*Opened
}

// Opened is an entry, and for an opened claim the bids on it so far.
type Opened struct {
	blackboard.Event
	Bids []blackboard.Event // nil: it is no opened claim, or nobody has bid yet

	since  time.Time
	awaits map[string]bool // agents that have not bid
}

// Add takes the next entry, and returns the entries to show now.
func (f *Folder) Add(e blackboard.Event, now time.Time) []Opened {
	switch e.Kind {
	case blackboard.EventOpen:
		o := &Opened{Event: e, since: now, awaits: map[string]bool{}}
		var bidders []string
		if json.Unmarshal([]byte(e.Attributes["bidders"]), &bidders) != nil || len(bidders) == 0 {
			return []Opened{*o}
		}
		for _, name := range bidders {
			o.awaits[name] = true
		}
		f.open = append(f.open, o)
		return nil
	case blackboard.EventBid:
		for i, o := range f.open {
			if o.Claim != e.Claim {
				continue
			}
			o.Bids = append(o.Bids, e)
			for name := range strings.SplitSeq(e.Agent, ",") {
				delete(o.awaits, name)
			}
			if len(o.awaits) > 0 {
				return nil
			}
			f.open = append(f.open[:i], f.open[i+1:]...)
			return []Opened{*o}
		}
	}
	var out []Opened
	for i, o := range f.open { // nothing of a claim is shown before its opening
		if o.Claim == e.Claim || e.Claim == "" && o.Workflow == e.Workflow {
			f.open = append(f.open[:i], f.open[i+1:]...)
			out = append(out, *o)
			break
		}
	}
	return append(out, Opened{Event: e})
}

// Due returns the openings that were kept back for so long.
func (f *Folder) Due(now time.Time, span time.Duration) []Opened {
	var out []Opened
	for len(f.open) > 0 && now.Sub(f.open[0].since) >= span {
		out, f.open = append(out, *f.open[0]), f.open[1:]
	}
	return out
}
