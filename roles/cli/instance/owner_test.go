package instance

import (
	"testing"

	"sett/blackboard"
)

// Workspaces are told apart by their ids: equal names make no owner, other names take nothing
// from one. Nobody takes a board on which another one is at work.
func TestMayTakeOver(t *testing.T) {
	here := blackboard.Owner{ID: "1", Workspace: "/repo", Host: "h", User: "ann"}
	moved := blackboard.Owner{ID: "1", Workspace: "/old", Host: "other", User: "bob"}
	twin := blackboard.Owner{ID: "2", Workspace: "/repo", Host: "h", User: "ann"}
	var others []blackboard.Owner
	for _, change := range []func(*blackboard.Owner){
		func(o *blackboard.Owner) { o.Workspace = "/other" },
		func(o *blackboard.Owner) { o.Host = "other" },
		func(o *blackboard.Owner) { o.User = "bob" },
	} {
		o := twin
		change(&o)
		others = append(others, o)
	}
	unknown := here
	unknown.ID = "" // the record was lost
	for name, tc := range map[string]struct {
		there       []blackboard.Owner
		here        blackboard.Owner
		busy, asked bool
		want        takeOver
	}{
		"nobody's":             {[]blackboard.Owner{{}}, here, false, false, isOurs},
		"unknown, busy":        {[]blackboard.Owner{{}}, here, true, true, isAlive},
		"ours, wherever":       {[]blackboard.Owner{here, moved}, here, false, false, isOurs},
		"the same names":       {[]blackboard.Owner{twin}, here, false, false, isOurPlace},
		"the same names, busy": {[]blackboard.Owner{twin}, here, true, false, isAlive},
		"a lost record":        {[]blackboard.Owner{here}, unknown, false, false, isOurPlace},
		"a lost record, busy":  {[]blackboard.Owner{here}, unknown, true, true, isAlive},
		"other names":          {others, here, false, false, isAnothers},
		"asked for":            {others, here, false, true, isAsked},
		"asked for, busy":      {others, here, true, true, isAlive},
	} {
		for _, there := range tc.there {
			if got := mayTakeOver(there, tc.here, tc.busy, tc.asked); got != tc.want {
				t.Errorf("%s: %+v: got %s, want %s", name, there, got, tc.want)
			}
		}
	}
}
