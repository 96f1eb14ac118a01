package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role/modeltest"
	"sett/roles/view"
)

// modelKey is the provider's key in these tests: nobody but the provider sees it.
const modelKey = "sk-e2e-3f9a1c77d0"

// asksModel is the part of a tool that asks its model by curl, and has the answer in $said.
const asksModel = `
env >"$gates/environ.$me"
said=$(curl -sS --max-time 30 "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \
  -d "{\"model\":\"$SETT_MODEL\",\"messages\":[{\"role\":\"user\",\"content\":\"a word\"}]}" | sed 's/.*"content":"\([^"]*\)".*/\1/')
`

// bySocket is the same without a network.
var bySocket = strings.NewReplacer(`"$OPENAI_BASE_URL/chat/completions"`, `--unix-socket "$SETT_MODEL_SOCKET" http://model/v1/chat/completions`).Replace(asksModel)

// thinker is a clan of one agent with a model at that address.
func thinker(t *testing.T, url, tool, llm, more string) clan {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	key := filepath.Join(t.TempDir(), "key")
	file(t, key, modelKey+"\n", 0o600)
	c := solo(tool, "llm: {model: m"+llm+"}")
	c.extra = fmt.Sprintf("models: {m: {api: chat, model: real-name, base_url: %q, api_key_file: %q, price: {input: 1, output: 2}}}\n%s", url, key, more)
	return c
}

// A script asks its model through the door. The provider gets the key, and nothing else
// of the instance ever has it.
func TestDoor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, network string }{"address": {asksModel, "full"}, "socket": {bySocket, "none"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := modeltest.Start(t)
			provider.Key, provider.Play = modelKey, func(modeltest.Request) modeltest.Step { return modeltest.Text("a word of the model") }
			clan := thinker(t, provider.URL, c.tool+`say Terminal Done "$said"`, "", "")
			clan.agents[0].more += "\nnetwork: " + c.network
			in := start(t, options{clan: clan})
			goal := in.post("x")
			in.await(goal, enough)
			in.settled()
			if got := in.payloadOf(goal, "Done"); got != "a word of the model" {
				t.Errorf("the result is %q", got)
			}
			if last := provider.Last(); last.Header.Get("Authorization") != "Bearer "+modelKey || last.Model != "real-name" {
				t.Errorf("the provider got %v for %s", last.Header, last.Model)
			}
			in.counted(goal, "Done", 1)
			in.holdsNoKey()
			in.must("restart", "model-gateway")
			again := in.post("again")
			in.await(again, enough)
			in.counted(again, "Done", 1)
			in.must("down")
			if _, err := os.Stat(filepath.Join(in.stateDir(), "model-keys.json")); !os.IsNotExist(err) {
				t.Errorf("the keys stay after down: %v", err)
			}
		})
	}
}

// A tool whose time ends while its model says nothing fails for that reason.
func TestModelWithoutEnd(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Play = func(modeltest.Request) modeltest.Step { return modeltest.Broken(modeltest.SilentHeaders) }
	c := thinker(t, provider.URL, asksModel+`say Terminal Done "$said"`, "", "")
	c.agents[0].more += "\ntimeout: 3s"
	in := start(t, options{clan: c})
	goal := in.post("x")
	in.await(goal, enough)
	if got := in.only(goal, blackboard.TypeToolExecutionFailure).Summary; !strings.Contains(got, "tool took longer than 3s, with a call of model real-name open for ") {
		t.Errorf("the Failure is %q", got)
	}
}

// counted checks the calls of the model in a result's metadata, and that why names them.
func (in *instance) counted(goal, kind string, calls int) {
	in.t.Helper()
	for _, a := range in.artefactsOf(goal) {
		if a.Type != kind {
			continue
		}
		var m struct{ Models []view.Spent }
		if err := json.Unmarshal(a.Metadata, &m); err != nil || len(m.Models) != 1 || int(m.Models[0].Calls) != calls || !m.Models[0].Priced || m.Models[0].Cost == 0 {
			in.t.Errorf("calls in the metadata %s: %v", a.Metadata, err)
		}
		if why := in.must("why", a.ID); !strings.Contains(why, fmt.Sprintf("%d call of m", calls)) {
			in.t.Errorf("why names no calls:\n%s", why)
		}
		return
	}
	in.t.Errorf("no %s", kind)
}

