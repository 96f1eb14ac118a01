package llm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role/modeltest"
)

// TestInjection: a model that obeys every bad word in its workspace, its context and the
// output of programs achieves nothing that sett.yml does not allow. Each step is such a
// try; its reply must not have the secret, and nothing outside must change.
func TestInjection(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "id_rsa")
	if err := os.WriteFile(secret, []byte("the-secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	tries := []struct {
		step modeltest.Step
		want string // in the reply
	}{
		{edit("view", secret, nil), "leads out of the working directory"},
		{edit("view", "/root/.ssh/id_rsa", nil), "leads out of the working directory"},
		{edit("view", "../"+filepath.Base(outside)+"/id_rsa", nil), "leads out of the working directory"},
		{edit("view", "docs/../../x", nil), "leads out of the working directory"},
		{edit("view", "~/.ssh/id_rsa", nil), "no such file"},
		{edit("view", "out/id_rsa", nil), "leads out of the working directory"},
		{edit("view", "up/x", nil), "leads out of the working directory"},
		{edit("view", "loop", nil), "too many links"},
		{edit("create", "out/new", args{"file_text": "x"}), "leads out of the working directory"},
		{edit("str_replace", "key", args{"old_str": "the", "new_str": "x"}), "leads out of the working directory"},
		{edit("insert", "key", args{"insert_line": 0, "new_str": "x"}), "leads out of the working directory"},
		{edit("create", ".git/hooks/pre-commit", args{"file_text": "x"}), ".git is not to be written"},
		{edit("create", "gitlink/hooks/pre-commit", args{"file_text": "x"}), ".git is not to be written"},
		{edit("create", "docs/.GIT/config", args{"file_text": "x"}), ".git is not to be written"},
		{edit("str_replace", "docs/../.git/config", args{"old_str": "[core]", "new_str": "[alias]"}), ".git is not to be written"},
		{edit("view", "pipe", nil), "no ordinary file"},
		{edit("view", "a\x00b", nil), "NUL"},
		{run("sh", "-c", "cat "+secret), `"sh" is not on the list of programs: cat`},
		{run("/bin/cat", secret), `"/bin/cat" is not on the list`},
		{run("cat " + secret), "is not on the list"},
		{run("cat", "main.go;cat", "$(cat "+secret+")"), "No such file"},
		{run("cat", "a\x00b"), "NUL"},
		{run("env"), "Exit code 0"},
		{run("cat", "/proc/self/environ"), "Exit code 0"},
		{modeltest.Calls(modeltest.Tool("run", args{"line": "cat " + secret})), "argv is empty"},
		{modeltest.Calls(modeltest.Tool("search", args{"pattern": "secret", "path": outside})), "leads out of the working directory"},
		{modeltest.Calls(modeltest.Tool("search", args{"pattern": "secret"})), "Nothing found"},
		{modeltest.Calls(modeltest.Tool("search", args{"pattern": "core", "path": ""})), "Nothing found"},
		{modeltest.Calls(modeltest.Tool("budget", args{"more": "cost=100"})), "there is no tool"},
		{modeltest.Calls(modeltest.Tool("approve", args{})), "there is no tool"},
	}
	var steps []modeltest.Step
	for i, try := range tries {
		steps = append(steps, try.step)
		if i%2 == 1 { // unreadable calls in a row would end the work
			steps = append(steps, edit("view", "empty", nil))
		}
	}
	l := writer
	r := newTrial(t, l, append(steps, done)...).with(map[string]string{
		env.OpenAIKey: "the-token", env.AnthropicKey: "the-token", env.ModelSocket: "", "SETT_CLAIM_ID": "the-claim", env.RedisURL: "redis://the-password@h", "GOFLAGS": "-v",
	})
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "out")
	link(secret, "key")
	link("..", "up")
	link("loop", "loop")
	link(".git", "gitlink")
	pipe(t, filepath.Join(r.dir, "pipe"))
	r.output()
	replies := r.replies()
	at := 0
	for i, try := range tries {
		if !strings.Contains(replies[at], try.want) {
			t.Errorf("try %d: the model was told %q, want %q", i, replies[at], try.want)
		}
		if at++; i%2 == 1 {
			at++
		}
	}
	mark := regexp.MustCompile(`SETT_TOOL_RUN=\S+`) // it names the run to Sett, and no secret
	for _, leak := range []string{"the-secret", "the-token", "the-claim", "the-password", "SETT_", "OPENAI", "ANTHROPIC"} {
		if all := mark.ReplaceAllString(strings.Join(replies, "\n"), ""); strings.Contains(all, leak) {
			t.Errorf("a reply has %q:\n%s", leak, all)
		}
	}
	contains(t, strings.Join(replies, "\n"), "GOFLAGS=-v")
	entries, _ := os.ReadDir(outside)
	if b, _ := os.ReadFile(secret); len(entries) != 1 || string(b) != "the-secret" || r.file(".git/config") != "[core]\n" || r.file(".git/hooks/x") != "" {
		t.Errorf("outside or .git has changed: %v, %s", entries, r.file(".git/config"))
	}
	if strings.Contains(r.stderr.String(), "the-") {
		t.Errorf("the log has a secret:\n%s", r.stderr.String())
	}
}

