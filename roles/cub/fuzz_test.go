package cub

import (
	"encoding/json"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// FuzzNotice feeds the handler of notices: whatever anybody publishes, only ids
// get in, once each, where they belong, and a log line stays one line.
func FuzzNotice(f *testing.F) {
	id := "01JZ0000000000000000000001"
	for _, s := range []string{"", id, strings.ToLower(id), id + "\n", "81JZ0000000000000000000001", "w1 " + id, "x\n{\"msg\":\"forged\"}", "\xff\x00", "../" + id, id + " worker Code", "?" + id + " worker Code", id + "  ", id + " a b c"} {
		for which := range byte(16) {
			f.Add(s, which)
		}
	}
	f.Fuzz(func(t *testing.T, notice string, which byte) {
		log := &logs{}
		e := world(vars{env.LogFormat: "json"}, log)
		m := []mode{standard, bidderOnly, executeOnly, standby}[which%4]
		c := newCub(&state{env: e, mode: m, assignment: newAssignment(id), log: e.Logger("cub")}, nil)
		c.settings.Agent, c.settings.Mode, c.settings.Incarnation = "worker", blackboard.ReadWrite, "w1"
		ch, line, want := grantTopic, c.grants, blackboard.ValidID(notice)
		name := notice
		switch which / 4 % 4 {
		case 0, 1:
			want = want && (m == standard || m.works() && notice == id)
		case 2:
			ch, line = targetTopic, c.due
			if n, ok := blackboard.ParseTarget(notice); ok {
				name, want = n.Claim, !n.Script // it has no script
			} else {
				want = false
			}
		case 3:
			ch, want = assignmentTopic, false
			m = standby // nobody else listens there
			c.mode = m
		}
		c.notice(ch, notice)
		c.notice(ch, notice)
		if got := line.take(9); want != (len(got) == 1 && got[0] == name) || !want && len(got) > 0 {
			t.Errorf("%q in mode %s: line %q", notice, m, got)
		}
		if n := len(c.due.take(9)) + len(c.grants.take(9)); n > 0 {
			t.Errorf("%q went to the wrong line", notice)
		}
		who, _, told := blackboard.ParseAssignment(notice)
		if looks := len(c.look) == 1; looks != (ch == assignmentTopic && told && who == "w1") {
			t.Errorf("%q on %v: looks at its assignment: %v", notice, ch, looks)
		}
		for line := range strings.Lines(log.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("log line %q", line)
			}
		}
	})
}
