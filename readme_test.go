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
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cub/toolrun"
)

// pages are all documents whose commands tests type, in the order in which a
// reader types them: into one terminal, from the clone to the backup.
var pages = []string{
	"README.md",
	"agents/guides/first-agent.md", "agents/guides/audit.md", "agents/guides/review-clan.md", "agents/guides/tools.md",
	"agents/guides/people.md", "agents/guides/when-a-goal-does-not-end.md",
	"contract/README.md", "blackboard/README.md", "runtime/README.md",
	"CONTRIBUTING.md",
}

// TestReadme holds the documents to the truth: it runs every command, reads every
// example with the code that the example is for, and compares every list with the
// code.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip(redistest.Later)
	}
	p := read(t, pages)
	bin := buildSett(t)
	t.Run("containers", func(t *testing.T) {
		t.Parallel()
		p.runCommands(t, newSession(t, withContainers(t)))
	})
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		p.runCommands(t, newSession(t, localMode))
	})
	t.Run("pages", p.checkPages)
	t.Run("reference", func(t *testing.T) { p.checkReference(t, bin) })
	t.Run("sett.yml", p.checkConfiguration)
	t.Run("contract", p.checkContract)
	t.Run("event", p.checkEvent)
	t.Run("waits", p.checkWaits)
	t.Run("environment", p.checkEnvironment)
	t.Run("facts", p.checkFacts)
}

// book is the text of all pages, with a form feed between two.
type book struct {
	text   string
	blocks []block
}

// block is a fenced block.
type block struct {
	lang, about string // the words after the fence: "console docker" is about containers alone, "sh jq" needs jq
	text        string
	page        string
	line        int // of its first line
}

// at returns the place of a line of the block, for messages.
func (b block) at(line int) string { return fmt.Sprintf("%s:%d", b.page, b.line+line) }

// read returns the book of the pages.
func read(t *testing.T, names []string) *book {
	t.Helper()
	p := &book{}
	for _, name := range names {
		text := sources(t, name)
		p.text += text + "\f\n"
		for _, b := range fenced(text) {
			b.page = name
			p.blocks = append(p.blocks, b)
		}
	}
	return p
}

// checkPages finds documents that are not in the list of pages, links to nothing,
// and a README that is too long.
func (p *book) checkPages(t *testing.T) {
	for _, pattern := range []string{"*.md", "contract/*.md", "runtime/*.md", "blackboard/*.md", "roles/*.md", "agents/*.md", "agents/guides/*.md", "agents/examples/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !slices.Contains(pages, name) && name != "CHANGELOG.md" && !strings.HasPrefix(name, "agents/examples/") { // e2e types those
				t.Errorf("%s is not in the list of pages: nothing tests it", name)
			}
			checkLinks(t, name)
		}
	}
	if n := strings.Count(sources(t, "README.md"), "\n"); n > 250 {
		t.Errorf("README.md has %d lines, at most 250", n)
	}
}

// link finds the address of a link in a page.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkLinks follows a page's links to files of the repository and to headings.
func checkLinks(t *testing.T, name string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(sources(t, name), -1) {
		if strings.HasPrefix(m[1], "https://") {
			continue
		}
		file, heading, _ := strings.Cut(m[1], "#")
		to := filepath.Join(filepath.Dir(name), file)
		if file == "" {
			to = name
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Errorf("%s: link to %s: %v", name, m[1], err)
			continue
		}
		if heading != "" && !slices.Contains(anchors(string(text)), heading) {
			t.Errorf("%s: link to %s: %s has no such heading", name, m[1], to)
		}
	}
}

// anchors returns the names under which a page's headings are linked.
func anchors(text string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], " ", "-"))
		names = append(names, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, ""))
	}
	return names
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

