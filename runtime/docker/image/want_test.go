package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/runtime/docker/engine"
)

// lines collects progress.
type lines []string

func (l *lines) progress(name, line string) { *l = append(*l, name+": "+line) }

func TestImagesPull(t *testing.T) {
	s := store(t)
	r := newRegistry(t)
	ref := r.ref(t, s, "app")
	wants := []Want{{Name: "agent a", Ref: ref}, {Name: "agent b", Ref: ref + ":latest"}}
	var said lines
	got, err := s.Images(t.Context(), wants, said.progress)
	if err != nil {
		t.Fatal(err)
	}
	a := got["agent a"]
	if a.ID == "" || a.ID != got["agent b"].ID || a.Ref != ref+":latest" || a.OS != "linux" {
		t.Errorf("%+v", got)
	}
	want := lines{"agent a: pulling " + ref + ":latest", "agent a: pulled 1 of 1 layers", "agent a: pulled " + ref + ":latest"}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	said = nil
	if _, err := s.Images(t.Context(), wants, said.progress); err != nil || len(said) > 0 {
		t.Errorf("the second time %v, %q", err, said)
	}

	// By digest, and by the id on this engine.
	inspected, err := s.api.ImageInspect(t.Context(), a.ID)
	if err != nil || len(inspected.RepoDigests) == 0 {
		t.Fatal(err, inspected.RepoDigests)
	}
	for _, ref := range []string{inspected.RepoDigests[0], a.ID} {
		if got, err := s.Images(t.Context(), []Want{{Name: "x", Ref: ref}}, nil); err != nil || got["x"].ID != a.ID {
			t.Errorf("%s: %v %v", ref, got, err)
		}
	}
	byDigest := r.addr + "/" + strings.TrimPrefix(inspected.RepoDigests[0], r.addr+"/")
	if _, err := s.removeImage(t.Context(), ref+":latest"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.removeImage(t.Context(), byDigest); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.removeImage(context.Background(), byDigest) })
	if got, err := s.Images(t.Context(), []Want{{Name: "x", Ref: byDigest}}, nil); err != nil || got["x"].ID != a.ID {
		t.Errorf("pulled by digest: %v %v", got, err)
	}
}

// All missing images are reported at once, and the others are there.
func TestImagesMissing(t *testing.T) {
	s := store(t)
	r := newRegistry(t)
	private := newRegistry(t)
	private.login = true
	good := r.ref(t, s, "app")
	wants := []Want{
		{Name: "agent a", Ref: r.ref(t, s, "nothing")},
		{Name: "good", Ref: good},
		{Name: "agent b", Ref: "127.0.0.1:1/x:1"},
		{Name: "agent c", Ref: private.ref(t, s, "app")},
		{Name: "agent d", Ref: r.ref(t, s, "broken")},
		{Name: "agent e", Ref: "Not A Name"},
		{Name: "agent f", Ref: "sha256:" + strings.Repeat("0", 64)},
		{Name: "agent g", Ref: "x", Build: &Build{Context: t.TempDir()}},
		{Name: "agent h", Ref: "y", Build: &Build{Context: "/not/there"}},
	}
	_, err := s.Images(t.Context(), wants, nil)
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatal(err)
	}
	want := []string{
		"no such image in registry " + r.addr,
		"registry 127.0.0.1:1 cannot be reached",
		"registry " + private.addr + " wants a login",
		"filesystem layer verification failed",
		"not a name of an image",
		"no image of this id",
		"no such Dockerfile: " + wants[7].Build.Context + "/Dockerfile",
		"context /not/there: no such file",
	}
	if len(missing.Images) != len(want) {
		t.Fatal(err)
	}
	for i, m := range missing.Images {
		if (m.Fault == FaultFiles) != (i >= 6) || m.Fault != FaultFiles && m.Fault != FaultPull {
			t.Errorf("%s: fault %d", m.Name, m.Fault)
		}
		if !strings.HasPrefix(m.Name, "agent") || !strings.Contains(m.Reason, want[i]) {
			t.Errorf("%s: got %s, want %s", m.Name, m.Reason, want[i])
		}
	}
	if got := strings.Count(err.Error(), "\n"); got != len(want) {
		t.Errorf("%d lines:\n%v", got, err)
	}
	if _, _, err := s.image(t.Context(), good); err != nil {
		t.Error(err)
	}
}

