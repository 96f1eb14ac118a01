package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/role"
)

// Of what the blackboard lost, an export takes what is left, and says so: it ends with
// 1 and a whole file.
func TestLedgerLost(t *testing.T) {
	s := newStage(t)
	gone, broken := s.Goal("one"), s.Goal("two")
	if _, stderr, err := s.run("ledger", "export", "--file", "whole.jsonl"); err != nil || strings.Contains(stderr, "warning") {
		t.Errorf("said %q: %v", stderr, err)
	}
	s.Send("DEL", "sett:{stage}:artifact:"+gone)
	s.Send("HDEL", "sett:{stage}:workflow:"+broken, "created_at")
	stdout, stderr, err := s.run("ledger", "export", "--file", "rest.jsonl")
	if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "exported, but 2 records are lost or corrupt") || stdout != "" {
		t.Errorf("it ended with %v, and printed %q", err, stdout)
	}
	for _, want := range []string{"sett: exported 1 artefact,", "sett: warning: artefact " + gone + ": not found\n", "sett: warning: read workflow " + broken + ": field created_at: missing"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %q", want, stderr)
		}
	}
	file, err := os.ReadFile(filepath.Join(s.root, "rest.jsonl"))
	if err != nil || !strings.Contains(string(file), `{"kind":"lost","id":"`+gone+`"`) || !strings.Contains(string(file), `{"kind":"footer"`) {
		t.Errorf("the file is %s: %v", file, err)
	}
}

// A claim and a goal that were changed by hand are named by the export, and by the import of the file.
func TestLedgerMovesChanged(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("one")
	s.Send("HSET", "sett:{stage}:workflow:"+goal, "by", "eve")
	_, stderr, err := s.run("ledger", "export", "--file", "changed.jsonl")
	want := "sett: warning: workflow " + goal + " is not what the ledger recorded: it has another by"
	if role.CodeOf(err) != role.Failed || err.Error() != "exported, but 1 record is lost or corrupt" || !strings.Contains(stderr, want) {
		t.Errorf("it ended with %v, and said %q", err, stderr)
	}
	file, err := os.ReadFile(filepath.Join(s.root, "changed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.jsonl") // outlasts the stage
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("import", func(t *testing.T) {
		if _, stderr, err := newStage(t).run("ledger", "import", path); err != nil || !strings.Contains(stderr, want) {
			t.Errorf("it says %q: %v", stderr, err)
		}
	})
}

// An artefact that was changed by hand is named, and so is an index that is gone; the rest is exported, and can be imported.
func TestLedgerChanged(t *testing.T) {
	s := newStage(t)
	changed, other := s.Goal("one"), s.Goal("two")
	s.Send("HSET", "sett:{stage}:artifact:"+changed, "payload", "another")
	s.Send("DEL", "sett:{stage}:artefacts")
	_, stderr, err := s.run("ledger", "export", "--file", "rest.jsonl")
	if role.CodeOf(err) != role.Failed || err.Error() != "exported, but 2 records are lost or corrupt" {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"warning: artefact " + changed + " is not what the ledger recorded: its payload has 7 bytes", "warning: index artefacts lacks 2 of the records that the ledger names"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %q", want, stderr)
		}
	}
	file, err := os.ReadFile(filepath.Join(s.root, "rest.jsonl"))
	if err != nil || !strings.Contains(string(file), `{"kind":"lost","id":"`+changed+`"`) || !strings.Contains(string(file), `"payload":"another"`) ||
		!strings.Contains(string(file), `{"kind":"artefact","artefact":{"id":"`+other+`"`) {
		t.Errorf("the file is %s: %v", file, err)
	}
	path := filepath.Join(t.TempDir(), "rest.jsonl") // outlasts the stage
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("import", func(t *testing.T) {
		_, stderr, err := newStage(t).run("ledger", "import", path)
		if err != nil || !strings.Contains(stderr, "warning: 1 more artefact was lost or corrupt before the export") {
			t.Errorf("the import said %q: %v", stderr, err)
		}
	})
}

// TestShowChanged: an artefact that was changed by hand is shown as it is, and the command fails: the ledger has another one.
func TestShowChanged(t *testing.T) {
	s := newStage(t)
	changed, other := s.Goal("one"), s.Goal("two")
	for _, args := range [][]string{{"show", changed}, {"unearth", changed}, {"unearth", "--meta", changed}} {
		if _, stderr, err := s.run(args...); err != nil {
			t.Errorf("%q of what is right: %v, %s", args, err, stderr)
		}
	}
	s.Send("HSET", "sett:{stage}:artifact:"+changed, "payload", "another")
	s.Send("HSET", "sett:{stage}:artifact:"+other, "summary", "mine")
	for _, c := range []struct {
		id, says string
		args     []string
	}{
		{changed, "its payload has 7 bytes", []string{"show"}}, {changed, "its payload has 7 bytes", []string{"show", "-o", "json"}},
		{changed, "its payload has 7 bytes", []string{"unearth"}}, {changed, "its payload has 7 bytes", []string{"unearth", "--meta"}},
		{other, "it has another summary, metadata,", []string{"show"}}, {other, "it has another summary, metadata,", []string{"unearth"}},
	} {
		out, _, err := s.run(append(c.args, c.id)...)
		if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "artefact "+c.id+" is not what the ledger recorded: "+c.says) || out == "" {
			t.Errorf("%q: %v, %q", c.args, err, out)
		}
	}
}
