package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"sett/runtime"

	"sett/runtime/docker/engine"
)

// volumePlace is a control image whose binary no other test has, and an instance
// that wants its volume.
type volumePlace struct {
	t      *testing.T
	s      *Store
	image  Image
	digest string
	labels runtime.Labels
}

func newVolumePlace(t *testing.T) volumePlace {
	s := ownControl(t)
	i := control(t, s, executable(t))
	v := volumePlace{t, s, i, i.Ref[len(i.Ref)-12:], runtime.Labels{runtime.LabelInstance: newInstance()}}
	t.Cleanup(func() { s.api.VolumeRemove(context.Background(), v.raw().name, true) })
	return v
}

// raw is the volume before anything is done with it.
func (v volumePlace) raw() binaryVolume {
	return binaryVolume{s: v.s, name: VolumePrefix + v.digest + "-linux-" + v.image.Arch, image: v.image.ID, labels: v.labels}
}

func (v volumePlace) get() (string, func(), error) {
	return v.s.BinaryVolume(v.t.Context(), v.image, v.digest, v.image.Arch, v.labels)
}

// works shows that a container of another image runs the binary.
func (v volumePlace) works(volume string) {
	v.t.Helper()
	if out := v.s.ran(v.t, v.s.empty(v.t), volume, Binary, "exit", "0"); !strings.Contains(out, "last words") {
		v.t.Errorf("the binary printed %q", out)
	}
}

// pins are the containers that hold or fill the volume.
func (v volumePlace) pins() []string {
	v.t.Helper()
	list, err := v.s.api.ContainerList(v.t.Context(), container.ListOptions{All: true,
		Filters: engine.Labelled(runtime.LabelInstance + "=" + v.labels[runtime.LabelInstance])})
	if err != nil {
		v.t.Fatal(err)
	}
	var names []string
	for _, c := range list {
		if c.Labels[runtime.LabelComponent] == ComponentBinary {
			names = append(names, c.Names...)
		}
	}
	return names
}

func TestBinaryVolume(t *testing.T) {
	v := newVolumePlace(t)
	name, release, err := v.get()
	if err != nil {
		t.Fatal(err)
	}
	if name != v.raw().name {
		t.Error(name)
	}
	got, err := v.s.api.VolumeInspect(t.Context(), name)
	if err != nil || got.Labels[runtime.LabelComponent] != ComponentBinary || got.Labels[runtime.LabelInstance] != "" {
		t.Errorf("%v %v: it is all instances', and found by its label", got.Labels, err)
	}
	v.works(name)
	if err := v.s.api.VolumeRemove(t.Context(), name, false); err == nil {
		t.Error("it can be removed before release")
	}
	again, releaseAgain, err := v.get()
	if err != nil || again != name {
		t.Fatal(again, err)
	}
	release()
	if n := len(v.pins()); n != 1 {
		t.Errorf("after one release of two, %d containers hold it", n)
	}
	releaseAgain()
	if left := v.pins(); len(left) > 0 {
		t.Errorf("after release there are %v", left)
	}
}

func TestBinaryVolumeAtOnce(t *testing.T) {
	v := newVolumePlace(t)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			name, release, err := v.get()
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			pin, err := v.raw().create(t.Context(), name+".check", true)
			if err != nil {
				return // one of the others checks
			}
			defer v.raw().remove(t.Context(), pin)
			if !bytes.Equal(v.content(pin, Binary), v.content(pin, controlProgram)) {
				t.Error("the volume's binary is another")
			}
		})
	}
	wg.Wait()
	if left := v.pins(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// content is a file as a container sees it.
func (v volumePlace) content(id, path string) []byte {
	rc, _, err := v.s.api.CopyFromContainer(v.t.Context(), id, path)
	if err != nil {
		v.t.Error(err)
		return nil
	}
	defer rc.Close()
	r := tar.NewReader(rc)
	if _, err := r.Next(); err != nil {
		v.t.Error(err)
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		v.t.Error(err)
	}
	return data
}

// An engine that was stopped in the middle leaves half a binary. It is mended also
// while something has the volume mounted.
func TestBinaryVolumeHalf(t *testing.T) {
	v := newVolumePlace(t)
	raw := v.raw()
	pin, err := raw.create(t.Context(), raw.name+".pin", true)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.remove(t.Context(), pin)
	writer, err := raw.create(t.Context(), raw.name+".writer", false)
	if err != nil {
		t.Fatal(err)
	}
	v.put(writer, "sett", "half of it") // with the time of the whole
	raw.remove(t.Context(), writer)
	if ok, err := raw.fits(t.Context(), pin); ok || err != nil {
		t.Fatalf("half a binary fits: %v", err)
	}
	name, release, err := v.get()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	v.works(name)
}

// put writes a file to where containers see the volume.
func (v volumePlace) put(id, name, text string) {
	v.t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	whole, err := v.s.api.ContainerStatPath(v.t.Context(), id, controlProgram)
	if err != nil {
		v.t.Fatal(err)
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), ModTime: whole.Mtime.Truncate(time.Second)}); err != nil {
		v.t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		v.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	if err := v.s.api.CopyToContainer(v.t.Context(), id, BinaryDir, &b, container.CopyToContainerOptions{}); err != nil {
		v.t.Fatal(err)
	}
}

// refusals is the way to an engine that tells of each time the engine says that
// something is there already.
type refusals struct {
	*http.Transport
	told chan struct{}
}

func (r refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusConflict {
		select {
		case r.told <- struct{}{}:
		case <-req.Context().Done():
		}
	}
	return resp, err
}

// watched is the engine, and its refusals.
func watched(t *testing.T, s *Store) (*Store, <-chan struct{}) {
	network, address := "tcp", strings.TrimPrefix(s.at.Host, "tcp://")
	if s.at.Socket != "" {
		network, address = "unix", s.at.Socket
	}
	r := refusals{&http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}, make(chan struct{})}
	w := *s
	var err error
	w.api, err = client.NewClientWithOpts(client.WithHost(s.at.Host), client.WithHTTPClient(&http.Client{Transport: r}), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.CloseIdleConnections)
	return &w, r.told
}

// While another fills the volume one waits; when that one is gone without having
// filled it, one fills it.
func TestBinaryVolumeFilling(t *testing.T) {
	v := newVolumePlace(t)
	s, refused := watched(t, v.s)
	raw := v.raw()
	pin, err := raw.create(t.Context(), raw.name+".pin", true)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.remove(t.Context(), pin)
	other := raw
	other.image = v.s.empty(t) // which has nothing to be copied
	filler, err := other.create(t.Context(), raw.filler(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.remove(t.Context(), filler)
	get := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, release, err := s.BinaryVolume(ctx, v.image, v.digest, v.image.Arch, v.labels)
			if err == nil {
				release()
			}
			done <- err
		}()
		for range 3 { // it tries again and again
			select {
			case <-refused:
			case err := <-done:
				t.Fatalf("it did not wait: %v", err)
			}
		}
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := get(ctx)
	cancel()
	drain(refused, interrupted, func(err error) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
	if left := v.pins(); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	waiting := get(t.Context())
	raw.remove(t.Context(), filler)
	drain(refused, waiting, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if ok, err := raw.fits(t.Context(), pin); !ok {
		t.Errorf("nothing was filled: %v", err)
	}
}

// drain waits for an end among refusals that may still come.
func drain(refused <-chan struct{}, done <-chan error, then func(error)) {
	for {
		select {
		case <-refused:
		case err := <-done:
			then(err)
			return
		}
	}
}
