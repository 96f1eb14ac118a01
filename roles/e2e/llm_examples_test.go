package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/agents"
	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role/modeltest"
)

// typed returns the commands of an example's page.
func typed(t *testing.T, kind string) []string {
	t.Helper()
	page, err := agents.Examples.ReadFile("examples/" + kind + ".md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("the page of %s has no commands", kind)
	}
	return strings.Split(strings.TrimSpace(string(block[1])), "\n")
}

// exampleModels answers for the models of the examples.
func exampleModels(t *testing.T) func(modeltest.Request) modeltest.Step {
	finish := func(a map[string]any) modeltest.Step { return modeltest.Calls(modeltest.Tool("finish", a)) }
	clan := clanOfModels(t)
	return func(q modeltest.Request) modeltest.Step {
		first := !bytes.Contains(q.Body, []byte(`"role":"assistant"`)) && !bytes.Contains(q.Body, []byte(`function_call_output`))
		switch is := func(role string) bool { return bytes.Contains(q.Body, []byte("You are the "+role+" in a clan")) }; {
		case is("byo"):
			return modeltest.Text("It may say hello to the wrong person.")
		case is("llm-coder") && first:
			return modeltest.Calls(modeltest.Tool("edit", map[string]string{"command": "create", "path": "hello", "file_text": "hello\n"}))
		case is("llm-coder"):
			return finish(map[string]any{"summary": "says hello"})
		case is("llm-report"):
			return finish(map[string]any{"summary": "done", "payload": "The file hello says hello."})
		case is("llm-reviewer"):
			return finish(map[string]any{"verdict": "approve", "feedback": ""})
		}
		return clan(q)
	}
}

// TestExamplesOfModels types the commands of each example's page, with a model of tests
// behind the key of a person.
func TestExamplesOfModels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		api  model.API
		want []string // in the order of the commands' output
	}{
		"llm-coder":          {"llm-coder", model.Chat, []string{"goal achieved", "llm-coder", "hello | 1 +"}},
		"llm-reviewer":       {"llm-reviewer", model.Chat, []string{"approves", "goal achieved", "approves"}},
		"llm-clan":           {"llm-clan", model.Chat, []string{"feedback by reviewer; coder reworks", "goal achieved", "Spec", "tester", "bin/greet"}},
		"byo":                {"byo", model.Chat, []string{"goal achieved", "It may say hello to the wrong person.", "byo"}},
		"byo with messages":  {"byo", model.Messages, []string{"goal achieved", "It may say hello to the wrong person.", "byo"}},
		"byo with responses": {"byo", model.Responses, []string{"goal achieved", "It may say hello to the wrong person.", "byo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("curl"); err != nil && c.kind == "byo" {
				t.Skip("no curl here")
			}
			provider := modeltest.Start(t)
			provider.Key, provider.Play = personsKey, exampleModels(t)
			p := newTypist(t)
			p.example(c.kind, c.api, provider.URL)
			out := p.out.String()
			rest := out
			for _, part := range c.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("%q is not in:\n%s", part, out)
				}
				rest = after
			}
			if strings.Contains(out, personsKey) {
				t.Errorf("the key is in:\n%s", out)
			}
		})
	}
}

