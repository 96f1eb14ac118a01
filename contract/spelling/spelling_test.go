package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	keys := []string{"command", "image", "health_check"}
	commands := []string{"forage", "goals", "version", "unearth"}
	agents := []string{"Coder", "codec", "go-tester"}
	for _, tc := range []struct {
		s     string
		known []string
		want  string
	}{
		{"comand", keys, "command"},
		{"COMMAND", keys, "command"},
		{"healthcheck", keys, "health_check"},
		{"imgae", keys, "image"},
		{"im", keys, ""},
		{"xyz", keys, ""},
		{strings.Repeat("command", 20), keys, ""},
		{"command", []string{strings.Repeat("x", longest) + "commanx"}, ""},
		{"forgae", commands, "forage"},
		{"goal", commands, "goals"},
		{"ver", commands, "version"},
		{"UNEARTH", commands, "unearth"},
		{"zzz", commands, ""},
		{"", commands, ""},
		{"coder", agents, "Coder"},
		{"codex", agents, "Coder"}, // both are one letter away: the first
		{"tester", agents, "go-tester"},
		{"comand", nil, ""},
	} {
		if got := Nearest(tc.s, tc.known); got != tc.want {
			t.Errorf("Nearest(%q) = %q, want %q", tc.s, got, tc.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "abxc", 1}, {"abc", "ac", 1}, {"abc", "axc", 1},
		{"abc", "bac", 1}, {"ä", "a", 1}, {"kitten", "sitting", 3},
	} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
		if got := distance(tc.b, tc.a); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.b, tc.a, got, tc.want)
		}
	}
}
