package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"
)

// testRegistry serves images, on the loopback address, where engines ask for no
// certificate. What an image is depends on its name's last part: "slow" never
// arrives, "private" wants a login, "broken" has another layer than it says.
type testRegistry struct {
	addr  string
	login bool // it requires a login
	mu    sync.Mutex
	blobs map[string][]byte
	asked chan string // a name, when the layer of a slow image is asked for
	by    chan string // the users that logged in
	quit  chan struct{}
}

func newRegistry(t *testing.T) *testRegistry {
	r := &testRegistry{blobs: map[string][]byte{}, asked: make(chan string, 10), by: make(chan string, 10), quit: make(chan struct{})}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(r.quit) })
	r.addr = s.Listener.Addr().String()
	return r
}

// ref is the name of an image of this registry, which is gone from the engine when
// the test ends.
func (r *testRegistry) ref(t *testing.T, s *Store, name string) string {
	ref := r.addr + "/" + strings.ToLower(rand.Text()) + "/" + name
	t.Cleanup(func() {
		s.api.ImageRemove(context.Background(), ref+":latest", image.RemoveOptions{Force: true})
	})
	return ref
}

func (r *testRegistry) put(digest string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[digest] = data
}

func (r *testRegistry) get(digest string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blobs[digest]
}

func (r *testRegistry) blob(data []byte) map[string]any {
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.put(digest, data)
	return map[string]any{"digest": digest, "size": len(data)}
}

// manifest makes an image of one layer with one file.
func (r *testRegistry) manifest(name string) []byte {
	var layer, packed bytes.Buffer
	w := tar.NewWriter(&layer)
	w.WriteHeader(&tar.Header{Name: "name", Mode: 0o644, Size: int64(len(name))})
	io.WriteString(w, name)
	w.Close()
	z := gzip.NewWriter(&packed)
	z.Write(layer.Bytes())
	z.Close()
	sum := sha256.Sum256(layer.Bytes())
	config, _ := json.Marshal(map[string]any{"os": "linux", "architecture": runtime.GOARCH, "config": map[string]any{"Entrypoint": []string{"/it"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}}})
	const docker = "application/vnd.docker."
	c, l := r.blob(config), r.blob(packed.Bytes())
	c["mediaType"], l["mediaType"] = docker+"container.image.v1+json", docker+"image.rootfs.diff.tar.gzip"
	if strings.HasSuffix(name, "/broken") {
		r.put(l["digest"].(string), []byte("something else"))
	}
	m, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": docker + "distribution.manifest.v2+json", "config": c, "layers": []any{l}})
	return m
}

func (r *testRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	name, rest, _ := strings.Cut(path, "/manifests/")
	blobOf, digest, isBlob := strings.Cut(path, "/blobs/")
	if r.login {
		user, password, ok := req.BasicAuth()
		if !ok || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		select {
		case r.by <- user:
		default:
		}
	}
	switch {
	case path == "" || path == "/v2":
		w.Write([]byte("{}"))
	case isBlob && strings.HasSuffix(blobOf, "/slow"):
		r.asked <- blobOf
		select {
		case <-req.Context().Done():
		case <-r.quit: // the engine may hold on to the connection
		}
	case isBlob && r.get(digest) != nil:
		w.Write(r.get(digest))
	case rest != "" && !strings.HasSuffix(name, "/nothing"):
		m := r.manifest(name)
		w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
		w.Write(m)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`))
	}
}
