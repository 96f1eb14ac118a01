package main_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	exit "sett/roles/role"
)

// checkReference compares commands, flags, roles, exit codes and make targets.
func (p *book) checkReference(t *testing.T, bin string) {
	help := map[string]string{"": says(t, bin, "--help")}
	listed, _, _ := strings.Cut(help[""], "\nRoles that")
	_, listed, _ = strings.Cut(listed, "\nStart here:")
	want := map[string][]string{} // by group
	var groups []string
	group, named := "Start here", 0
	for line := range strings.Lines(listed) {
		switch name, _, ok := strings.Cut(strings.TrimSpace(line), " "); {
		case ok && strings.HasPrefix(line, "  "):
			if len(want[group]) == 0 {
				groups = append(groups, group)
			}
			want[group] = append(want[group], "sett "+name)
			help[name] = says(t, bin, name, "--help")
			named++
		case strings.HasSuffix(strings.TrimSpace(line), ":"):
			group = strings.TrimSuffix(strings.TrimSpace(line), ":")
		}
	}
	got := map[string][]string{}
	var order []string
	for _, row := range rows(p.section(t, "Everyday commands")) {
		name := strings.Trim(row[0], "*")
		order = append(order, name)
		got[name] = slices.DeleteFunc(codes(row[1]), func(code string) bool { return !strings.HasPrefix(code, "sett ") })
	}
	if named < 10 || !slices.Equal(order, groups) || !reflect.DeepEqual(got, want) {
		t.Errorf("the README lists the commands\n%q\nsett --help has\n%q", got, want)
	}
	for _, name := range []string{"ledger export", "ledger import"} {
		help[name] = says(t, bin, append(strings.Fields(name), "--help")...)
	}
	for _, name := range []string{"orchestrator", "cub", "blackboard", "keeper", "repository", "model-gateway", "llm", "notifier", "pause"} {
		help[name] = says(t, bin, append(strings.Fields(name), "--help")...)
		if !strings.Contains(help[""], "\n  "+name+" ") || !strings.Contains(p.section(t, "Everyday commands"), "`"+name+"`") {
			t.Errorf("the role %s is not in the README, or not in sett --help", name)
		}
	}
	p.checkSpans(t, help)
	_, codes, _ := strings.Cut(exit.CodesHelp, ":")
	inHelp := strings.Split(strings.Join(strings.Fields(strings.TrimSuffix(codes, ".")), " "), "; ")
	inPage := strings.Split(strings.Join(strings.Fields(p.section(t, "Exit codes")), " "), " · ")
	if !slices.Equal(inHelp, inPage) {
		t.Errorf("exit codes: the README has %q, the help %q", inPage, inHelp)
	}
}

// says returns what sett prints.
func says(t *testing.T, bin string, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin, "sett"), args...).Output()
	if err != nil {
		t.Fatalf("sett %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

var flagWord = regexp.MustCompile(`--[a-z-]+`)

// checkSpans looks at what stands in the text as code: commands and flags that
// exist, targets that make knows.
func (p *book) checkSpans(t *testing.T, help map[string]string) {
	all := strings.Join(slices.Collect(maps.Values(help)), "\n")
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes(p.text) {
		words := strings.Fields(code)
		if words[0] == "curl" || words[0] == "git" || strings.HasPrefix(code, "[") && !strings.HasPrefix(code, "[sett,") {
			continue // the flags of other programs
		}
		known := all
		if words[0] == "sett" && len(words) > 1 && words[1] != "COMMAND" {
			page, ok := help[words[1]]
			if !ok {
				t.Errorf("a page names %q: no such command", code)
			}
			known = page + help[strings.Join(words[1:min(len(words), 3)], " ")]
		}
		for _, flag := range flagWord.FindAllString(code, -1) {
			if !regexp.MustCompile(flag+`\b`).MatchString(known) && flag != "--help" {
				t.Errorf("a page names %q: the help knows no %s", code, flag)
			}
		}
		if dir := strings.TrimSuffix(code, "/"); strings.HasPrefix(dir, "testdata/") || strings.HasPrefix(dir, "roles/") {
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("a page names %q: %v", code, err)
			}
		}
		if words[0] == "make" && len(words) > 1 && !bytes.Contains(makefile, []byte("\n"+words[1]+":")) {
			t.Errorf("a page names %q: no such target", code)
		}
	}
}
