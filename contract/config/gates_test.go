package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestStrayGates(t *testing.T) {
	for _, tt := range []struct{ approve, bids, want string }{
		{"[Release]", "{Release: exclusive}", ""},
		{"[Relase]", "{Release: exclusive}", "Relase:Release"},
		{"[Relase, Draft, Paln]", "{Release: exclusive, Draft: claim, '*': ignore}", "Relase:Release Paln:"},
		{"[GoalDefined]", "{Release: exclusive}", ""},
		{"[GoalDefind]", "{'*': exclusive}", "GoalDefind:GoalDefined"},
		{"['Rel*', '*']", "{Release: exclusive}", ""},
		{"['Ral*']", "{Release: exclusive}", "Ral*:"},
		{"[Release, 'Re*', '*ase', 'X*']", "{'Rel*': exclusive}", "X*:"},
		{"['A*Z', 'B*Z', 'A*Y']", "{'Ab*yZ': exclusive}", "B*Z:Ab*yZ A*Y:Ab*yZ"},
		{"[Zebra]", "~", "Zebra:"},
		{"[]", "~", ""},
	} {
		c, err := Parse("sett.yml", []byte("runtime: process\napprove: "+tt.approve+"\nagents: {a: {command: [x], bids: "+tt.bids+"}}\n"))
		if err != nil {
			t.Fatal(tt, err)
		}
		var got []string
		for _, g := range c.StrayGates() {
			got = append(got, g.Pattern+":"+g.Nearest)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.approve, tt.bids, got, tt.want)
		}
	}
}

// A file that is made for it does not make the check slow.
func TestStrayGatesBounded(t *testing.T) {
	c := &Config{Agents: []Agent{{}}}
	for i := range 8000 {
		c.Approve = append(c.Approve, fmt.Sprintf("%da*a*a*a*a", i))
		c.Agents[0].Bids = append(c.Agents[0].Bids, BidRule{Type: fmt.Sprintf("b%da*a*a*a*b", i)})
	}
	began := time.Now()
	if got := len(c.StrayGates()); got != mostStray || time.Since(began) > time.Minute {
		t.Errorf("%d after %s", got, time.Since(began))
	}
}
