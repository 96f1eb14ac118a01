package config

import (
	"slices"
	"strings"
	"testing"
)

func TestLocalPlaces(t *testing.T) {
	l := Local{Write: []string{"~", "~/.cache", "out", "../beside", "/srv/x"}}
	if got := l.Places("/home/me/repo", "/home/me"); !slices.Equal(got, []string{"/home/me", "/home/me/.cache", "/home/me/repo/out", "/home/me/beside", "/srv/x"}) {
		t.Errorf("%q", got)
	}
	if got := l.Places("/repo", ""); !slices.Equal(got, []string{"/repo/out", "/beside", "/srv/x"}) {
		t.Errorf("without a home: %q", got)
	}
}

func TestLocalIsRead(t *testing.T) {
	const clan = "agents: {a: {command: [x]}}\n"
	parse := func(src string) (*Config, error) {
		return Parse("sett.yml", []byte(src+clan), WithRuntime(RuntimeProcess))
	}
	for src, want := range map[string]string{
		"local: {write: [~you/x]}\n": "another user's home directory", "local: {write: ['a*']}\n": "is a pattern", "local: {write: ['']}\n": "an empty path",
		"local: {write: [a, ./a]}\n": "twice", "local: {}\n": "local has no write", "local: {read: [a], write: []}\n": "unknown key",
	} {
		if _, err := parse(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
	c, err := parse("local: {write: []}\n")
	if err != nil || c.Local == nil || c.Agents[0].Local == nil || len(c.Local.Write) != 0 {
		t.Fatalf("no place: %+v %v", c, err)
	}
	none, err := parse("")
	if err != nil || none.Local != nil {
		t.Fatalf("%+v %v", none, err)
	}
	some, err := parse("local: {write: [x/]}\n")
	if err != nil || !slices.Equal(some.Agents[0].Local.Write, []string{"x"}) {
		t.Fatalf("%+v %v", some, err)
	}
	if d := Diff(none, c); !slices.Equal(d.Changed, []string{"a"}) {
		t.Errorf("walls restart agents: %+v", d)
	}
	if d := Diff(c, some); !slices.Equal(d.Changed, []string{"a"}) {
		t.Errorf("another place restarts agents: %+v", d)
	}
	inContainers, err := Parse("sett.yml", []byte("local: {write: [x]}\nagents: {a: {command: [x], image: i}}\n"))
	if err != nil || inContainers.Agents[0].Local != nil {
		t.Errorf("containers have walls of their own: %+v %v", inContainers, err)
	}
}

// Whoever agreed to programs that write anywhere is not asked about fewer places; not so
// the other way round.
func TestCovers(t *testing.T) {
	place := Right{"local.write", "lets its programs write out"}
	for _, c := range []struct {
		agreed []Right
		r      Right
		want   bool
	}{
		{[]Right{anyPlace}, ownPlaces, true}, {[]Right{anyPlace}, place, true}, {[]Right{ownPlaces}, place, false},
		{[]Right{ownPlaces, place}, place, true}, {[]Right{ownPlaces, place}, anyPlace, false}, {nil, ownPlaces, false},
	} {
		if got := Covers(c.agreed, c.r); got != c.want {
			t.Errorf("%v covers %v: %v", c.agreed, c.r, got)
		}
	}
}
