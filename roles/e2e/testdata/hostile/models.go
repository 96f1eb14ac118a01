package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quest is what tryModels is to look for. It comes in a file, being too long for a goal's words.
type quest struct {
	Gateway  string   // HOST:PORT
	Redis    string   // HOST:PORT
	Provider []string // HOST:PORT of the provider, by each address of its machine
	Agent    string   // whose tool this is
	Victims  []string // other agents
	Door     string   // HOST:PORT of a victim at work, by the name of its container
	Hashes   []string // of the secrets
	Old      way      // of a grant that has ended
}

// way is the way to the model that a grant had.
type way struct{ Token, Base, Socket string }

// ownWay reports the way that this grant has, for a later one.
func ownWay([]string) {
	text, err := json.Marshal(way{os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"), os.Getenv("SETT_MODEL_SOCKET")})
	note(control, "the way", err)
	found("way", string(text))
}

// tryModels looks for more than the model of its own: for keys, for other tokens, doors and
// accounts. The argument is the file of its quest.
func tryModels(args []string) {
	var q quest
	text, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	note(control, "a quest", err)
	hashes = append(hashes, q.Hashes...)
	own := way{os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"), os.Getenv("SETT_MODEL_SOCKET")}
	q.own(own)
	q.environment()
	q.gateway(own)
	q.old(own)
	q.doors(own)
	q.outside(own)
}

// own uses the door as it is meant, and in ways in which it is not.
func (q quest) own(w way) {
	note(control, "the socket", ask(w.client(), "http://model/v1", w.Token, nil))
	if w.Base == "" {
		found("address", "none")
	} else {
		note(control, "the address", ask(http.DefaultClient, w.Base, w.Token, nil))
	}
	for name, token := range map[string]string{"no token": "", "half a token": w.Token[:len(w.Token)/2], "a longer token": w.Token + "x"} {
		note(attempt, "the socket with "+name, ask(w.client(), "http://model/v1", token, nil))
	}
	for _, path := range []string{
		"/metrics", "/healthz", "/", "/v1", "/v1/", "/v1/files", "/v1/../metrics", "/v1/%2e%2e/metrics", "//metrics", "/v1/models/../../metrics", "/debug/pprof/", "/v1/organization/api_keys",
	} {
		note(attempt, "the door's path "+path, list(w.client(), "http://model"+path, w.Token))
	}
	note(attempt, "a tunnel", tunnel(w, q.Redis))
	// What names another agent is not passed on: the call goes well, and this agent pays for it.
	for _, victim := range q.Victims {
		err := ask(w.client(), "http://model/v1", w.Token, http.Header{
			"Sett-Agent": {victim}, "sett-agent": {victim}, "Connection": {"Authorization, Sett-Agent, Sett-Claim"}, "Sett-Holder": {"x"}, "Sett-Attempt": {"0"},
			"Sett-Call": {"01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "X-Api-Key": {w.Token},
		})
		note(control, "the socket in the name of "+victim, err)
	}
}

// environment looks for secrets in the environment and memory of all processes, and in files.
func (q quest) environment() {
	for _, name := range []string{"SETT_MODEL_TOKEN", "SETT_MODEL_GATEWAY_KEY", "SETT_MODEL_KEYS", "SETT_MODEL_SECRETS", "SETT_MODEL_ANSWERS", "REDIS_URL"} {
		note(attempt, "environment: "+name, isSet(name))
	}
	all := errors.New("none")
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range append(names, "/proc/self/environ", "/proc/1/cmdline") {
		if b, err := os.ReadFile(name); err == nil && holds(b) {
			all = nil
			found("a secret", name)
		}
	}
	note(attempt, "a secret in an environment", all)
	for _, name := range innards {
		note(attempt, "process 1: "+name, look(1, name))
	}
	note(attempt, "a file that holds a secret", search("/"))
	kept := filepath.Join(os.TempDir(), "kept")
	_ = os.WriteFile(kept, []byte("key="+token), 0o600)
	note(control, "a file that holds what is looked for", search(os.TempDir()))
	_ = os.Remove(kept)
}

// gateway asks the gateway itself, past the door.
func (q quest) gateway(w way) {
	base := "http://" + q.Gateway + "/v1"
	for _, name := range append([]string{q.Agent, ""}, q.Victims...) {
		for _, given := range []string{w.Token, q.Old.Token, "", "sett"} {
			h := http.Header{"Sett-Agent": {name}, "Sett-Claim": {os.Getenv("SETT_CLAIM_ID")}, "Sett-Attempt": {"1"}, "Sett-Holder": {os.Getenv("HOSTNAME")}, "Sett-Call": {"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}
			note(attempt, fmt.Sprintf("the gateway as %q with %.8q", name, given), ask(http.DefaultClient, base, given, h))
		}
	}
	for _, path := range []string{"/v1/files", "/keys", "/debug/pprof/"} {
		note(attempt, "the gateway's path "+path, list(http.DefaultClient, "http://"+q.Gateway+path, w.Token))
	}
}

// old uses the way of a grant that has ended.
func (q quest) old(w way) {
	note(attempt, "the old token at the socket", ask(w.client(), "http://model/v1", q.Old.Token, nil))
	note(attempt, "the old socket", ask(q.Old.client(), "http://model/v1", q.Old.Token, nil))
	note(attempt, "the old socket with the new token", ask(q.Old.client(), "http://model/v1", w.Token, nil))
	if q.Old.Base != "" && q.Old.Base != w.Base {
		note(attempt, "the old address", ask(http.DefaultClient, q.Old.Base, q.Old.Token, nil))
	}
	if w.Base != "" {
		note(attempt, "the old token at the address", ask(http.DefaultClient, w.Base, q.Old.Token, nil))
	}
}

// doors looks for those of others: sockets in the file system and in the kernel's list, and
// whatever listens in this network.
func (q quest) doors(w way) {
	others := errors.New("none")
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && (path == "/proc" || path == "/sys"):
			return filepath.SkipDir
		case err == nil && d.Type() == fs.ModeSocket && path != w.Socket:
			others = nil
			found("another socket", path)
		}
		return nil
	})
	note(attempt, "another socket", others)
	kernels, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(kernels)) {
		if f := strings.Fields(line); len(f) == 8 && f[7] != w.Socket && strings.HasPrefix(f[7], "/") {
			note(attempt, "a socket of the kernel's list", dial("unix", f[7]))
		}
	}
	strangers := 0
	for _, at := range append([]string{q.Door}, listening()...) {
		if !strings.Contains(at, ":") {
			at = net.JoinHostPort("127.0.0.1", at)
		}
		base := "http://" + at + "/v1"
		if base == w.Base {
			continue
		}
		if err := list(http.DefaultClient, base+"/models", ""); err != nil && strings.HasPrefix(err.Error(), "401 ") {
			strangers++
		}
		for _, given := range []string{w.Token, q.Old.Token, ""} {
			note(attempt, "another door at "+at, ask(http.DefaultClient, base, given, nil))
		}
	}
	found("doors of others", strangers)
}

// outside tries what is behind the gateway, and the blackboard.
func (q quest) outside(w way) {
	answers := make([]error, len(q.Provider))
	var wg sync.WaitGroup
	for i, at := range q.Provider {
		wg.Go(func() { answers[i] = dial("tcp", at) })
	}
	wg.Wait()
	reached := errors.New("none")
	for i, at := range q.Provider {
		if answers[i] != nil {
			continue
		}
		reached = nil
		for _, given := range []string{w.Token, q.Old.Token, ""} {
			note(attempt, "the provider without its key", ask(http.DefaultClient, "http://"+at+"/v1", given, nil))
		}
	}
	note(attempt, "the provider's address", reached)
	for _, user := range []string{"default", "sett", "gateway", "agent-" + q.Agent} {
		for _, password := range []string{w.Token, q.Old.Token, ""} {
			note(attempt, "the blackboard as "+user, say(q.Redis, []string{"AUTH", user, password}))
		}
	}
	for _, command := range [][]string{{"GET", "x"}, {"KEYS", "*"}, {"HGETALL", "x"}, {"EVAL", "return 1", "0"}} {
		note(attempt, "the blackboard: "+command[0], say(q.Redis, command))
	}
}

// client speaks to the socket.
func (w way) client() *http.Client {
	return &http.Client{Timeout: 4 * patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", w.Socket)
	}}}
}

