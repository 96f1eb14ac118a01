package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runCommands runs every command in order, and compares what the README shows of
// its output.
func (p *book) runCommands(t *testing.T, s *session) {
	for _, b := range p.of(t, "sh", "console", "dockerfile") {
		if b.about == "docker" && !s.place.containers {
			continue
		}
		if _, err := exec.LookPath("jq"); b.about == "jq" && err != nil {
			t.Logf("%s: not run: %v", b.at(0), err)
			continue
		}
		if b.lang == "dockerfile" {
			s.build(t, b)
			continue
		}
		var out string
		var said map[string]string // by what of it is the same in each run
		lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
		for i := 0; i < len(lines); i++ {
			at := b.at(i)
			typed, prompt := strings.CutPrefix(lines[i], "$ ")
			line, known := said[plain(lines[i])]
			isCommand := b.lang == "sh" || prompt && !known // the demo shows its own commands
			switch {
			case !isCommand:
				if p := plain(lines[i]); p != "…" && p != "" && !known {
					t.Errorf("%s: not in the output: %s\n%s", at, lines[i], out)
				}
				s.learn(lines[i], line)
				continue
			case strings.TrimSpace(typed) == "" || strings.HasPrefix(typed, "#"):
				continue
			}
			if _, mark, here := strings.Cut(typed, "<<'"); here {
				mark = strings.TrimSuffix(mark, "'")
				for more := true; more && i+1 < len(lines); more = lines[i] != mark {
					i++
					typed += "\n" + lines[i]
				}
			}
			var err error
			if out, err = s.run(s.translate(typed)); err != nil {
				t.Fatalf("%s: %s: %v\n%s", at, typed, err, out)
			}
			if m := doubt.FindString(out); m != "" && (b.page == "README.md" || strings.HasPrefix(b.page, "agents/guides/")) {
				t.Errorf("%s: %s: the clan of a guide has a doubt: %s", at, typed, m)
			}
			said = map[string]string{}
			for line := range strings.Lines(out) {
				said[plain(strings.ReplaceAll(line, s.suffix, ""))] = line
			}
		}
	}
	if said := s.must(t, "command -V sett >/dev/null && command sett version"); !strings.Contains(said, version) {
		t.Errorf("the sett on the PATH is not the one that was built: %s", said)
	}
	p.checkHealth(t, s)
	for _, name := range codes(p.section(t, "Where things are")) {
		if strings.HasPrefix(name, "$") || strings.HasPrefix(name, "~") || !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, "/") {
			continue
		}
		if s.place.containers && name == "blackboard/" {
			continue // a volume
		}
		if _, err := os.Stat(filepath.Join(s.state(), s.name(), name)); err != nil {
			t.Errorf("a page names %s: %v", name, err)
		}
	}
	if s.place.containers {
		p.checkNames(t, s.name())
	}
}

// doubt matches a warning about the reader's sett.yml.
var doubt = regexp.MustCompile(`(?m)^sett: warning: sett\.yml:.*$`)

// What differs from run to run.
var (
	varying = []struct {
		what *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "TIME"},
		{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`), "SPAN"},
		{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "ADDR"},
		{regexp.MustCompile(`\b([0-9A-HJKMNP-TV-Z]{26}|[0-9A-HJKMNP-TV-Z]{8})\b`), "ID"},
		{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "HASH"},
		{regexp.MustCompile(`\s+`), " "},
	}
	pair = regexp.MustCompile(`by (\w+), (\w+)$`)
)

// plain is a line without what differs from run to run.
func plain(line string) string {
	for _, v := range varying {
		line = v.what.ReplaceAllString(line, v.name)
	}
	line = strings.TrimSpace(line)
	if m := pair.FindStringSubmatch(line); m != nil && m[1] > m[2] { // who bids first comes first
		line = pair.ReplaceAllString(line, "by $2, $1")
	}
	return line
}

// checkHealth asks for all that the README says is served, at the address that
// `sett list` names.
func (p *book) checkHealth(t *testing.T, s *session) {
	t.Helper()
	var said struct {
		Instances []struct {
			Name      string `json:"name"`
			HealthURL string `json:"health_url"`
		} `json:"instances"`
	}
	if err := json.Unmarshal([]byte(s.must(t, "sett list -o json")), &said); err != nil {
		t.Fatal(err)
	}
	address := ""
	for _, in := range said.Instances {
		if in.Name == s.name() {
			address = strings.TrimSuffix(in.HealthURL, "/healthz")
		}
	}
	asked := 0
	for _, row := range rows(p.section(t, "Health and metrics")) {
		for _, path := range codes(row[0]) {
			resp, err := http.Get(address + strings.ReplaceAll(path, "AGENT", "note"))
			if err != nil {
				t.Error(err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			want := map[string]string{"healthz": "ok\n", "metrics": "\nsett_"}[path[strings.LastIndexByte(path, '/')+1:]]
			if path == "/repository/healthz" {
				want = `"instance"`
			}
			if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 || !strings.Contains(string(body), want) {
				t.Errorf("%s of %s: %s, %v", path, address, resp.Status, err)
			}
			asked++
		}
	}
	if asked < 6 {
		t.Errorf("a page names %d things that are served", asked)
	}
}
