package redis

import (
	"testing"

	"sett/blackboard/redis/redistest"
)

// What the server says of itself is what it was started with; what an operator
// forbids to ask stays unknown, and is no error.
func TestDurability(t *testing.T) {
	for _, c := range []struct {
		args []string
		want Durability
	}{
		{redistest.Durable, Durability{AppendOnly: "yes", Fsync: "always", Eviction: "noeviction"}},
		{[]string{"--appendonly", "no", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
			Durability{AppendOnly: "no", Fsync: "everysec", Eviction: "allkeys-lru", Limited: true}},
		{[]string{"--appendonly", "yes", "--rename-command", "CONFIG", ""}, Durability{AppendOnly: "yes", Eviction: "noeviction"}},
	} {
		got, err := open(t, redistest.Start(t, c.args...).URL).Durability(testContext(t))
		if err != nil || got.Version == "" {
			t.Errorf("%q: %+v %v", c.args, got, err)
		}
		got.Version = ""
		if c.want.Fsync == "everysec" && got.Fsync != "" {
			c.want.Fsync = got.Fsync // it does not count, and what is set by default is the server's to say
		}
		if got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.args, got, c.want)
		}
	}
}

// A server whose memory is full, and that drops nothing, says so.
func TestFullMemory(t *testing.T) {
	r := redistest.Start(t, "--maxmemory", "1gb")
	b := open(t, r.URL)
	for most, want := range map[string]bool{"1gb": false, "100kb": true} {
		r.Send("CONFIG", "SET", "maxmemory", most)
		if got, err := b.Durability(testContext(t)); err != nil || got.Full != want {
			t.Errorf("%s: %+v, %v", most, got, err)
		}
	}
}
