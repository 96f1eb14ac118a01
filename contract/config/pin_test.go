package config

import (
	"slices"
	"strings"
	"testing"
)

// TestProgramFiles: the words that name programs are found by their place alone. Data for
// a program is not among them.
func TestProgramFiles(t *testing.T) {
	for command, want := range map[string]string{
		"agents/review.sh x":                     "agents/review.sh",
		"cat README.md":                          "cat",
		"sh agents/review.sh README.md":          "sh +agents/review.sh",
		"/usr/bin/bash -eu -o pipefail run.sh a": "/usr/bin/bash +run.sh",
		"bash -euo pipefail run.sh":              "bash +run.sh",
		"bash -- -run":                           "bash +-run",
		"sh -c agents/review.sh":                 "sh",
		"sh -n run.sh":                           "sh",
		"bash -eun run.sh":                       "bash",
		"node --check x.js":                      "node",
		"ruby -c x.rb":                           "ruby",
		"php -l x.php":                           "php",
		"bash -lc run.sh":                        "bash",
		"sh -s run.sh":                           "sh",
		"sh - run.sh":                            "sh",
		"sh":                                     "sh",
		"python3.12 -Wdefault -X dev tools/x.py a":  "python3.12 +tools/x.py",
		"python3 -W ignore tools/x.py":              "python3 +tools/x.py",
		"python3 -m pytest tests":                   "python3",
		"python3 -Im pytest tests":                  "python3",
		"python3 -c print a.py":                     "python3",
		"node --require ./a.js b.js c.js":           "node +b.js",
		"node --import=./a.js b.js":                 "node +b.js",
		"node -e 1 b.js":                            "node",
		"node --eval 1 b.js":                        "node",
		"ruby -Ilib -r json x.rb":                   "ruby +x.rb",
		"perl -w -I lib x.pl":                       "perl +x.pl",
		"perl -ne print x":                          "perl",
		"php -d a=b x.php":                          "php +x.php",
		"deno run --allow-net --config d.json x.ts": "deno +x.ts",
		"deno eval 1":                               "deno",
		"env -u A B=c python3 x.py":                 "env python3 +x.py",
		"/usr/bin/env -i agents/review.sh":          "/usr/bin/env agents/review.sh",
		"env -S sh x.sh":                            "env",
		"busybox sh x.sh":                           "busybox sh +x.sh",
		"bin/python3 x.py":                          "bin/python3 +x.py",
		"make test":                                 "make",
	} {
		words := strings.Fields(command)
		var got []string
		for _, p := range ProgramFiles(words) {
			sign := ""
			if p.Script {
				sign = "+"
			}
			got = append(got, sign+words[p.Index])
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", command, g, want)
		}
	}
	for _, bare := range [][]string{{"sh", ""}, {"env", ""}, {"env", "--"}, {"env", "-u"}, {"bash", "-o"}, {"bash", "--"}, {"deno", "run"}, {"busybox"}} {
		for _, p := range ProgramFiles(bare) {
			if p.Index >= len(bare) || p.Script {
				t.Errorf("%q: %v", bare, p)
			}
		}
	}
}

func TestInRepository(t *testing.T) {
	for _, c := range []struct {
		word   string
		script bool
		want   string
	}{
		{"agents/x.sh", false, "agents/x.sh"}, {"./agents//x.sh", false, "agents/x.sh"}, {"./x", false, "x"}, {"x", false, ""}, {"x", true, "x"},
		{"/workspace/agents/x.sh", false, "agents/x.sh"}, {"/workspace/../etc/x", false, ""}, {"/workspaces/x", false, ""}, {"/workspace", false, ""},
		{"../x", true, ""}, {"a/../../x", true, ""}, {"a/..", true, ""}, {"..x", true, "..x"}, {"/app/run.sh", false, ""}, {"", true, ""}, {"agents/", true, ""},
	} {
		if got, ok := InRepository(c.word, "/workspace", c.script); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q: %q %v, want %q", c.word, got, ok, c.want)
		}
	}
}

// TestPinned: only the words that name programs lead to their copies.
func TestPinned(t *testing.T) {
	r := &Resolved{Programs: map[string]string{"agents/x.sh": "agents/x.sh", "/workspace/y.py": "y.py"}}
	for _, c := range []struct{ command, want []string }{
		{[]string{"agents/x.sh", "agents/x.sh"}, []string{"/pin/agents/x.sh", "agents/x.sh"}},
		{[]string{"python3", "/workspace/y.py", "agents/x.sh"}, []string{"python3", "/pin/y.py", "agents/x.sh"}},
		{[]string{"make", "agents/x.sh"}, []string{"make", "agents/x.sh"}},
		{nil, nil},
	} {
		given := slices.Clone(c.command)
		if got := r.Pinned(c.command, "/pin"); !slices.Equal(got, c.want) || !slices.Equal(given, c.command) {
			t.Errorf("%q: %q, want %q", given, got, c.want)
		}
		back := slices.Clone(c.want)
		for i := range back {
			back[i] = strings.TrimPrefix(back[i], "/pin/")
		}
		if got := Unpinned(c.want, "/pin"); !slices.Equal(got, back) {
			t.Errorf("%q without its pin: %q, want %q", c.want, got, back)
		}
	}
	for _, same := range [][]string{{"/usr/bin/x", "/pin/a"}, {"x", "/pin/a"}, {"/pins/x"}, {"./x"}} {
		if got := Unpinned(same, "/pin"); !slices.Equal(got, same) {
			t.Errorf("%q: %q", same, got)
		}
		if got := Unpinned(same, ""); !slices.Equal(got, same) {
			t.Errorf("%q without a pin: %q", same, got)
		}
	}
	var none *Resolved
	if got := none.Pinned([]string{"agents/x.sh"}, "/pin"); got[0] != "agents/x.sh" {
		t.Errorf("nothing pinned: %q", got)
	}
}
