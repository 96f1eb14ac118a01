package docker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"sett/runtime"
)

// A preview says what a start finds and what it makes, and the engine has nothing
// of it afterwards; when that was made, the same questions find it there.
func TestPreview(t *testing.T) {
	e := ownControl(t)
	x := executable(t)
	dir := t.TempDir()
	dockerfile := "ARG OWN=never-pulled-" + e.repository + "\nFROM " + imageOf(t, e) + " AS one\nFROM ${OWN}:1\nFROM one\nFROM scratch\nFROM " + e.repository + "\n"
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o600); err != nil {
		t.Fatal(err)
	}
	there := imageOf(t, e)
	wants := []Want{
		{Name: "there", Ref: there},
		{Name: "pulled", Ref: "127.0.0.1:1/" + e.repository},
		{Name: "built", Ref: e.repository + "-built", Build: &Build{Context: dir}},
	}
	p := e.Preview()
	control, err := p.Control(t.Context(), x)
	if err != nil || control.ID != "" || control.Arch != e.Facts().Arch {
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
	wantBases := []Base{{wantRef(t, there), true}, {"never-pulled-" + e.repository + ":1", false}, {e.repository + ":latest", true}}
	if got := images[3].Base; !slices.Equal(got, wantBases) {
		t.Errorf("bases %+v, want %+v", got, wantBases)
	}
	if has, err := p.HasVolume(t.Context(), volume); has || err != nil {
		t.Errorf("volume %s: %v %v", volume, has, err)
	}
	list, err := e.api.ImageList(t.Context(), image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("reference", e.repository+"*"))})
	if err != nil || len(list) > 0 {
		t.Errorf("the engine has %v %v", list, err)
	}

	made, err := e.Control(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Preview().Control(t.Context(), x); err != nil || again.ID != made.ID || again.Ref != control.Ref {
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

// What cannot be had whatever a registry says is said as a start says it.
func TestPreviewMissing(t *testing.T) {
	wants := []Want{
		{Name: "a", Ref: "Not A Name"},
		{Name: "b", Ref: "sha256:" + strings.Repeat("0", 64)},
		{Name: "c", Ref: "x", Build: &Build{Context: t.TempDir()}},
		{Name: "d", Ref: "y", Build: &Build{Context: "/not/there"}},
	}
	e := engine(t)
	_, foreseen := e.Preview().Images(t.Context(), wants, nil)
	_, err := e.Images(t.Context(), wants, nil)
	var missing *MissingError
	if !errors.As(foreseen, &missing) || len(missing.Images) != len(wants) || foreseen.Error() != err.Error() {
		t.Errorf("foreseen %v\nthen %v", foreseen, err)
	}
}

// TestHas looks for what tests of their own make and remove.
func TestHas(t *testing.T) {
	r := newPlace(t)
	p := r.e.Preview()
	if has, err := p.HasNetwork(t.Context(), r.Network(runtime.NetworkFull)); has || err != nil {
		t.Errorf("before: %v %v", has, err)
	}
	if err := r.ensureNetwork(t.Context(), r.Network(runtime.NetworkFull)); err != nil {
		t.Fatal(err)
	}
	if has, err := p.HasNetwork(t.Context(), r.Network(runtime.NetworkFull)); !has || err != nil {
		t.Errorf("after: %v %v", has, err)
	}
}

// TestEngineClock: the machine's own engine has this machine's clock.
func TestEngineClock(t *testing.T) {
	if f := engine(t).Facts(); f.ClockSkew.Abs() > time.Second || f.StorageDriver == "" || f.RootDir == "" {
		t.Errorf("%+v", f)
	}
}
