package redis

import (
	"context"
	"strconv"
	"strings"

	"sett/blackboard/redis/internal/store"
)

// Durability has the settings by which a server keeps acknowledged writes. A text is
// empty where the server does not tell.
type Durability struct {
	Version    string
	AppendOnly string // yes or no
	Fsync      string // always, everysec or no; counts with AppendOnly
	Eviction   string // the policy when memory runs out; noeviction: nothing is dropped
	Limited    bool   // it has a limit of memory at which it would
	Full       bool   // its memory is, and it drops nothing: it refuses every write
	Spread     bool   // another server takes its place when it is lost: Sentinel or a cluster
	Demanding  bool   // it takes writes only while replicas follow, so that the other one has them
}

// Durability asks the server. A setting that it refuses to tell, as hosted ones do, stays
// empty; the error is about a server that does not answer.
func (b *Board) Durability(ctx context.Context) (Durability, error) {
	var d Durability
	answer, err := b.c.AskHome(ctx, "ask server", "INFO")
	if err != nil {
		return d, err
	}
	info, _ := answer.ToString()
	facts := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	_, d.Demanding = facts[store.Demanding]
	d.Spread = b.c.Spread()
	d.Version, d.Eviction = facts["redis_version"], facts["maxmemory_policy"]
	d.AppendOnly = map[string]string{"1": "yes", "0": "no"}[facts["aof_enabled"]]
	d.Limited = facts["maxmemory"] != "0" && facts["maxmemory"] != ""
	used, _ := strconv.ParseInt(facts["used_memory"], 10, 64)
	most, _ := strconv.ParseInt(facts["maxmemory"], 10, 64)
	d.Full = d.Limited && d.Eviction == "noeviction" && used >= most
	answer, err = b.c.AskHome(ctx, "ask server", "CONFIG", "GET", "appendfsync")
	if err == nil {
		settings, _ := answer.AsStrMap()
		d.Fsync = settings["appendfsync"]
	}
	if err != nil && !store.Transient(err) {
		return d, nil // refused, which is an answer
	}
	return d, err
}