func TestImagesLogin(t *testing.T) {
	r := newRegistry(t)
	r.login = true
	s := *store(t)
	for who, config := range map[string]string{
		"file":   fmt.Sprintf(`{"auths":{%q:{"auth":"ZmlsZTpzZWNyZXQ="}}}`, r.addr),
		"url":    fmt.Sprintf(`{"auths":{"https://%s/v1/":{"username":"url","password":"secret"}}}`, r.addr),
		"helper": fmt.Sprintf(`{"auths":{%q:{}},"credHelpers":{%q:"test"}}`, r.addr, r.addr),
		"store":  `{"credsStore":"test"}`,
	} {
		t.Run(who, func(t *testing.T) {
			s := s
			dir := t.TempDir()
			s.at = s.endpoint(t, dir)
			helper := fmt.Sprintf("#!/bin/sh\nread server\n[ \"$1 $server\" = 'get %s' ] && echo '{\"Username\":%q,\"Secret\":\"secret\"}'\n", r.addr, who)
			for name, text := range map[string]string{"config.json": config, "docker-credential-test": helper} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			if _, err := s.Images(t.Context(), []Want{{Name: "x", Ref: r.ref(t, &s, "app")}}, nil); err != nil {
				t.Fatal(err)
			}
			if got := <-r.by; got != who {
				t.Errorf("%s logged in", got)
			}
			for len(r.by) > 0 {
				<-r.by
			}
		})
	}
	t.Run("helper fails", func(t *testing.T) {
		s := s
		dir := t.TempDir()
		s.at = s.endpoint(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"credsStore":"not-there"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Images(t.Context(), []Want{{Name: "x", Ref: r.ref(t, &s, "app")}}, nil)
		if err == nil || !strings.Contains(err.Error(), "wants a login") || !strings.Contains(err.Error(), "docker-credential-not-there") {
			t.Error(err)
		}
	})
}

// endpoint is the engine's, with the logins of another folder.
func (s *Store) endpoint(t *testing.T, config string) engine.Endpoint {
	t.Helper()
	at, err := engine.Find(func(name string) (string, bool) {
		v, ok := map[string]string{"DOCKER_HOST": s.at.Host, "DOCKER_CONFIG": config}[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestImagesInterrupted(t *testing.T) {
	s := store(t)
	r := newRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-r.asked
		cancel()
	}()
	_, err := s.Images(ctx, []Want{{Name: "x", Ref: r.ref(t, s, "slow")}}, nil)
	var missing *MissingError
	if !errors.Is(err, context.Canceled) || errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

// A registry that takes the request and never answers.
func TestImagesStalled(t *testing.T) {
	s := *store(t)
	s.patience = 300 * time.Millisecond
	r := newRegistry(t)
	_, err := s.Images(t.Context(), []Want{{Name: "x", Ref: r.ref(t, &s, "slow")}}, nil)
	if err == nil || !strings.Contains(err.Error(), "sent nothing for 300ms") {
		t.Errorf("got %v", err)
	}
}

func TestReference(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for ref, want := range map[string]string{
		"redis": "redis:latest", "redis:7": "redis:7", "docker.io/library/redis": "redis:latest", "localhost:5000/a/b": "localhost:5000/a/b:latest",
		"redis" + digest: "redis" + digest, "redis:7" + digest: "redis:7" + digest,
	} {
		if got, err := normalReference(ref); err != nil || got != want {
			t.Errorf("%s: got %s, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"", "A", "a b", "a:", strings.Repeat("a", 64)} {
		if got, err := normalReference(ref); err == nil {
			t.Errorf("%q: got %s", ref, got)
		}
	}
}

// Messages of several engine versions.
func TestPullReason(t *testing.T) {
	s := &Store{facts: engine.Facts{OS: "linux", Arch: "arm64"}}
	for text, want := range map[string]string{
		`pull access denied for foo, repository does not exist or may require 'docker login': denied: requested access to the resource is denied`: "no such image in registry docker.io, or it wants a login",
		`manifest for redis:99 not found: manifest unknown: manifest unknown`:                                                                     "no such image in registry docker.io",
		`Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.1:53: no such host`:                              "registry docker.io cannot be reached",
		`Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded)`:               "registry docker.io cannot be reached",
		`toomanyrequests: You have reached your pull rate limit`:                                                                                  "registry docker.io allows no more pulls for now",
		`no matching manifest for linux/arm64/v8 in the manifest list entries`:                                                                    "it has no variant for linux/arm64",
		`write /var/lib/docker/tmp/x: no space left on device`:                                                                                    "the engine's disk is full",
		`something else`: "something else",
	} {
		if got := s.pullReason(errors.New("Error response from daemon: "+text), "redis:99"); got != want {
			t.Errorf("%s:\ngot %s, want %s", text, got, want)
		}
	}
}
