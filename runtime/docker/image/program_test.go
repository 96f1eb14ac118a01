package image

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Whether an image has a program is seen without running it; no container stays.
func TestHasProgram(t *testing.T) {
	s := store(t)
	base := "redis:7-alpine"
	for program, want := range map[string]bool{"sh": true, "no such program": false} {
		got, err := s.HasProgram(t.Context(), base, program, map[string]string{"sett.test": t.Name()})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", program, got, err)
		}
	}
	if _, err := s.HasProgram(t.Context(), "no-such-image:x", "sh", nil); err == nil {
		t.Error("of an image that is not there")
	}
	left, err := s.api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "sett.test="+t.Name()))})
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
