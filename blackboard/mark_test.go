package blackboard

import "testing"

func TestMarkForm(t *testing.T) {
	for _, m := range []Mark{{}, {"A", 0, 0, 0, ""}, {"A", 1, 20, 1_790_000_000_000_000, "1790000000000-3"}} {
		got, err := ParseMark(m.String())
		if got != m || err != nil {
			t.Errorf("%+v became %+v: %v", m, got, err)
		}
	}
	for _, unmarked := range []string{":0:7:8", ":0:7:8:9-0"} {
		if m, err := ParseMark(unmarked); m != (Mark{}) || err != nil {
			t.Errorf("a board without a mark: %+v, %v", m, err)
		}
	}
	if m, err := ParseMark("A:1:20:7"); m != (Mark{"A", 1, 20, 7, ""}) || err != nil {
		t.Errorf("of an older sett: %+v, %v", m, err)
	}
	for _, s := range []string{"A", "A:1:2", "A:1:2:x", "A:1:-2:3", "A:1:2:3:4", "A:1:2:3:4-", "A:1:2:3:x-1", "A:1:2:3:4-5:6"} {
		if m, err := ParseMark(s); err == nil || m != (Mark{}) {
			t.Errorf("%q: %+v, %v", s, m, err)
		}
	}
}

func TestMarkAfter(t *testing.T) {
	known := Mark{"A", 1, 20, 7, "9-3"}
	for name, tc := range map[string]struct{ later, want Mark }{
		"more":         {Mark{"A", 1, 21, 8, "10-0"}, Mark{"A", 1, 21, 8, "10-0"}},
		"less":         {Mark{"A", 1, 3, 9, "9-2"}, Mark{"A", 1, 20, 9, "9-3"}},
		"an agent's":   {Mark{"A", 1, 0, 9, ""}, Mark{"A", 1, 20, 9, "9-3"}},
		"adopted":      {Mark{"A", 2, 3, 1, "2-0"}, Mark{"A", 2, 3, 1, "2-0"}},
		"adopted less": {Mark{"A", 0, 30, 9, "10-0"}, known},
		"another":      {Mark{"B", 5, 90, 90, "90-0"}, known},
		"none":         {Mark{}, known},
	} {
		if got := known.After(tc.later); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	if got := (Mark{}).After(known); got != known {
		t.Errorf("from nothing: %+v", got)
	}
}
