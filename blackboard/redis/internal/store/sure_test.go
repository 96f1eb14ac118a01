package store

import (
	"regexp"
	"testing"

	"sett/blackboard/redis/lua"
)

// Every script that checks the lead is a move of the leader, but for the renewal of the lead,
// which compares the board itself.
func TestLed(t *testing.T) {
	checks := regexp.MustCompile(`(?m)^[^-\n]*\b(leads|decidable)\(ARGV\[1\]`)
	for name, s := range lua.Scripts() {
		if leads := checks.MatchString(s.Source) && name != "renew"; leads != led[name] {
			t.Errorf("%s: checks the lead: %t, a move of the leader: %t", name, leads, led[name])
		}
	}
	for name := range led {
		if _, exists := lua.Scripts()[name]; !exists {
			t.Errorf("no script is called %s", name)
		}
	}
}
