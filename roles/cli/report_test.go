package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view/report"
)

// A report tells the whole story in each form, the same each time; one of an export
// says what it lacks, and nothing else differs.
func TestReport(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	page := func(args ...string) string {
		t.Helper()
		out, _, err := s.run(append([]string{"report"}, args...)...)
		s.Must(err)
		return out
	}
	html := page(ids["goal"])
	has(t, html, "<!DOCTYPE html>", "Content-Security-Policy", "<svg class=\"picture\"", "Rework "+words.Short(ids["rework"])+" on Draft", ">lint rejects, queued ", "✗ lint", "✓ lint",
		"class=\"loop\"")
	if again := page(ids["goal"]); again != html {
		t.Error("a second report of an ended goal differs")
	}
	if regexp.MustCompile(`(?i)<script|\son[a-z]+=|javascript:|\ssrc=|\shref=`).MatchString(html) {
		t.Error("the page runs or loads something")
	}
	mask := s.masking()
	golden(t, "golden/report.json", mask(page(ids["goal"], "-o", "json")))
	golden(t, "golden/report.md", mask(page(ids["goal"], "-o", "md")))
	var r report.Report
	s.Must(json.Unmarshal([]byte(page(ids["goal"], "-o", "json")), &r))
	if r.Goal.ID != ids["goal"] || r.Outcome == nil || r.Outcome.ID != ids["terminal"] || len(r.Graph.Nodes) != len(r.Artefacts) || len(r.Timeline) < 4 || len(r.People) == 0 || len(r.Ledger) < 10 {
		t.Errorf("the value: %+v", r)
	}
	loops := 0
	for i, stretch := range r.Timeline {
		if stretch.Answers > 0 {
			loops++
			if before := r.Timeline[stretch.Answers-1]; before.Lane != "lint" || stretch.Lane != "writer" || stretch.Answers-1 >= i {
				t.Errorf("stretch %d answers %+v", i, before)
			}
		}
	}
	if loops != 1 {
		t.Errorf("%d loops in the timeline", loops)
	}
	for _, a := range r.Artefacts {
		if len(a.SHA256) != 64 {
			t.Errorf("artefact %s has no sum: %q", a.ID, a.SHA256)
		}
	}
	has(t, page(ids["goal"], "-o", "md"), "# ", "```mermaid\nflowchart TD\n", "## Decisions", "### rework ")

	export := filepath.Join(t.TempDir(), "goal.jsonl")
	_, _, err := s.run("ledger", "export", ids["goal"], "--file", export)
	s.Must(err)
	var of report.Report
	s.Must(json.Unmarshal([]byte(page("--ledger", export, "-o", "json")), &of))
	for _, a := range r.Artefacts { // the export has no store of commits
		if a.Commit != "" && len(of.Lacks) == 0 {
			t.Error("nothing says that patches are missing")
		}
	}
	of.Instance, of.Lacks, of.Commits, r.Lacks, r.Commits = r.Instance, nil, nil, nil, nil
	for i := range of.Ledger {
		of.Ledger[i].ID = r.Ledger[min(i, len(r.Ledger)-1)].ID
	}
	want, _ := json.MarshalIndent(r, "", " ")
	if got, _ := json.MarshalIndent(of, "", " "); string(got) != string(want) {
		t.Errorf("the report of an export differs:\n%s\nwant\n%s", got, want)
	}
}

