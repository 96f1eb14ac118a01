package redis

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/lua"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// Nothing an instance writes lies outside its prefix, whatever its parts are
// called.
func TestKeysHaveThePrefix(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "ann"}))
		must(t, w.b.Cub.Hello(w.ctx, "a}:{", blackboard.Presence{Incarnation: "i"}, 0))
		claim := w.granted(blackboard.PhaseExclusive, "a}:{", "b")
		w.finish(claim, "a}:{", blackboard.Question, "Type: {odd}\n", "?")
		for key := range w.dump() {
			if !strings.HasPrefix(key, "sett:{test}:") {
				t.Errorf("key %q", key)
			}
		}
	})
}

// Every script says in its header what move it is, what it takes and what it
// answers.
func TestScriptHeaders(t *testing.T) {
	files, err := filepath.Glob("lua/[a-z]*.lua")
	must(t, err)
	if len(files) != len(lua.Scripts()) || len(files) < 15 {
		t.Errorf("%d files, %d scripts", len(files), len(lua.Scripts()))
	}
	used := regexp.MustCompile(`ARGV\[(\d+)\]`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		var header string
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			header += line
		}
		keys := "KEYS[1] the ledger."
		if filepath.Base(file) == "rights.lua" {
			keys = "KEYS: none"
		}
		for _, want := range []string{keys, "ARGV:", "-- Replies "} {
			if !strings.Contains(header, want) {
				t.Errorf("%s: no %q in its header", file, want)
			}
		}
		for _, m := range used.FindAllStringSubmatch(string(b), -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(header[strings.Index(header, "ARGV:")+1:]) {
				t.Errorf("%s: ARGV[%s] is not in its header", file, m[1])
			}
		}
	}
}
