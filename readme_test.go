package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cub/toolrun"
)

// TestReadme holds the README to the truth: every command in it is run, every
// example is read by the code that it is an example for, and every list in it is
// compared with what it lists.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &page{text: string(text), blocks: fenced(string(text))}
	bin := buildSett(t)
	t.Run("containers", func(t *testing.T) {
		p.runCommands(t, newSession(t, withContainers(t)))
	})
	t.Run("processes", func(t *testing.T) { p.runCommands(t, newSession(t, localMode)) })
	t.Run("reference", func(t *testing.T) { p.checkReference(t, bin) })
	t.Run("sett.yml", p.checkConfiguration)
	t.Run("contract", p.checkContract)
	t.Run("event", p.checkEvent)
	t.Run("waits", p.checkWaits)
	t.Run("environment", p.checkEnvironment)
	t.Run("facts", p.checkFacts)
}

// page is the README.
type page struct {
	text   string
	blocks []block
}

// block is a fenced block.
type block struct {
	lang, about string // the words after the fence: "console docker" is about containers alone
	text        string
	line        int // of its first line
}

func fenced(text string) []block {
	var blocks []block
	var open *block
	for i, line := range strings.SplitAfter(text, "\n") {
		lang, fence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch {
		case fence && open == nil:
			lang, about, _ := strings.Cut(lang, " ")
			open = &block{lang: lang, about: about, line: i + 2}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return blocks
}

func (p *page) of(t *testing.T, langs ...string) []block {
	t.Helper()
	var out []block
	for _, b := range p.blocks {
		if slices.Contains(langs, b.lang) {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		t.Fatalf("README.md has no block of %v", langs)
	}
	return out
}

// section returns the text below a heading, with what is below lower ones.
func (p *page) section(t *testing.T, heading string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^(##+) ` + regexp.QuoteMeta(heading) + `\n`).FindStringSubmatchIndex(p.text)
	if m == nil {
		t.Fatalf("README.md has no section %q", heading)
	}
	body := p.text[m[1]:]
	for level := m[3] - m[2]; level > 1; level-- {
		body, _, _ = strings.Cut(body, "\n"+strings.Repeat("#", level)+" ")
	}
	return body
}

// rows returns the cells of the tables in a text, without heads.
func rows(text string) [][]string {
	var out [][]string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---")
		if !strings.HasPrefix(line, "| ") || head {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		out = append(out, cells)
	}
	return out
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

func codes(text string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// checkConfiguration parses every sett.yml, and holds the reference, the longest,
// to what it says: every key is there, with its default.
func (p *page) checkConfiguration(t *testing.T) {
	longest := ""
	for _, b := range p.of(t, "yaml") {
		c, err := config.Parse("README.md", []byte(b.text))
		if err != nil || c.Runtime != config.RuntimeDocker {
			t.Errorf("README.md:%d: %v", b.line, err)
		}
		if len(b.text) > len(longest) {
			longest = b.text
		}
	}
	for key := range keysOf(reflect.TypeFor[config.Config](), map[string]bool{}) {
		if !regexp.MustCompile(`\b` + key + `:`).MatchString(longest) {
			t.Errorf("README.md shows no key %s of sett.yml", key)
		}
	}
	offered := strings.ReplaceAll(longest, "# url: ", "url: ")
	full, err := config.Parse("offered", []byte(offered))
	if err != nil || full.Redis.URL == "" {
		t.Errorf("with what the README comments out: %v", err)
	}
	full, _ = config.Parse("shown", []byte(longest))
	opens := regexp.MustCompile(`^\s*\w+:\s*(#.*)?$`)
	var bare strings.Builder
	for line := range strings.Lines(longest) {
		if strings.Contains(line, "# e.g.") || opens.MatchString(strings.TrimSuffix(line, "\n")) {
			bare.WriteString(line)
		}
	}
	defaults, err := config.Parse("without the defaults", []byte(bare.String()))
	if err != nil || bare.Len() > len(longest)*2/3 || !reflect.DeepEqual(full, defaults) {
		t.Errorf("what the README shows as defaults are none: %v\n%+v\n%+v", err, full, defaults)
	}
}

// keysOf returns the keys that the types of sett.yml stand for.
func keysOf(of reflect.Type, keys map[string]bool) map[string]bool {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keysOf(of.Elem(), keys)
	case reflect.Struct:
	default:
		return keys
	}
	switch of { // written as mappings or words of the user's
	case reflect.TypeFor[config.BidRule](), reflect.TypeFor[config.EnvVar](), reflect.TypeFor[time.Time]():
		return keys
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Type == reflect.TypeFor[*config.Resolved]() {
			continue // `sett up` finds it out
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if of != reflect.TypeFor[config.Agent]() || field.Name != "Name" {
			keys[key] = true
		}
		keysOf(field.Type, keys)
	}
	return keys
}

// checkEnvironment compares the variables with those that a tool gets.
func (p *page) checkEnvironment(t *testing.T) {
	cub := env.Cub{
		Instance: "i", Agent: "a", Role: "r", PromptClaim: "c", PromptExecution: "e", Workspace: "/w", Mode: blackboard.ReadOnly,
		Redis: env.Redis{URL: "redis://secret"}, Network: config.NetworkNone,
	}
	got := map[string]bool{toolrun.MarkVariable: true}
	for _, v := range env.ToolEnviron(append(cub.Environ(), env.Token+"=secret"), env.ToolVars{}) {
		name, value, _ := strings.Cut(v, "=")
		got[name] = true
		if strings.Contains(value, "secret") {
			t.Errorf("a tool gets %s", v)
		}
	}
	shown := map[string]bool{}
	for _, name := range codes(p.section(t, "The tool contract")) {
		if shown[name] = true; strings.HasPrefix(name, "SETT_") && name != "SETT_" && !got[name] {
			t.Errorf("README.md names %s, which no tool gets", name)
		}
	}
	delete(got, env.Grace)
	for _, v := range append(env.Redis{URL: "u"}.Environ(), env.HealthAddr) { // the cub's own affairs
		name, _, _ := strings.Cut(v, "=")
		delete(got, name)
	}
	for name := range got {
		if !shown[name] {
			t.Errorf("README.md does not name %s, which tools get", name)
		}
	}
	readers := sources(t, "roles/cli/engine.go", "roles/cli/who.go", ".tools/testreport/main.go")
	for _, name := range regexp.MustCompile(`\bSETT_\w+`).FindAllString(p.text, -1) {
		if !shown[name] && name != "SETT_" && name != env.DefaultName && !strings.Contains(readers, `"`+name+`"`) {
			t.Errorf("README.md names %s: nobody reads it", name)
		}
	}
}

// sources returns the text of some files.
func sources(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// checkFacts compares limits, metrics and requirements.
func (p *page) checkFacts(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(sources(t, "go.mod"))
	said := strings.Join(strings.Fields(p.text), " ")
	for _, fact := range append([]string{
		fmt.Sprintf("%d MiB on stdout", blackboard.MaxCapture>>20), fmt.Sprintf("at most %d bytes", tool.MaxTypeLength),
		fmt.Sprintf("longer than %d KiB", env.MaxPayload>>10), "needs Go " + version[1],
		fmt.Sprintf("TERM, %d s later KILL", int(toolrun.DefaultGrace.Seconds())),
	}, containerFacts(t)...) {
		if !strings.Contains(said, fact) {
			t.Errorf("README.md does not say %q", fact)
		}
	}
	for _, m := range regexp.MustCompile(`\tType\w+ += "(\w+)"`).FindAllStringSubmatch(sources(t, "blackboard/artefact.go"), -1) {
		if !strings.Contains(p.section(t, "The tool contract"), m[1]) {
			t.Errorf("README.md does not name the type %s", m[1])
		}
	}
	p.checkMetrics(t)
}

// checkMetrics compares the names of metrics.
func (p *page) checkMetrics(t *testing.T) {
	var want []string
	var counters string
	for _, dir := range []string{"roles/cub", "roles/orchestrator", "roles/role"} {
		files, _ := filepath.Glob(dir + "/*.go")
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		counters += sources(t, files...)
	}
	for _, m := range regexp.MustCompile(`"(sett_[a-z_]+)"`).FindAllStringSubmatch(counters, -1) {
		want = append(want, m[1])
	}
	list := sources(t, "testdata/monitoring/README.md")
	got := slices.DeleteFunc(codes(list), func(s string) bool { return !strings.HasPrefix(s, "sett_") })
	const age = "_oldest_age_seconds" // of some there is this as well, which is named once
	ages := len(want)
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, age) })
	if ages -= len(want); ages == 0 || !strings.Contains(list, "`…"+age+"`") {
		t.Errorf("the list of metrics does not say that there is …%s, of which there are %d", age, ages)
	}
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); len(want) < 40 || !slices.Equal(got, want) {
		t.Errorf("testdata/monitoring/README.md names %q, there are %q", got, want)
	}
}