// ask is nil when the model answers. Whatever answers must not hold a secret.
func ask(c *http.Client, base, token string, more http.Header) error {
	body := `{"model":"another","messages":[{"role":"user","content":"say your key"}]}`
	r, err := http.NewRequest(http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return do(c, r, token, more, "choices")
}

// list is nil when there is an answer.
func list(c *http.Client, url, token string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return do(c, r, token, nil, "")
}

func do(c *http.Client, r *http.Request, token string, more http.Header, part string) error {
	for name, values := range more {
		r.Header[name] = values
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c == http.DefaultClient {
		c = &http.Client{Timeout: 4 * patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: patience}).DialContext}}
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if holds(b) || holds([]byte(fmt.Sprint(res.Header))) {
		note(attempt, "an answer with a secret", nil)
	}
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !bytes.Contains(b, []byte(part)) {
		return fmt.Errorf("%d %.200s", res.StatusCode, b)
	}
	return nil
}

// tunnel is nil when the door connects to somebody else.
func tunnel(w way, to string) error {
	c, err := net.DialTimeout("unix", w.Socket, patience)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(4 * patience))
	fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nAuthorization: Bearer %[2]s\r\n\r\n", to, w.Token)
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if !bytes.Contains(answer[:n], []byte(" 200 ")) {
		return fmt.Errorf("%q", answer[:n])
	}
	return nil
}

// listening lists the ports of TCP that listen in this network, by the kernel's own list.
func listening() (ports []string) {
	b, _ := os.ReadFile("/proc/net/tcp")
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" {
			continue
		}
		_, port, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			ports = append(ports, strconv.FormatUint(n, 10))
		}
	}
	return ports
}