func (in *instance) artefactsOf(goal string) (all []blackboard.Artefact) {
	in.t.Helper()
	ids, err := in.board.Index.WorkflowArtefacts(in.t.Context(), goal)
	if err != nil {
		in.t.Fatal(err)
	}
	for _, id := range ids {
		a, err := in.board.Records.Artefact(in.t.Context(), id)
		if err != nil {
			in.t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// payloadOf is the payload of the goal's artefact of that type.
func (in *instance) payloadOf(goal, kind string) string {
	in.t.Helper()
	for _, a := range in.artefactsOf(goal) {
		if a.Type == kind {
			return a.Payload
		}
	}
	in.t.Fatalf("goal %s has no %s", goal, kind)
	return ""
}

// holdsNoKey looks for the key in everything that the instance keeps, says and hands to
// its processes.
func (in *instance) holdsNoKey() {
	in.t.Helper()
	err := filepath.WalkDir(in.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(path) == "model-keys.json" {
			return nil // it may be gone by now
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(modelKey)) {
			in.t.Errorf("the key is in %s", path)
		}
		return nil
	})
	if err != nil {
		in.t.Fatal(err)
	}
	for _, command := range [][]string{{"list", "-o", "json"}, {"ledger", "export"}, {"logs"}, {"config"}} {
		if out := in.must(command...); strings.Contains(out, modelKey) {
			in.t.Errorf("the key is in what sett %v prints", command)
		}
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(modelKey)) {
			in.t.Errorf("the key is in %s", path)
		}
	}
	info, err := os.Stat(filepath.Join(in.stateDir(), "model-keys.json"))
	if in.o.docker && (err != nil || info.Mode().Perm() != 0o600) || !in.o.docker && !os.IsNotExist(err) {
		in.t.Errorf("the file of keys, which containers alone need: %v %v", info, err)
	}
}

// A goal that has used up its budget fails, or a person gives it more.
func TestBudgetOfDoor(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Play = func(modeltest.Request) modeltest.Step { return modeltest.Text("word") }
	twice := asksModel + asksModel + `say Terminal Done "$said"`
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		in := start(t, options{clan: thinker(t, provider.URL, twice, "", "budget: {calls: 1}\n")})
		goal := in.post("x")
		in.await(goal, enough)
		if got := in.payloadOf(goal, blackboard.TypeBudgetExceeded); !strings.Contains(got, "the goal's budget of 1 call is used up") {
			t.Errorf("the Failure is %s", got)
		}
	})
	t.Run("ask", func(t *testing.T) {
		t.Parallel()
		in := start(t, options{clan: thinker(t, provider.URL, twice, "", "budget: {calls: 1, on_budget: ask}\n")})
		goal := in.post("x")
		question := in.asked(goal)
		if !strings.Contains(question.Payload, "The goal's budget of 1 call is used up") || !strings.Contains(question.Payload, `"more: calls=100"`) {
			t.Errorf("the Question is %q", question.Payload)
		}
		in.must("answer", question.ID, "more: calls=many")
		again := in.asked(goal)
		if again.ID == question.ID || !strings.Contains(again.Payload, "The answer cannot be read") {
			t.Errorf("the second Question is %q", again.Payload)
		}
		in.must("answer", again.ID, "more: calls=3")
		in.await(goal, enough)
		if got := in.payloadOf(goal, "Done"); got != "word" {
			t.Errorf("the result is %q", got)
		}
	})
}

