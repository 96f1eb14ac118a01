package doctor

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

func TestWalls(t *testing.T) {
	local := func(l *config.Local) *config.Config { return &config.Config{Runtime: config.RuntimeProcess, Local: l} }
	walls := local(&config.Local{})
	for _, c := range []struct {
		c            *config.Config
		level        int
		status, text string
	}{
		{nil, 7, Skipped, "local mode"}, {&config.Config{Runtime: config.RuntimeDocker}, 7, Skipped, "local mode"},
		{local(nil), 7, Skipped, "local: {write: []}"}, {local(nil), 0, Skipped, "no Landlock"},
		{walls, 7, OK, "(Landlock 7)"}, {walls, 2, Warning, "cannot refuse emptying a file"}, {walls, 0, Warning, "nothing keeps tools"},
	} {
		if got := wallsOf(c.c, c.level); len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Finding, c.text) {
			t.Errorf("%+v at %d: %+v", c.c, c.level, got)
		}
	}
}

func TestLead(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		leader blackboard.Leader
		want   string
	}{
		{blackboard.Leader{}, "no orchestrator has the lead"},
		{blackboard.Leader{Holder: "o", Until: now.Add(time.Second)}, ""},
		{blackboard.Leader{Holder: "o", Until: now.Add(-leaseOver)}, ""}, // another one takes over just now
		{blackboard.Leader{Holder: "o", Until: now.Add(-time.Minute)}, "nobody leads, for 1m"},
	} {
		got := leadOf("clan", c.leader, now)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Status != Problem || !strings.Contains(got[0].Finding, c.want)) {
			t.Errorf("%+v: %+v", c.leader, got)
		}
	}
}