// TestTryWithModel: sett try asks the model through a gateway of its own, by the person's key, which the
// tool never has, and within the budgets. The model may bid, too. Nothing is left.
func TestTryWithModel(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	examples := exampleModels(t)
	provider.Key, provider.Play = personsKey, func(q modeltest.Request) modeltest.Step {
		switch {
		case bytes.Contains(q.Body, []byte(`"enum":["review"`)):
			return modeltest.Structured(map[string]string{"bid": "exclusive", "reason": "it is code"})
		case bytes.Contains(q.Body, []byte("look around")) && !bytes.Contains(q.Body, []byte(`"role":"assistant"`)):
			return modeltest.Calls(modeltest.Tool("run", map[string]any{"argv": []string{"env"}}))
		case bytes.Contains(q.Body, []byte("look around")):
			return modeltest.Calls(modeltest.Tool("finish", map[string]any{"summary": "looked", "payload": "x"}))
		}
		return examples(q)
	}
	p := newTypist(t)
	p.run("sett init --example llm-coder --model test-model --commit")
	p.edit("{api: chat, ", fmt.Sprintf("{api: chat, base_url: %q, ", provider.URL+"/v1"))
	p.run("! sett try llm-coder --goal 'Say hello in a new file'")
	for _, right := range []string{"models.main.api_key_env", "OPENAI_API_KEY"} {
		if !strings.Contains(p.out.String(), right) || len(provider.Requests()) > 0 {
			t.Errorf("sett try does not ask for %s:\n%s", right, p.out.String())
		}
	}
	p.out.Reset()
	p.run("sett try llm-coder --yes --goal 'Say hello in a new file'")
	p.said("bid      exclusive", "llm-coder | step 2: finish", "models   2 calls of main", "changed  A hello", "summary  says hello")

	p.edit("\nmodels:", "\nruntime: process\nmodels:")
	p.edit("bids: {GoalDefined: exclusive}", "bids: {GoalDefined: model}")
	p.edit("  makes: CodeCommit", "  makes: Note")
	p.edit("bids: {CodeCommit: exclusive}", "bids: {Note: exclusive}")
	p.edit("llm: {model: main, tools: [edit, search]}", "llm: {model: main, tools: [run], run: [env]}")
	p.edit("execution: |", "claim: Bid on code.\n      execution: |")
	p.out.Reset()
	p.run("sett try llm-coder --yes --goal 'look around' -o json")
	p.said(`"bid_reason": "model: it is code"`, `"payload": "x"`, `"calls": 3`)
	if last := provider.Last(); bytes.Contains(last.Body, []byte(personsKey)) || last.Header.Get("Authorization") != "Bearer "+personsKey || last.Model != "test-model" {
		t.Errorf("the provider got %v for %s:\n%s", last.Header, last.Model, last.Body)
	}

	p.edit("budget: {calls: 200", "budget: {calls: 2")
	p.out.Reset()
	p.run("! sett try llm-coder --yes --goal 'look around'")
	p.said("BudgetExceeded: the goal's budget of 2 calls is used up (2)")

	p.edit("{api: chat, ", "{api: chat, replay: nowhere, ")
	p.out.Reset()
	p.run("! sett try llm-coder --yes --goal 'look around'")
	p.said("models.main.replay: ", "record: in its place makes such a folder")
	if left, err := filepath.Glob(filepath.Join(p.temp, "sett-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestGatewayOfATry ends with the process that started it, and prints its account.
func TestGatewayOfATry(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "model-gateway")
	cmd.Env = append(env.Gateway{Instance: "i", Addr: "127.0.0.1:0", Key: "key", HealthAddr: "off", Own: true}.Environ(), "PATH="+os.Getenv("PATH"))
	life, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(enough, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := life.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || said.String() != "[]\n" {
		t.Errorf("%v: %q\n%s", err, said.String(), log.String())
	}
}

// said checks that the output has the texts.
func (p *typist) said(parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		if !strings.Contains(p.out.String(), part) {
			p.t.Errorf("%q is not in:\n%s", part, p.out.String())
		}
	}
}

// TestReplayOfCurl: a recording answers a script with curl, too, without provider and key. A request
// that it does not know fails the goal, and the Failure shows the nearest one.
func TestReplayOfCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	provider := modeltest.Start(t)
	provider.Key, provider.Play = personsKey, exampleModels(t)
	p := newTypist(t)
	p.more = "record: ../tape, "
	p.example("byo", model.Responses, provider.URL)
	provider.Away()
	p.environ = slices.DeleteFunc(p.environ, func(v string) bool { return strings.HasPrefix(v, "OPENAI_API_KEY=") })
	p.edit("record: ../tape", "replay: ../tape")
	p.out.Reset()
	p.run("sett up --runtime process --yes && sett forage --goal 'Say hello in a new file' --wait && sett hoard --type Risks")
	if !strings.Contains(p.out.String(), "It may say hello to the wrong person.") {
		t.Errorf("the replay said:\n%s", p.out.String())
	}
	p.out.Reset()
	p.run("! sett forage --goal 'Say goodbye in a new file' --wait && sett show $(sett hoard --type ToolExecutionFailure -o json | jq -r '.. | .id? // empty')")
	for _, part := range []string{"the recording does not have this request; the nearest one differs", "Say hello in", "Say goodbye in"} {
		if !strings.Contains(p.out.String(), part) {
			t.Errorf("%q is not in:\n%s", part, p.out.String())
		}
	}
}

// personsKey is the provider's key of a typist, who has it in the environment.
const personsKey = "sk-e2e-of-a-person"

// typist types commands in a new repository.
type typist struct {
	t       *testing.T
	repo    string
	environ []string
	more    string // of the model in sett.yml
	temp    string // for temporary files
	runtime string
	base    string // image that the example's image is made from; empty: its own
	out     bytes.Buffer
}

func newTypist(t *testing.T) *typist {
	t.Helper()
	return typistOf(t, binary)
}

// typistOf has that program as sett.
func typistOf(t *testing.T, binary string) *typist {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "sett")); err != nil {
		t.Fatal(err)
	}
	p := &typist{t: t, runtime: "process", temp: filepath.Join(home, "tmp"), repo: filepath.Join(home, "repo"), environ: []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "OPENAI_API_KEY=" + personsKey, "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org",
	}}
	file(t, filepath.Join(p.repo, "README"), "x\n", 0o644)
	if err := os.Mkdir(p.temp, 0o700); err != nil {
		t.Fatal(err)
	}
	p.run("git init -q -b main && git add . && git commit -qm begin")
	t.Cleanup(func() { p.run("sett down --purge --yes || test $? -eq 3") }) // 3: there is none
	return p
}

func (p *typist) run(line string) {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.repo, p.environ, &p.out, &p.out
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, p.out.String())
	}
}

// edit replaces a text of sett.yml.
func (p *typist) edit(before, after string) {
	p.t.Helper()
	name := filepath.Join(p.repo, "sett.yml")
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte(before)) {
		p.t.Fatalf("%v: %q is not in\n%s", err, before, text)
	}
	file(p.t, name, strings.Replace(string(text), before, after, 1), 0o644)
	p.run("git commit -qam 'a model of tests'")
}

// example types the commands of a page.
func (p *typist) example(kind string, api model.API, url string) {
	p.t.Helper()
	for _, line := range typed(p.t, kind) {
		line = strings.NewReplacer("--model NAME", "--model test-model", "sett up ", "sett up --runtime "+p.runtime+" --yes ").Replace(line + " ")
		if strings.HasPrefix(line, "export ") {
			continue
		}
		p.run(line)
		if strings.HasPrefix(line, "sett init") {
			p.edit("{api: chat, ", fmt.Sprintf("{%sapi: %s, base_url: %q, ", p.more, api, url+"/v1"))
			if p.base != "" {
				p.edit(".Dockerfile}", ".Dockerfile, args: {BASE: \""+p.base+"\"}}")
			}
		}
	}
}