// --only gives some fields of the report as they are in the whole, in their order.
func TestReportOnly(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	whole := map[string]json.RawMessage{}
	read := func(into any, args ...string) string {
		t.Helper()
		out, _, err := s.run(append([]string{"report", ids["goal"], "-o", "json"}, args...)...)
		s.Must(err)
		s.Must(json.Unmarshal([]byte(out), into))
		return out
	}
	read(&whole)
	fields := report.Fields()
	if len(fields) != len(whole) {
		t.Errorf("%d fields, and Fields has %q", len(whole), fields)
	}
	for _, f := range fields {
		some := map[string]json.RawMessage{}
		if read(&some, "--only", f); len(some) != 1 || string(some[f]) != string(whole[f]) {
			t.Errorf("only %s is %s, want %s", f, some, whole[f])
		}
	}
	some := map[string]json.RawMessage{}
	out := read(&some, "--only=people,outcome", "--only=lacks")
	if len(some) != 3 || strings.Index(out, `"outcome"`) > strings.Index(out, `"people"`) {
		t.Errorf("three fields: %s", out)
	}
	yaml, _, err := s.run("report", ids["goal"], "-o", "yaml", "--only", "instance")
	s.Must(err)
	if yaml != "instance: stage\n" {
		t.Errorf("yaml: %q", yaml)
	}
}

// Whatever payloads say, they stay texts, on the page and in Markdown.
func TestReportHostile(t *testing.T) {
	s := newStage(t)
	const evil = "<script>alert(1)</script>\"><img src=x onerror=alert(1)> \x1b[2J\n```\n# [x](javascript:alert(1)) &lt;b&gt; \u202eabc"
	goal := s.Goal(evil)
	html, _, err := s.run("report", goal)
	s.Must(err)
	for _, bad := range []string{"<script", "<img", "\x1b", "\u202e"} {
		if strings.Contains(html, bad) {
			t.Errorf("%q is on the page", bad)
		}
	}
	md, _, err := s.run("report", goal, "-o", "md")
	s.Must(err)
	if !strings.Contains(md, "\n````\n```\n# [x](") || strings.Contains(md, "\x1b") {
		t.Errorf("Markdown:\n%s", md)
	}
}

// Bad input is told, and loses nothing.
func TestReportFails(t *testing.T) {
	s := newStage(t)
	s.Goal("one")
	file := filepath.Join(t.TempDir(), "r.html")
	s.Must(os.WriteFile(file, []byte("mine"), 0o600))
	for _, c := range []struct {
		args []string
		code role.Code
		says string
	}{
		{[]string{"--file", file}, role.Usage, "it exists"},
		{[]string{"ZZZZZZZZ"}, role.NotFound, ""},
		{[]string{"--ledger", filepath.Join(t.TempDir(), "none")}, role.Usage, "no such file"},
		{[]string{"--ledger", file}, role.Failed, "r.html"},
		{[]string{"--only", "goal"}, role.Usage, "--only is for -o json"},
		{[]string{"-o", "json", "--only", "goal,goals"}, role.Usage, `no field "goals"`},
	} {
		if _, _, err := s.run(append([]string{"report"}, c.args...)...); role.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	if _, _, err := s.run("report", "-o", "json", "--only", "x"); !strings.Contains(hint(err), "kind, sett, instance, goal, outcome, ") {
		t.Errorf("a field that there is none of: %v, hint %q", err, hint(err))
	}
	if text, _ := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file has %q", text)
	}
	_, _, err := s.run("report", "--file", file, "--force")
	s.Must(err)
	if text, _ := os.ReadFile(file); !strings.HasPrefix(string(text), "<!DOCTYPE html>") {
		t.Errorf("the file has %q", text)
	}
}

// The report of an open goal is as of its reading: what runs goes on until then.
func TestReportOfOpenGoal(t *testing.T) {
	s := newStage(t)
	claim := s.Granted("go on", "writer")
	s.begin(claim, "writer")
	goal := s.Snapshot(claim).Claim.WorkflowID
	text, _, err := s.run("report", goal, "-o", "json")
	s.Must(err)
	var r report.Report
	s.Must(json.Unmarshal([]byte(text), &r))
	last := r.Timeline[len(r.Timeline)-1]
	if r.Goal.AsOf.Before(r.Goal.Began) || !last.To.Equal(r.Goal.AsOf) || !last.From.Before(last.To) {
		t.Errorf("as of %s, the last stretch from %s to %s", r.Goal.AsOf, last.From, last.To)
	}
	drawn, _, err := s.run("report", goal, "-o", "timeline")
	s.Must(err)
	has(t, drawn, ">now</text>")
}
