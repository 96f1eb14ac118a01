package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sett/roles/role/modeltest"
)

// proxyOf is a provider that is reached by its proxy alone: it plays both, and wants a user and a password.
func proxyOf(t *testing.T, says string) (s *modeltest.Server, password string) {
	t.Helper()
	s = modeltest.Start(t)
	s.Key, s.Play = modelKey, func(modeltest.Request) modeltest.Step { return modeltest.Text(says) }
	return s, "hush-" + rand.Text()
}

// throughProxies runs a clan whose provider is out of reach but for a proxy of the shell that runs sett up.
func throughProxies(t *testing.T, o options, prepare func(*testing.T, string) string) (in *instance, passwords []string) {
	t.Helper()
	const far = "http://models.example.invalid"
	one, first := proxyOf(t, "a word by the first proxy")
	two, second := proxyOf(t, "a word by the second proxy")
	var variable atomic.Value
	set := func(s *modeltest.Server, password string) {
		variable.Store("http_proxy=" + strings.Replace(prepare(t, s.URL), "http://", "http://ada:"+password+"@", 1))
	}
	set(one, first)
	o.user = func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Env = append(cmd.Env, variable.Load().(string))
		return cmd
	}
	o.clan.extra = strings.Replace(o.clan.extra, "http://127.0.0.1:1", far, 1)
	in = start(t, o)
	asked := func(s *modeltest.Server, password, word string) {
		t.Helper()
		goal := in.post("x")
		in.await(goal, enough)
		if got := in.payloadOf(goal, "Done"); got != word {
			t.Errorf("the result is %q", got)
		}
		in.counted(goal, "Done", 1)
		h := s.Last().Header
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+password)); h.Get("Proxy-Authorization") != want || h.Get("Authorization") != "Bearer "+modelKey {
			t.Errorf("the proxy got %v", h)
		}
	}
	asked(one, first, "a word by the first proxy")
	const other = "was started with another key, proxy or certificate"
	if _, out := in.sett("doctor"); strings.Contains(out, other) {
		t.Errorf("the doctor of the same shell: %s", out)
	}
	set(two, second)
	if _, out := in.sett("doctor"); !strings.Contains(out, other) {
		t.Errorf("the doctor of another shell: %s", out)
	}
	if out := in.must("up"); strings.Contains(out, second) {
		t.Errorf("up shows the password: %s", out)
	}
	asked(two, second, "a word by the second proxy")
	in.holdsNoKey()
	return in, []string{first, second}
}

// hides looks for the passwords in all that the instance keeps, says and gives its tools.
func (in *instance) hides(passwords []string) {
	in.t.Helper()
	var said []string
	for _, command := range [][]string{{"list", "-o", "json"}, {"ledger", "export"}, {"logs"}, {"config"}, {"models"}, {"doctor"}} {
		_, out := in.sett(command...)
		said = append(said, out)
	}
	if doctor := said[len(said)-1]; !strings.Contains(doctor, "http://models.example.invalid/v1") || !strings.Contains(doctor, "through the proxy http://") {
		in.t.Errorf("doctor: %s", doctor)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	err := filepath.WalkDir(in.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Base(path) != "model-keys.json" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		in.t.Fatal(err)
	}
	for _, password := range passwords {
		for _, out := range said {
			if strings.Contains(out, password) {
				in.t.Errorf("sett says the password: %s", out)
			}
		}
		for _, path := range files {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(password)) {
				in.t.Errorf("the password is in %s", path)
			}
		}
	}
	environ, err := os.ReadFile(filepath.Join(in.storeDir(), "objects", "environ.solo"))
	if !in.o.docker && err != nil {
		in.t.Error(err)
	} else if bytes.Contains(bytes.ToLower(environ), []byte("_proxy=")) {
		in.t.Errorf("the tool has %s", environ)
	}
}

// TestProxy: in local mode the model gateway, and no other part or tool, has the proxy of the shell; sett try has it, too.
func TestProxy(t *testing.T) {
	t.Parallel()
	o := options{clan: thinker(t, "http://127.0.0.1:1", asksModel+`say Terminal Done "$said"`, "", "")}
	in, passwords := throughProxies(t, o, func(_ *testing.T, url string) string { return url })
	if out := in.must("try", "solo", "--goal", "x", "--yes"); !strings.Contains(out, "a word by the second proxy") {
		t.Errorf("try: %s", out)
	}
	in.hides(passwords)
}

// TestDockerProxy: so it is with containers, whose gateway reaches a proxy of this machine by the bridge.
func TestDockerProxy(t *testing.T) {
	t.Parallel()
	needEngine(t)
	o := inContainers(thinker(t, "http://127.0.0.1:1", asksByWget+`say Terminal Done "$said"`, "", ""))
	o.clan.agents[0].more += "\nnetwork: internal"
	in, passwords := throughProxies(t, o, everywhere)
	in.hides(passwords)
	all := strings.Fields(in.docker("ps", "-aq", "--filter", "label=sett.instance="+in.name))
	for _, password := range passwords {
		if said := in.docker(append([]string{"inspect"}, all...)...); strings.Contains(said, password) {
			t.Error("the password is in what docker inspect says")
		}
	}
}
