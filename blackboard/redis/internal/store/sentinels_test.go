package store

import (
	"strings"
	"testing"
)

func TestAgreed(t *testing.T) {
	t.Parallel()
	old, next := sight{master: "old"}, sight{master: "new", epoch: 1}
	for name, c := range map[string]struct {
		said  []sight
		asked int
		want  string // a master, or a part of the error
	}{
		"one Sentinel":                       {[]sight{old}, 1, "old"},
		"all agree":                          {[]sight{old, old, old}, 3, "old"},
		"one does not know yet":              {[]sight{old, next, next}, 3, "new"},
		"only one knows":                     {[]sight{old, old, next}, 3, "new"},
		"one of two is lost":                 {[]sight{old}, 2, "old"},
		"two of three are lost":              {[]sight{old}, 3, "1 of 3 Sentinels name a master, and 2 are needed"},
		"nobody answers":                     {nil, 1, "0 of 1"},
		"one was told otherwise by hand":     {[]sight{old, old, {master: "other"}}, 3, "old"},
		"each says another":                  {[]sight{old, {master: "other"}}, 3, "different masters"},
		"a failover has begun":               {[]sight{old, old, {master: "old", leaving: true}}, 3, "are replacing the master old"},
		"a failover has begun, and is known": {[]sight{next, next, {master: "old", leaving: true}}, 3, "new"},
	} {
		got, err := agreed(c.said, c.asked)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (err == nil) != (got == "old" || got == "new") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
