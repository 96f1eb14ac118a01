package store

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mayTakeOver is the time, in seconds, in which a replica that is no longer heard of may
// still take the master's place ahead of longer copies: Sentinels ask replicas for the
// length of their copies every ten seconds.
const mayTakeOver = 15

// MayTakeOver is mayTakeOver.
const MayTakeOver = mayTakeOver * time.Second

// replicas are those of one master by their addresses, each with the second, by the
// master's clock, in which the master heard of it last.
type replicas struct {
	master    string           // names its history; a failover or a restart begins another one
	now       int64            // by its clock
	fresh     map[string]int64 // heard of within mayTakeOver
	connected map[string]bool
	promoted  bool // this master was one of those of the history that master names
}

// hearOf adds the facts that a master tells of its replicas to those that were known, as
// String wrote them. Those of a history before count on: a master that was started again
// has lost its place already if one of its replicas was promoted meanwhile.
func hearOf(known, facts string, now []string) replicas {
	r := replicas{fresh: map[string]int64{}, connected: map[string]bool{}}
	if len(now) > 0 {
		r.now, _ = strconv.ParseInt(now[0], 10, 64)
	}
	var all []string
	var before string
	for line := range strings.Lines(facts) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		_, err := strconv.Atoi(strings.TrimPrefix(name, "slave"))
		switch {
		case name == "master_replid":
			r.master = value
		case name == "master_replid2":
			before = value
		case strings.HasPrefix(name, "slave") && err == nil:
			all = append(all, value)
		}
	}
	if words := strings.Fields(known); len(words) > 0 {
		r.promoted = words[0] == before && before != r.master
		for _, w := range words[1:] {
			at, address, _ := strings.Cut(w, "@")
			// A stamp ahead is from before the clock was set back.
			if heard, err := strconv.ParseInt(at, 10, 64); err == nil && heard <= r.now && r.now-heard <= mayTakeOver {
				r.fresh[address] = heard
			}
		}
	}
	for _, value := range all {
		r.add(value)
	}
	if r.promoted = r.promoted && len(r.fresh) > len(r.connected); r.promoted {
		r.master = before // until its own address has been forgotten
	}
	return r
}

// add notes a replica by the master's line about it. One that has not the data yet has
// the shortest copy of all.
func (r *replicas) add(line string) {
	of := factsOf(line)
	lag, err := strconv.ParseInt(of["lag"], 10, 64)
	if address := of["ip"] + ":" + of["port"]; of["state"] == "online" && err == nil && lag <= mayTakeOver {
		r.fresh[address], r.connected[address] = r.now-lag, true
	}
}

// hindmost names the replicas with the shortest copies, so many of them, by the facts that their master tells.
func hindmost(facts string, many int) string {
	type copied struct {
		address string
		offset  int64
	}
	var all []copied
	for line := range strings.Lines(facts) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasPrefix(name, "slave") {
			of := factsOf(value)
			if offset, err := strconv.ParseInt(of["offset"], 10, 64); err == nil && of["state"] == "online" {
				all = append(all, copied{of["ip"] + ":" + of["port"], offset})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b copied) int { return cmp.Compare(a.offset, b.offset) })
	var names []string
	for _, c := range all[:min(many, len(all))] {
		names = append(names, c.address)
	}
	return strings.Join(names, ", ")
}

// factsOf reads a master's line about a replica.
func factsOf(line string) map[string]string {
	of := map[string]string{}
	for pair := range strings.SplitSeq(line, ",") {
		name, value, _ := strings.Cut(pair, "=")
		of[name] = value
	}
	return of
}

// missing returns the replicas that may take over, and are not connected; empty: none. One
// of those that a promoted replica knows is itself.
func (r replicas) missing() string {
	var all []string
	for _, address := range slices.Sorted(maps.Keys(r.fresh)) {
		if !r.connected[address] {
			all = append(all, address)
		}
	}
	if r.promoted && len(all) == 1 {
		return ""
	}
	return strings.Join(all, " or ")
}

// String writes the replicas for the next look.
func (r replicas) String() string {
	words := []string{r.master}
	for _, address := range slices.Sorted(maps.Keys(r.fresh)) {
		words = append(words, strconv.FormatInt(r.fresh[address], 10)+"@"+address)
	}
	return strings.Join(words, " ")
}
