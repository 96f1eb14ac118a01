package store

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"sett/blackboard"
)

// A grant is the same in its fields and as JSON, and what has no such form stays as it is.
func TestGrantFields(t *testing.T) {
	for json, fields := range map[string]map[string]string{
		`{"attempt":1,"phase":"review","state":"queued"}`: {"grant:a": "review queued 1"},
		`{"attempt":2,"holder":"h 1","phase":"exclusive","queued_at":"1700000000000000","started_at":"1700000000000500","state":"running"}`: {
			"grant:a": "exclusive running 2", "times:a": "1700000000000000 500", "holder:a": "h 1",
		},
		`{"attempt":1,"ended_at":"1700000000000009","phase":"review","queued_at":"1700000000000009","result_id":"01R","state":"done","verdict":"approve"}`: {
			"grant:a": "review done 1 01R approve", "times:a": "1700000000000009 . 0",
		},
		// It was queued again: the times of before stay.
		`{"asked":["01Q","01A"],"attempt":3,"ended_at":"1700000000000400","phase":"parallel","queued_at":"1700000000000500","started_at":"1700000000000300","state":"queued","tool_us":"7","why":"\"so\" \u003c"}`: {
			"grant:a": "parallel queued 3", "times:a": "1700000000000500 -200 -100 7", "more:a": `{"asked":["01Q","01A"],"why":"\"so\" \u003c"}`,
		},
		`{"attempt":1,"phase":"review","state":"done","verdict":"feedback"}`:          {"grant:a": "review done 1 . feedback"},
		`{"attempt":1,"phase":"review","queued_at":"now","state":"queued"}`:           {"grant:a": `{"attempt":1,"phase":"review","queued_at":"now","state":"queued"}`},
		`{"attempt":"1","phase":"review","state":"queued"}`:                           {"grant:a": `{"attempt":"1","phase":"review","state":"queued"}`},
		`{"attempt":1,"phase":"review","result_id":"a b","state":"done"}`:             {"grant:a": `{"attempt":1,"phase":"review","result_id":"a b","state":"done"}`},
		`{"attempt":1,"holder":null,"phase":"review","state":"done","tool_us":"1.5"}`: {"grant:a": `{"attempt":1,"holder":null,"phase":"review","state":"done","tool_us":"1.5"}`},
		`{`: {"grant:a": "{"}, `exclusive`: {"grant:a": "exclusive"},
	} {
		got := WriteClaim("c", ClaimRecord{Grants: map[string]string{"a": json}})
		if !maps.Equal(got, fields) {
			t.Errorf("%s is stored as %q, want %q", json, got, fields)
		}
		if back := ReadClaim("c", fields).WithGrants().Grants["a"]; back != json {
			t.Errorf("%q is read as %s, want %s", fields, back, json)
		}
		whole, err1 := DecodeGrant("c", "a", json)
		lean, err2 := ReadGrant("c", "a", fields)
		if !reflect.DeepEqual(whole, lean) || (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %+v %v, by its fields %+v %v", json, whole, err1, lean, err2)
		}
	}
}

// A grant with a broken field is corrupt, and so is what an export makes of it.
func TestBrokenGrantFields(t *testing.T) {
	for _, fields := range []map[string]string{
		{"grant:a": ""}, {"grant:a": "review queued"}, {"grant:a": "review queued 1 01R approve more"}, {"grant:a": "review queued 0"},
		{"grant:a": "review queued 1", "times:a": "now"}, {"grant:a": "review queued 1", "times:a": "1 2 x"}, {"grant:a": "review queued 1", "more:a": "{"},
		{"grant:a": "none queued 1"},
	} {
		_, err := ReadGrant("c", "a", fields)
		text := ReadClaim("c", fields).WithGrants().Grants["a"]
		_, again := ReadGrant("c", "a", WriteClaim("c", ClaimRecord{Grants: map[string]string{"a": text}}))
		if !errors.Is(err, blackboard.ErrCorrupt) || !errors.Is(again, blackboard.ErrCorrupt) {
			t.Errorf("%q: %v, by its export %q %v", fields, err, text, again)
		}
	}
	if _, err := ReadGrant("c", "a", nil); !errors.Is(err, blackboard.ErrNotFound) {
		t.Errorf("no grant: %v", err)
	}
}

// The usual values are no fields, and come back.
func TestUsualFields(t *testing.T) {
	claim := ClaimRecord{Fields: map[string]string{
		"id": "c", "artefact_id": "x", "status": "complete", "granted_review_agents": "[]", "granted_parallel_agents": `["a"]`, "reason": "", "origin": "retry",
		"granted_exclusive_agent": "", "additional_context_ids": "[]", "target_logical_id": "x", "target_version": "1", "target_agent": "a", "target_role": "a", "retry_of": "d", "rework": "",
	}, Order: []string{"b", "a"}}
	want := map[string]string{"artefact_id": "x", "status": "complete", "granted_parallel_agents": `["a"]`, "origin": "retry", "target_agent": "a", "retry_of": "d", "bid_order": "b a"}
	if got := WriteClaim("c", claim); !maps.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	if got := ReadClaim("c", want); !maps.Equal(got.Fields, claim.Fields) || !reflect.DeepEqual(got.Order, claim.Order) {
		t.Errorf("read %+v, want %+v", got, claim)
	}
	artefact := map[string]string{"id": "x", "logical_id": "y", "version": "2", "structural_type": "Standard", "metadata": "{}", "summary": "s", "type": "T", "produced_by_role": "user"}
	lean := LeanArtefact("x", artefact)
	if want := map[string]string{"logical_id": "y", "version": "2", "summary": "s", "type": "T"}; !maps.Equal(lean, want) {
		t.Errorf("stored %q, want %q", lean, want)
	}
	back := WholeArtefact("x", lean)
	for name, value := range artefact {
		if back[name] != value {
			t.Errorf("%s is %q, want %q", name, back[name], value)
		}
	}
	if none := WholeArtefact("x", nil); len(none) > 0 {
		t.Errorf("an artefact that does not exist: %q", none)
	}
}