func (p *book) of(t *testing.T, langs ...string) []block {
	t.Helper()
	var out []block
	for _, b := range p.blocks {
		if slices.Contains(langs, b.lang) {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no page has a block of %v", langs)
	}
	return out
}

// section returns the text below a heading, with what is below lower ones.
func (p *book) section(t *testing.T, heading string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^(##+) ` + regexp.QuoteMeta(heading) + `\n`).FindStringSubmatchIndex(p.text)
	if m == nil {
		t.Fatalf("no page has a section %q", heading)
	}
	body, _, _ := strings.Cut(p.text[m[1]:], "\f")
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
func (p *book) checkConfiguration(t *testing.T) {
	longest := ""
	for _, b := range p.of(t, "yaml") {
		c, err := config.Parse(b.page, []byte(b.text))
		if err != nil || c.Runtime != config.RuntimeDocker {
			t.Errorf("%s: %v", b.at(0), err)
		}
		if len(b.text) > len(longest) {
			longest = b.text
		}
	}
	for key := range keysOf(reflect.TypeFor[config.Config](), map[string]bool{}) {
		if !regexp.MustCompile(`\b` + key + `:`).MatchString(longest) {
			t.Errorf("no page shows the key %s of sett.yml", key)
		}
	}
	offered := strings.ReplaceAll(longest, "# url: ", "url: ")
	full, err := config.Parse("offered", []byte(offered))
	if err != nil || full.Redis.URL == "" {
		t.Errorf("with the commented-out key: %v", err)
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
	for _, c := range []*config.Config{full, defaults} {
		for _, a := range c.Agents {
			for i := range a.Bids {
				a.Bids[i].Line = 0
			}
		}
	}
	if err != nil || bare.Len() > len(longest)*2/3 || !reflect.DeepEqual(full, defaults) {
		t.Errorf("the defaults that are shown are not the defaults: %v\n%+v\n%+v", err, full, defaults)
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
		if field.Type == reflect.TypeFor[*config.Resolved]() || field.Type == reflect.TypeFor[config.ModelGatewayService]() || field.Type == reflect.TypeFor[config.ModelFacts]() || field.Type == reflect.TypeFor[config.OtelFacts]() || field.Name == "Traced" {
			continue // `sett up` finds it out
		}
		if of == reflect.TypeFor[config.LLM]() && field.Name == "Shell" || field.Anonymous {
			keysOf(field.Type, keys) // run: shell; a struct's own keys
			continue
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
func (p *book) checkEnvironment(t *testing.T) {
	cub := env.Cub{
		Instance: "i", Agent: "a", Role: "r", PromptClaim: "c", PromptExecution: "e", Workspace: "/w", Mode: blackboard.ReadOnly,
		Redis: env.Redis{URL: "redis://secret"}, Network: config.NetworkNone, Pin: "/p",
	}
	got := map[string]bool{toolrun.MarkVariable: true}
	for _, v := range env.ToolEnviron(append(cub.Environ(), env.Token+"=secret"), env.ToolVars{GoalID: "g", Goal: "x", Slot: 1, Slots: 2}) {
		name, value, _ := strings.Cut(v, "=")
		got[name] = true
		if strings.Contains(value, "secret") {
			t.Errorf("a tool gets %s", v)
		}
	}
	shown := map[string]bool{}
	for _, name := range codes(p.section(t, "The tool contract")) {
		if shown[name] = true; strings.HasPrefix(name, "SETT_") && name != "SETT_" && !got[name] {
			t.Errorf("a page names %s, which no tool gets", name)
		}
	}
	delete(got, env.Grace)
	for _, v := range append(env.Redis{URL: "u"}.Environ(), env.HealthAddr) { // the cub's own affairs
		name, _, _ := strings.Cut(v, "=")
		delete(got, name)
	}
	for name := range got {
		if !shown[name] {
			t.Errorf("no page names %s, which tools get", name)
		}
	}
	for _, name := range env.DoorVariables { // of agents with a model
		shown[name] = true
	}
	readers := sources(t, append(productFiles(t, "roles/cli"), ".tools/testrun/main.go")...)
	for _, name := range regexp.MustCompile(`\bSETT_\w+`).FindAllString(p.text, -1) {
		if !shown[name] && name != "SETT_" && name != env.DefaultName && name != env.OwnRedis && name != env.RedisCAFile && !strings.Contains(readers, `"`+name+`"`) {
			t.Errorf("a page names %s: nobody reads it", name)
		}
	}
}

// productFiles returns the Go files below a folder, without tests.
func productFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
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
func (p *book) checkFacts(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(sources(t, "go.mod"))
	said := strings.Join(strings.Fields(p.text), " ")
	for _, fact := range append([]string{
		fmt.Sprintf("%d MiB on stdout", blackboard.MaxCapture>>20), fmt.Sprintf("at most %d bytes", tool.MaxTypeLength),
		fmt.Sprintf("longer than %d KiB", env.MaxPayload>>10), "needs Go " + version[1],
		fmt.Sprintf("TERM, %d s later KILL", int(toolrun.DefaultGrace.Seconds())),
	}, containerFacts(t)...) {
		if !strings.Contains(said, fact) {
			t.Errorf("no page says %q", fact)
		}
	}
	for _, m := range regexp.MustCompile(`\tType\w+ += "(\w+)"`).FindAllStringSubmatch(sources(t, "blackboard/artefact.go"), -1) {
		if !strings.Contains(p.section(t, "The tool contract"), m[1]) {
			t.Errorf("no page names the type %s", m[1])
		}
	}
	p.checkMetrics(t)
}

// checkMetrics compares the names of metrics.
func (p *book) checkMetrics(t *testing.T) {
	var want []string
	var counters string
	for _, dir := range []string{"roles/cub", "roles/gateway", "roles/orchestrator/report", "roles/role"} {
		files, _ := filepath.Glob(dir + "/*.go")
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		counters += sources(t, files...)
	}
	for _, m := range regexp.MustCompile(`"(sett_[a-z_]+)"`).FindAllStringSubmatch(counters, -1) {
		want = append(want, m[1])
	}
	list := sources(t, "testdata/monitoring/README.md")
	got := slices.DeleteFunc(codes(list), func(s string) bool { return !strings.HasPrefix(s, "sett_") })
	const age = "_oldest_age_seconds" // of some there is this as well, which is named once; others have a name of their own
	ages := len(want)
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, age) && !slices.Contains(got, s) })
	if ages -= len(want); ages == 0 || !strings.Contains(list, "`…"+age+"`") {
		t.Errorf("the list of metrics does not say that there is …%s, of which there are %d", age, ages)
	}
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); len(want) < 40 || !slices.Equal(got, want) {
		t.Errorf("testdata/monitoring/README.md names %q, there are %q", got, want)
	}
}
