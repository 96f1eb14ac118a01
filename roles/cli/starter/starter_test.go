package starter

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sett/agents"
	"sett/contract/config"
	"sett/roles/role"
)

func TestExtend(t *testing.T) {
	const block = "new: # fresh\n  command: [x]\n\nother: {command: [y]}\n"
	for name, c := range map[string]struct{ source, want string }{
		"at the end":         {"a: 1\nagents:\n  old: {command: [z]}\n", "a: 1\nagents:\n  old: {command: [z]}\n\n  new: # fresh\n    command: [x]\n\n  other: {command: [y]}\n"},
		"no line feed":       {"agents:\n  old: {}", "agents:\n  old: {}\n\n  new: # fresh\n    command: [x]\n\n  other: {command: [y]}\n"},
		"in between":         {"agents: # the clan\n    # of old\n    old: {}\n      # its comment\n\n# redis\nredis: {}\n", "agents: # the clan\n    # of old\n    old: {}\n      # its comment\n\n    new: # fresh\n      command: [x]\n\n    other: {command: [y]}\n\n# redis\nredis: {}\n"},
		"right before a key": {"agents:\n  old: {}\nredis: {}\n", "agents:\n  old: {}\n\n  new: # fresh\n    command: [x]\n\n  other: {command: [y]}\n\nredis: {}\n"},
		"none yet":           {"agents:\n", "agents:\n  new: # fresh\n    command: [x]\n\n  other: {command: [y]}\n"},
	} {
		if got, err := Extend(c.source, block); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
	for _, source := range []string{"agents: {a: {}}\n", "", "redis: {}\n", "{agents: {a: {command: [x]}}}\n"} {
		_, err := Extend(source, block)
		var e *role.Error
		if !errors.As(err, &e) || e.Code != role.Usage || !strings.Contains(e.Hint, "  new: # fresh\n    command: [x]\n") {
			t.Errorf("%q: %v", source, err)
		}
	}
}

// Each example is a whole clan by itself, and fits beside the others.
func TestExamplesFit(t *testing.T) {
	all := ""
	for _, kind := range Kinds {
		model := ""
		if AsksModel(kind) {
			model = "name-of-a-model"
		}
		e, err := Add(kind, "", model, true)
		if err != nil {
			t.Fatal(err)
		}
		last := e.Files[len(e.Files)-1]
		var warnings []config.Warning
		c, err := config.Parse(last.Path, last.Text, config.NoteWarnings(&warnings))
		if err != nil || len(warnings) > 0 || !e.Fresh || !slices.Equal(c.Names(), e.Agents) || !c.Flow().Closed() {
			t.Errorf("%s: %v %v %v", kind, err, warnings, e.Agents)
		}
		if rights := c.Rights("."); len(rights) > 0 && (!AsksModel(kind) || len(rights) > 1 || rights[0].Key != "models.main.api_key_env") {
			t.Errorf("%s takes rights: %v", kind, rights)
		}
		for _, a := range c.Agents {
			file := a.Command[0]
			if i := slices.IndexFunc(e.Files, func(f File) bool { return f.Path == file && f.Mode == 0o755 }); strings.Contains(file, "/") && i < 0 {
				t.Errorf("%s: %s is not written", kind, file)
			}
		}
		if kind == makers[0] || AsksModel(kind) {
			continue
		}
		if e, err = Add(kind, all, "", true); err != nil {
			t.Fatal(err)
		}
		all = string(e.Files[len(e.Files)-1].Text)
	}
	if c, err := config.Parse("sett.yml", []byte(all)); err != nil || len(c.Agents) != 6 {
		t.Errorf("all of them: %v\n%s", err, all)
	}
	names, err := fs.Glob(agents.Examples, "examples/*.yml")
	if err != nil || len(names) != len(Kinds) {
		t.Errorf("%v, and kinds %v", names, Kinds)
	}
}

// What an example would spoil is refused.
func TestExampleRefused(t *testing.T) {
	for name, c := range map[string]struct{ kind, source, want, model string }{
		"two that begin": {"commit", "runtime: process\nagents:\n  a: {command: [x]}\n", "agent a works alone on goals already", ""},
		"broken":         {"check", "agents:\n  a: {comand: [x]}\n", "unknown key \"comand\"", ""},
		"there already":  {"check", "runtime: process\nagents:\n  check: {command: [x]}\n", "sett.yml has an agent \"check\" already", ""},
		"no commits":     {"check", "runtime: process\nagents:\n  a: {command: [x], adapter: text, makes: X, bids: {GoalDefined: exclusive}}\n", "no agent makes \"CodeCommit\"", ""},
		"one line":       {"check", "runtime: process\nagents: {a: {command: [x]}}\n", "no list of agents with a line of its own", ""},
		"no model":       {"llm-coder", "", "the example asks a model, and none is named", ""},
		"two models":     {"llm-coder", "runtime: process\nmodels: {m: {api: chat, model: x, base_url: \"http://h/v1\"}}\nagents:\n  a: {command: [x], bids: {X: review}}\n", "sett.yml has models: m", "y"},
		"a model for it": {"check", "", "the example check asks no model", "y"},
	} {
		if _, err := Add(c.kind, c.source, c.model, true); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModelThatIsThere: an example takes the first model of the sett.yml that is there, and
// changes nothing else.
func TestModelThatIsThere(t *testing.T) {
	before := "runtime: process\nmodels: {smart: {api: chat, model: x, base_url: \"http://h/v1\"}}\nagents:\n  a: {command: [x], bids: {Note: claim}}\n"
	e, err := Add("llm-reviewer", before, "", true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("sett.yml", e.Files[len(e.Files)-1].Text)
	if err != nil || len(c.Models) != 1 || !slices.Equal(e.Agents, []string{"llm-coder", "llm-report", "llm-reviewer"}) {
		t.Fatalf("%v, agents %v", err, e.Agents)
	}
	for _, name := range e.Agents {
		if a, _ := c.Agent(name); a.LLM == nil || a.LLM.Model != "smart" {
			t.Errorf("%s has the model %+v", name, a.LLM)
		}
	}
	if len(e.Files) != 4 { // two pages, schema and sett.yml
		t.Errorf("it writes %d files", len(e.Files))
	}
}

// TestNewModel: a sett.yml that has agents and no models gets one.
func TestNewModel(t *testing.T) {
	before := "runtime: process\nagents:\n  a: {command: [x], bids: {Note: claim}}\n"
	for name, api := range map[string]string{"claude-x": "messages", "x": "chat"} {
		e, err := Add("llm-coder", before, name, true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.Parse("sett.yml", e.Files[len(e.Files)-1].Text)
		if err != nil || len(c.Models) != 1 || c.Models[0].Model != name || string(c.Models[0].API) != api {
			t.Errorf("%v: %+v", err, c.Models)
		}
	}
}

// A repository's links, pipes and devices lead no file of sett init to another place.
func TestWriteStaysInside(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(root, out string) error
		want    string
	}{
		"a new directory":     {func(string, string) error { return nil }, ""},
		"a link of its own":   {func(root, _ string) error { return errors.Join(os.Mkdir(root+"/b", 0o755), os.Symlink("b", root+"/a")) }, ""},
		"a directory outside": {func(root, out string) error { return os.Symlink(out, root+"/a") }, "leads out of its repository"},
		"a file outside": {func(root, out string) error {
			return errors.Join(os.WriteFile(out+"/f", []byte("mine"), 0o600), os.Mkdir(root+"/a", 0o755), os.Symlink(out+"/f", root+"/a/f"))
		}, "leads out of its repository"},
		"a link to nothing": {func(root, out string) error {
			return errors.Join(os.Mkdir(root+"/a", 0o755), os.Symlink(out+"/none", root+"/a/f"))
		}, "leads nowhere"},
		"a pipe": {func(root, _ string) error {
			return errors.Join(os.Mkdir(root+"/a", 0o755), syscall.Mkfifo(root+"/a/f", 0o600))
		}, "a named pipe"},
	} {
		root, out := t.TempDir(), t.TempDir()
		if err := c.prepare(root, out); err != nil {
			t.Fatal(err)
		}
		err := File{Path: "a/f", Text: []byte("text"), Mode: 0o755}.Write(root)
		switch {
		case c.want == "":
			text, read := os.ReadFile(root + "/a/f")
			info, stat := os.Stat(root + "/a/f")
			if err != nil || read != nil || stat != nil || string(text) != "text" || info.Mode().Perm() != 0o755 {
				t.Errorf("%s: %v %v %q", name, err, read, text)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		entries, _ := os.ReadDir(out)
		for _, e := range entries {
			if text, _ := os.ReadFile(out + "/" + e.Name()); string(text) != "mine" {
				t.Errorf("%s: wrote %s outside", name, e.Name())
			}
		}
	}
}
