package cub

import (
	"slices"
	"testing"

	"sett/contract/env"
)

// TestNoDoor: an agent that wants no door gets no variable of it. Those of sett.yml stay.
func TestNoDoor(t *testing.T) {
	x := &executor{settings: env.Cub{Asks: env.Asks{Gateway: "http://127.0.0.1:1", NoDoor: true}}}
	_, vars, shut, err := x.openDoor(&work{}, []string{"SETT_MODEL=m", "SETT_MODEL_API=chat", "A=b", "OPENAI_BASE_URL=mine"}, nil)
	if err != nil || !slices.Equal(vars, []string{"A=b", "OPENAI_BASE_URL=mine"}) {
		t.Errorf("%v %v", vars, err)
	}
	shut()
}
