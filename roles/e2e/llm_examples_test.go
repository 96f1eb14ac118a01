package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/agents"
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
			provider.Key, provider.Play = modelKey, exampleModels(t)
			out := typeExample(t, c.kind, c.api, provider.URL)
			rest := out
			for _, part := range c.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("%q is not in:\n%s", part, out)
				}
				rest = after
			}
			if strings.Contains(out, modelKey) {
				t.Errorf("the key is in:\n%s", out)
			}
		})
	}
}

// typeExample types the commands of a page in a new repository, and returns all that they print.
func typeExample(t *testing.T, kind string, api model.API, url string) string {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	repo := filepath.Join(home, "repo")
	if err := os.Symlink(binary, filepath.Join(bin, "sett")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run := func(line string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Stdout, cmd.Stderr = repo, &out, &out
		cmd.Env = []string{
			"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=" + modelKey, "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org",
		}
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out.String())
		}
	}
	file(t, filepath.Join(repo, "README"), "x\n", 0o644)
	run("git init -q -b main && git add . && git commit -qm begin")
	defer func() { run("sett down --purge --yes") }()
	for _, line := range typed(t, kind) {
		line = strings.NewReplacer("--model NAME", "--model test-model", "sett up ", "sett up --runtime process --yes ").Replace(line + " ")
		if strings.HasPrefix(line, "export ") {
			continue
		}
		run(line)
		if !strings.HasPrefix(line, "sett init") {
			continue
		}
		name := filepath.Join(repo, "sett.yml")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("{api: chat, "), []byte(`{api: `+string(api)+`, base_url: "`+url+`/v1", `), 1)
		file(t, name, string(text), 0o644)
		run("git commit -qam 'a model of tests'")
	}
	return out.String()
}
