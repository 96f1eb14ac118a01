package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard/redis"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
	"sett/runtime"
)

// quest is what the tool is told to look for: testdata/hostile/models.go.
type quest struct {
	Gateway, Redis, Agent, Door string
	Provider, Victims, Hashes   []string
	Old                         json.RawMessage
}

// hostileModels has hostile tools of each kind of network look for more than their own model:
// for keys, tokens of others and of before, other doors, the gateway, the provider, the blackboard.
func hostileModels(t *testing.T, image string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b)          // it never fails
	key := hex.EncodeToString(b) // of the form that the tool looks for
	provider := modeltest.Start(t)
	provider.Key, provider.Play = key, func(modeltest.Request) modeltest.Step { return modeltest.Text("a word, " + modeltest.KeyMark) }
	url := everywhere(t, provider.URL)
	keyFile := filepath.Join(t.TempDir(), "key")
	file(t, keyFile, key, 0o600)
	const own, fresh = "llm: {model: m}\n", "strategy: fresh_per_call\nreplicas: 2\n"
	in := prepare(t, inContainers(clan{
		extra: fmt.Sprintf("models: {m: {api: chat, model: real-name, base_url: %q, api_key_file: %q}}\n", url, keyFile),
		agents: []agent{
			hostileAgent(image, "open", own+"network: full\n"), hostileAgent(image, "inside", own+"network: internal\n"), hostileAgent(image, "offline", own+"network: none\n"),
			hostileAgent(image, "insider", own+"network: internal\n"+fresh), hostileAgent(image, "outsider", own+"network: none\n"+fresh),
		}}))
	in.up()
	h := &hostile{instance: in}
	q := quest{
		Gateway: net.JoinHostPort(line.Host(h.name), strconv.Itoa(line.Port)), Redis: "sett-" + h.name + "-redis:6379",
		Hashes: h.hashes(key), Provider: hosts(t, url),
	}
	homes := []string{h.goal("insider", "live", objectsInside+"/leave"), h.goal("outsider", "live", objectsInside+"/leave")}
	var door []string
	eventually(t, enough, "the victims to be at home", func() bool {
		said := h.must("logs")
		door = regexp.MustCompile(`at home http://127\.0\.0\.1:(\d+)/v1`).FindStringSubmatch(said)
		return strings.Count(said, "the neighbour is at home") == len(homes) && door != nil
	})
	q.Door = net.JoinHostPort(h.container("agent-insider"), door[1])
	ways, goals := map[string]string{}, map[string]string{}
	for _, a := range in.clan.agents {
		ways[a.name] = h.goal(a.name, "way")
	}
	for _, a := range in.clan.agents {
		h.await(ways[a.name], enough)
		q.Agent, q.Victims, q.Old = a.name, []string{"inside", "outsider"}, json.RawMessage(fact(t, h.reported(ways[a.name]), "way"))
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		file(t, filepath.Join(in.storeDir(), "objects", "quest-"+a.name), string(text), 0o644)
		goals[a.name] = h.goal(a.name, "models", objectsInside+"/quest-"+a.name)
	}
	for who, goal := range goals {
		h.await(goal, enough)
		h.keptToItself(who, goal)
	}
	h.allow("")
	for _, goal := range homes {
		h.await(goal, enough)
		allowed(t, 0, h.reported(goal))
	}
	for _, r := range provider.Requests() {
		if r.Header.Get("Authorization") == "Bearer "+key && r.Model != "real-name" {
			t.Errorf("the provider was asked for %q with the key", r.Model)
		}
	}
	said := h.must("logs") + h.must("ledger", "export")
	for _, id := range strings.Fields(h.docker("ps", "-aq", "--filter", "label=sett.instance="+h.name)) {
		if shown, err := dockerSays("inspect", id); err == nil { // else the worker has just gone
			said += shown
		}
	}
	if strings.Contains(said, key) {
		t.Error("the key is in what docker inspect, the logs or the ledger say")
	}
	h.sound("open", "inside", "insider", "offline", "outsider")
}

// hashes are those of the secrets that an agent might be after: the provider's key, the
// instance's own secrets, and what is made of them for each agent.
func (h *hostile) hashes(key string) []string {
	h.t.Helper()
	var state struct {
		Key string `json:"model_gateway_key"`
	}
	if text, err := os.ReadFile(filepath.Join(h.stateDir(), "instance.json")); err != nil || json.Unmarshal(text, &state) != nil || state.Key == "" {
		h.t.Fatalf("no key of the gateway: %v\n%s", err, text)
	}
	all := []string{hashOf(key), hashOf(state.Key), hashOf(h.admin())}
	for _, a := range h.clan.agents {
		all = append(all, hashOf(line.Token(state.Key, a.name)), hashOf(redis.AgentPassword(h.admin(), a.name)))
	}
	return all
}

// hosts are all addresses of this machine, as HOST:PORT of a server on each.
func hosts(t *testing.T, url string) (all []string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			all = append(all, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return append(all, net.JoinHostPort(engineHost(t), port), net.JoinHostPort(runtime.HostName, port))
}

// keptToItself judges what an agent's tool found, and its account.
func (h *hostile) keptToItself(who, goal string) {
	t := h.t.(*testing.T)
	t.Helper()
	got := h.reported(goal)
	var but []string
	if who == "open" {
		but = []string{"the provider's address"} // it reaches it, and has no key
	}
	t.Run(who, func(t *testing.T) {
		refused(t, 80, got, but...)
		if who == "insider" { // the search finds doors where there are any
			if n := fact(t, got, "doors of others"); n != "1" {
				t.Errorf("it found %s doors of others", n)
			}
		}
		if who == "offline" || who == "outsider" {
			fact(t, got, "address")
		}
	})
	spent, err := h.board.Calls.Spending(t.Context(), goal)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spent.Total() {
		if s.Agent != who {
			t.Errorf("%s had %d calls made for %s", who, s.Calls, s.Agent)
		}
	}
	if spent.Calls == 0 {
		t.Errorf("%s has no calls in its account", who)
	}
}
