package image

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// A preview tells the findings and actions of a start, and the engine has nothing
// of it afterwards; when that was made, the same questions find it there.
func TestPreview(t *testing.T) {
	s := ownControl(t)
	x := executable(t)
	there := s.empty(t)
	dir := t.TempDir()
	dockerfile := "ARG OWN=never-pulled-" + s.repository + "\nFROM " + there + " AS one\nFROM ${OWN}:1\nFROM one\nFROM scratch\nFROM " + s.repository + "\n"
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o600); err != nil {
		t.Fatal(err)
	}
	wants := []Want{
		{Name: "there", Ref: there},
		{Name: "pulled", Ref: "127.0.0.1:1/" + s.repository},
		{Name: "built", Ref: s.repository + "-built", Build: &Build{Context: dir}},
	}
	p := s.Preview()
	control, err := p.Control(t.Context(), x)
	if err != nil || control.ID != "" || control.Arch != s.facts.Arch {
		t.Fatal(control, err)
	}
	got, err := p.Images(t.Context(), wants, nil)
	if err != nil || got["there"].ID == "" || got["pulled"].ID != "" || got["pulled"].OS != "linux" || got["built"].ID != "" {
		t.Fatal(got, err)
	}
	volume, release, err := p.BinaryVolume(t.Context(), control, "0123456789ab", "amd64", nil)
	if err != nil {
		t.Fatal(err)
	}
	release()
	images, volumes := p.Foreseen()
	var actions []string
	for _, f := range slices.Concat(images, volumes) {
		actions = append(actions, f.Name+" "+f.Action)
	}
	if want := []string{"sett make", "there present", "pulled pull", "built build", "sett make"}; !slices.Equal(actions, want) {
		t.Errorf("got %q, want %q", actions, want)
	}
	wantBases := []Base{{wantRef(t, there), true}, {"never-pulled-" + s.repository + ":1", false}, {s.repository + ":latest", true}}
	if got := images[3].Base; !slices.Equal(got, wantBases) {
		t.Errorf("bases %+v, want %+v", got, wantBases)
	}
	if has, err := s.e.HasVolume(t.Context(), volume); has || err != nil {
		t.Errorf("volume %s: %v %v", volume, has, err)
	}
	list, err := s.api.ImageList(t.Context(), image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("reference", s.repository+"*"))})
	if err != nil || len(list) > 0 {
		t.Errorf("the engine has %v %v", list, err)
	}

	made, err := s.Control(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Preview().Control(t.Context(), x); err != nil || again.ID != made.ID || again.Ref != control.Ref {
		t.Errorf("announced %+v, made %+v, then %+v %v", control, made, again, err)
	}
}

func wantRef(t *testing.T, ref string) string {
	t.Helper()
	n, err := normalReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A preview reports an image that no registry could provide exactly as a start does.
func TestPreviewMissing(t *testing.T) {
	wants := []Want{
		{Name: "a", Ref: "Not A Name"},
		{Name: "b", Ref: "sha256:" + strings.Repeat("0", 64)},
		{Name: "c", Ref: "x", Build: &Build{Context: t.TempDir()}},
		{Name: "d", Ref: "y", Build: &Build{Context: "/not/there"}},
	}
	s := store(t)
	_, foreseen := s.Preview().Images(t.Context(), wants, nil)
	_, err := s.Images(t.Context(), wants, nil)
	var missing *MissingError
	if !errors.As(foreseen, &missing) || len(missing.Images) != len(wants) || foreseen.Error() != err.Error() {
		t.Errorf("foreseen %v\nthen %v", foreseen, err)
	}
}
