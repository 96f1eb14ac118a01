package store

import (
	"maps"
	"slices"
	"testing"
)

const facts = "# Replication\r\nrole:master\r\nconnected_slaves:4\r\nmin_slaves_good_slaves:2\r\n" +
	"slave0:ip=10.0.0.2,port=6379,state=online,offset=9,lag=1\r\nslave1:ip=10.0.0.3,port=6379,state=online,offset=9,lag=0\r\n" +
	"slave2:ip=10.0.0.4,port=6379,state=send_bulk,offset=0,lag=0\r\nslave3:ip=10.0.0.5,port=6379,state=online,offset=2,lag=40\r\n" +
	"master_failover_state:no-failover\r\nmaster_replid:aaa\r\nmaster_replid2:bbb\r\nmaster_repl_offset:9\r\n"

func TestHearOf(t *testing.T) {
	for name, c := range map[string]struct {
		known   string
		want    []string
		missing string
	}{
		"connected ones":              {"", []string{"10.0.0.2:6379", "10.0.0.3:6379"}, ""},
		"one that left just now":      {"aaa 990@10.0.0.9:1 999@10.0.0.2:6379", []string{"10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.9:1"}, "10.0.0.9:1"},
		"one that left long ago":      {"aaa 980@10.0.0.9:1", []string{"10.0.0.2:6379", "10.0.0.3:6379"}, ""},
		"one that stands still":       {"aaa 990@10.0.0.5:6379", []string{"10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.5:6379"}, "10.0.0.5:6379"},
		"a master started again":      {"ccc 999@10.0.0.9:1", []string{"10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.9:1"}, "10.0.0.9:1"},
		"a promoted replica":          {"bbb 999@10.0.0.2:6379 999@10.0.0.9:1", []string{"10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.9:1"}, ""},
		"one more that is not back":   {"bbb 999@10.0.0.8:1 999@10.0.0.9:1", []string{"10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.8:1", "10.0.0.9:1"}, "10.0.0.8:1 or 10.0.0.9:1"},
		"a clock that was set back":   {"aaa 4600@10.0.0.9:1", []string{"10.0.0.2:6379", "10.0.0.3:6379"}, ""},
		"the text of an older sett":   {"", []string{"10.0.0.2:6379", "10.0.0.3:6379"}, ""},
		"a text that nobody can read": {"aaa x@ @ 5", []string{"10.0.0.2:6379", "10.0.0.3:6379"}, ""},
	} {
		r := hearOf(c.known, facts, []string{"1000", "5"})
		if got := slices.Sorted(maps.Keys(r.fresh)); !slices.Equal(got, c.want) || r.missing() != c.missing {
			t.Errorf("%s: %v, missing %q", name, got, r.missing())
		}
		if again := hearOf(r.String(), facts, []string{"1000"}); !maps.Equal(again.fresh, r.fresh) || again.missing() != r.missing() {
			t.Errorf("%s: %q reads as %v, missing %q", name, r, again.fresh, again.missing())
		}
	}
	if alone := hearOf("", "role:master\r\nconnected_slaves:0\r\nmaster_replid:aaa\r\n", []string{"1000"}); alone.missing() != "" || alone.String() != "aaa" {
		t.Errorf("%+v", alone)
	}
}