// Two agents ask for more of one goal's budget. A person's answer to one of them is the answer to the other, too, and counts once.
func TestOneAnswerForTwo(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Play = func(modeltest.Request) modeltest.Step { return modeltest.Text("word") }
	c := thinker(t, provider.URL, asksModel+asksModel+asksModel+`say Standard Word "$said"`, "", "budget: {calls: 2, on_budget: ask}\n")
	c.agents[0].bids = "GoalDefined: claim"
	other := c.agents[0]
	other.name = "other"
	c.agents = append(c.agents, other)
	in := start(t, options{clan: c})
	goal := in.post("x")
	eventually(t, enough, "two questions", func() bool {
		open, err := in.board.Index.OpenQuestions(t.Context())
		return err == nil && len(open) == 2
	})
	in.must("answer", in.asked(goal).ID, "more: calls=10")
	in.await(goal, enough)
	answers := 0
	for _, a := range in.artefactsOf(goal) {
		if a.StructuralType == blackboard.Answer {
			answers++
		}
	}
	if answers != 2 {
		t.Errorf("%d answers", answers)
	}
	if spent, err := in.board.Calls.Spending(t.Context(), goal); err != nil || spent.More.Calls != 10 {
		t.Errorf("account %+v: %v", spent, err)
	}
}

// A grant that has used up its own budget asks, too, and a person gives that grant more,
// by an answer or by a retry.
func TestBudgetOfGrant(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Play = func(modeltest.Request) modeltest.Step { return modeltest.Text("word") }
	c := thinker(t, provider.URL, asksModel+asksModel+asksModel+`say Terminal Done "$said"`, "", "budget: {calls: 100, on_budget: ask}\n")
	c.agents[0].more += "\nbudget: {calls: 1}"
	in := start(t, options{clan: c})
	goal := in.post("x")
	question := in.asked(goal)
	if !strings.HasPrefix(question.Payload, "The grant's budget of 1 call is used up") {
		t.Errorf("the Question is %q", question.Payload)
	}
	in.must("answer", question.ID, "more: calls=nothing")
	again := in.asked(goal)
	in.must("answer", again.ID, "more: calls=1")
	third := in.asked(goal)
	if !strings.HasPrefix(third.Payload, "The grant's budget of 2 calls is used up") {
		t.Errorf("the third Question is %q", third.Payload)
	}
	in.must("answer", third.ID, "No, that is enough.")
	in.await(goal, enough)
	failure := in.only(goal, blackboard.TypeBudgetExceeded)
	if code, out := in.sett("retry", failure.ID, "--wait", "--budget", "calls=3"); code != 0 {
		t.Errorf("retry ends with %d:\n%s", code, out)
	}
	spent, err := in.board.Calls.Spending(t.Context(), goal)
	if err != nil || spent.More.Calls != 0 || spent.Calls != 5 {
		t.Errorf("account %+v: %v", spent, err)
	}
}

// only is the goal's newest Failure of a type.
func (in *instance) only(goal, kind string) (found blackboard.Artefact) {
	in.t.Helper()
	for _, a := range in.artefactsOf(goal) {
		if a.StructuralType == blackboard.Failure && a.Type == kind {
			found = a
		}
	}
	if found.ID == "" {
		in.t.Fatalf("goal %s has no Failure %s", goal, kind)
	}
	return found
}

// asked waits for the goal's open Question.
func (in *instance) asked(goal string) (question blackboard.Artefact) {
	in.t.Helper()
	eventually(in.t, enough, "a question", func() bool {
		all := in.artefactsOf(goal)
		answered := map[string]bool{}
		for _, a := range all {
			if a.StructuralType == blackboard.Answer {
				for _, id := range a.SourceArtefacts {
					answered[id] = true
				}
			}
		}
		for _, a := range all {
			if a.StructuralType == blackboard.Question && !answered[a.ID] {
				question = a
				return true
			}
		}
		return false
	})
	return question
}

// everywhere makes a server of the loopback interface reachable from containers, and
// returns its address there, as sett.yml has it.
func everywhere(t *testing.T, url string) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	to := strings.TrimPrefix(url, "http://")
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "http://localhost:" + port
}