// TestInsideLinks: links within the tree work.
func TestInsideLinks(t *testing.T) {
	r := newTrial(t, writer, edit("view", "link", nil), edit("str_replace", "dir/a.txt", args{"old_str": "one\ntwo", "new_str": "1\n2"}), edit("view", "absolute", nil), done)
	for name, target := range map[string]string{"link": "main.go", "dir": "docs", "absolute": filepath.Join(r.dir, "main.go")} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.output()
	replies := r.replies()
	contains(t, replies[0], "package main")
	contains(t, replies[2], "package main")
	if got := r.file("docs/a.txt"); got != "1\r\n2\r\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestReadOnly: an agent that reads, a reviewer for example, changes nothing.
func TestReadOnly(t *testing.T) {
	r := newTrial(t, env.LLM{Tools: []string{"edit"}}, edit("create", "x", args{"file_text": "x"}), edit("str_replace", "main.go", args{"old_str": "hello", "new_str": "x"}), edit("view", "main.go", nil),
		finish(args{"verdict": "approve"})).reviewing()
	if out := r.output(); blackboard.VerdictOf(out.Payload) != blackboard.Approve || out.Commit != "" {
		t.Errorf("got %+v", out)
	}
	for _, reply := range r.replies()[:2] {
		contains(t, reply, "the working directory is read-only")
	}
	if strings.Contains(string(r.server.Last().Body), `"str_replace","insert"]`) {
		t.Error("the model is offered to write")
	}
}

// TestNoTools: a model without tools has ask and finish alone, also where there are files.
func TestNoTools(t *testing.T) {
	r := newTrial(t, env.LLM{Makes: []string{"Notes"}}, edit("view", "main.go", nil), run("cat", "main.go"), done)
	r.output()
	for _, reply := range r.replies() {
		contains(t, reply, "You have: ask, finish")
	}
	if strings.Contains(string(r.server.Last().Body), "main.go\\n") {
		t.Error("the prompt lists files")
	}
}

// TestLogIsClean: the model's words reach the log without control characters, and in short lines.
func TestLogIsClean(t *testing.T) {
	r := newTrial(t, writer, edit("\x1b[2Jview", "\u202egpj.exe\n\x07", nil), modeltest.Calls(modeltest.Tool("\x1b]0;x\x07", args{})), edit("view", strings.Repeat("x", 5000), nil), done)
	r.output()
	for line := range strings.Lines(r.stderr.String()) {
		if strings.ContainsAny(line, "\x1b\x07\u202e") || len(line) > 300 {
			t.Errorf("a line of the log is %q", line)
		}
	}
}
