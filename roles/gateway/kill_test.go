package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role"
	"sett/roles/role/modeltest"
)

// The test binary is also the role in a process of its own, which can be killed.
const roleVariable = "GATEWAY_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	err := role.Secluded(Run)(context.Background(), role.OS(nil, role.Build{}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(int(role.CodeOf(err)))
}

// process starts the role in a process of its own.
func (p *place) process(answers string) *exec.Cmd {
	p.t.Helper()
	keys := filepath.Join(p.t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(`{"smart":"`+providerKey+`"}`), 0o600); err != nil {
		p.t.Fatal(err)
	}
	settings := env.Gateway{
		Instance: "i", Addr: "127.0.0.1:0", Key: instanceKey, Keys: keys, Answers: answers, HealthAddr: "off", Redis: env.Redis{URL: p.board.Server.URL, Retries: 5},
		Models: []env.Model{{Name: "smart", API: model.Chat, BaseURL: p.mock.URL, Model: "real-model", MaxOutput: 2000, Price: &model.Price{Input: model.Unit, Output: model.Unit}}},
		Agents: map[string]env.GatewayAgent{"coder": {Model: "smart"}},
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"=yes", env.LogFormat+"=json"), settings.Environ()...)
	said, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := bufio.NewScanner(said)
	for r.Scan() {
		var l struct{ Msg, Addr string }
		if json.Unmarshal(r.Bytes(), &l) == nil && l.Addr != "" {
			p.url, p.apart = "http://"+l.Addr, true
			go func() {
				for r.Scan() {
				}
			}()
			return cmd
		}
		p.t.Log(r.Text())
	}
	p.t.Fatal("the gateway did not start")
	return nil
}

// TestKilledGateway: a call of a killed gateway is counted once, and what was paid for
// before costs nothing again.
func TestKilledGateway(t *testing.T) {
	for _, stream := range []bool{false, true} {
		never := make(chan struct{})
		defer close(never)
		p := newPlace(t, nil, modeltest.Text("one"), modeltest.Step{Text: "two parts", Begin: pick(!stream, never), Middle: pick(stream, never)}, modeltest.Text("three"))
		answers := t.TempDir()
		gateway := p.process(answers)
		first := p.ask(ask{body: question("1")})
		if first.status != http.StatusOK {
			t.Fatal(first)
		}
		ended := make(chan reply, 1)
		go func() { ended <- p.ask(ask{stream: stream, body: bodyOf(stream)}) }()
		p.mock.Await("the second", func(all []modeltest.Request) bool { return len(all) == 2 })
		held := p.spent().Held.Tokens
		_ = gateway.Process.Kill()
		_ = gateway.Wait()
		if got := <-ended; got.err == nil {
			t.Errorf("a killed gateway answered: %v", got)
		}
		if held == 0 || p.spent().Held.Tokens != held {
			t.Errorf("held %d, account %+v", held, p.spent())
		}
		p.process(answers)
		s := p.spent()
		if s.Held.Tokens != 0 || s.Calls != 2 || p.only().Estimated != 1 || s.Tokens < held {
			t.Errorf("account %+v", s)
		}
		p.crash()
		if got := p.ask(ask{body: question("1"), attempt: 2}); got.body != first.body || p.spent().Calls != 2 {
			t.Errorf("%v, account %+v", got, p.spent())
		}
		if got := p.ask(ask{stream: stream, body: bodyOf(stream), attempt: 2}); got.status != http.StatusOK || p.spent().Calls != 3 {
			t.Errorf("%v, account %+v", got, p.spent())
		}
	}
}

func pick(yes bool, c chan struct{}) <-chan struct{} {
	if yes {
		return c
	}
	return nil
}

func bodyOf(stream bool) string {
	if stream {
		return `{"stream":true,"messages":[{"role":"user","content":"2"}]}`
	}
	return question("2")
}

// TestKeyIsInTheProcessAlone: another process of the same user does not see the key in the
// gateway's environment, and cannot read its memory.
func TestKeyIsInTheProcessAlone(t *testing.T) {
	p := newPlace(t, nil)
	gateway := p.process("")
	dir := fmt.Sprintf("/proc/%d/", gateway.Process.Pid)
	if os.Geteuid() != 0 {
		if _, err := os.ReadFile(dir + "environ"); err == nil {
			t.Error("the environment can be read")
		}
	}
	environ, err := os.ReadFile(dir + "environ") // root may
	for _, secret := range []string{instanceKey, providerKey} {
		if err == nil && bytes.Contains(environ, []byte(secret)) {
			t.Errorf("%q is in the environment", secret)
		}
	}
}
