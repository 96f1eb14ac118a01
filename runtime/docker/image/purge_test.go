package image

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

func TestPurgeControl(t *testing.T) {
	s := ownControl(t)
	old, used, latest := control(t, s, executable(t)), control(t, s, executable(t)), control(t, s, executable(t))
	c, err := s.api.ContainerCreate(t.Context(), &container.Config{Image: used.ID}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{}) })
	there := func() (refs []string) {
		for _, i := range []Image{old, used, latest} {
			if _, _, err := s.image(t.Context(), i.Ref); err == nil {
				refs = append(refs, i.Ref)
			}
		}
		return refs
	}
	purge := func(at time.Duration) {
		t.Helper()
		if err := s.purgeControl(t.Context(), time.Now().Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	purge(0)
	if got := there(); len(got) != 3 {
		t.Errorf("one that was just made is gone: %v", got)
	}
	purge(time.Hour)
	if got := there(); !slices.Equal(got, []string{used.Ref, latest.Ref}) {
		t.Errorf("there is %v; old %s, used %s, latest %s", got, old.Ref, used.Ref, latest.Ref)
	}
	if err := s.api.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	purge(time.Hour)
	if got := there(); !slices.Equal(got, []string{latest.Ref}) {
		t.Errorf("there is %v", got)
	}
}
