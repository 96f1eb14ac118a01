package redis

import (
	"context"
	"strings"
)

// Durability is what a server says of how it keeps what it acknowledged. A text is
// empty where the server, or who runs it, does not let us know.
type Durability struct {
	Version    string
	AppendOnly string // yes or no
	Fsync      string // always, everysec or no; counts with AppendOnly
	Eviction   string // what it forgets when memory runs out: noeviction, or a policy
	Limited    bool   // it has a limit of memory at which it would
}

// Durability asks the server. What it refuses to tell, as hosted ones do, stays
// empty; the error is about a server that does not answer.
func (b *Board) Durability(ctx context.Context) (Durability, error) {
	var d Durability
	var info string
	err := b.retry(ctx, "ask server", func(ctx context.Context) (err error) {
		info, err = b.client.Do(ctx, b.client.B().Info().Build()).ToString()
		return err
	})
	if err != nil {
		return d, err
	}
	facts := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	d.Version, d.Eviction = facts["redis_version"], facts["maxmemory_policy"]
	d.AppendOnly = map[string]string{"1": "yes", "0": "no"}[facts["aof_enabled"]]
	d.Limited = facts["maxmemory"] != "0" && facts["maxmemory"] != ""
	err = b.retry(ctx, "ask server", func(ctx context.Context) error {
		m, err := b.client.Do(ctx, b.client.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
		if err == nil {
			d.Fsync = m["appendfsync"]
		}
		return err
	})
	if err != nil && !transient(err) {
		return d, nil // refused, which is an answer
	}
	return d, err
}
