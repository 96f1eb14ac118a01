package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sett/blackboard"
	"sett/roles/view"
	"sett/roles/view/report"
)

// reports are reports with all parts: of a rework, of a commit, of a Failure, of an open goal, and of hostile texts.
func (s *stage) reports() map[string]string {
	s.t.Helper()
	s.by("anna")
	ids := s.tell()
	base := s.commitFile("song", "one\ntwo\nthree\n")
	sung, _ := s.brought(base, s.aside("song", "one\nTWO\nthree\n"))
	bad := s.hostile()
	all := map[string]string{}
	for name, id := range map[string]string{"achieved": ids["goal"], "failed": ids["failed"], "asking": ids["asking"], "commit": sung, "hostile": bad["goal"], "hostile-failure": bad["failed"]} {
		out, _, err := s.run("report", id)
		s.Must(err)
		all[name] = out
	}
	has(s.t, all["hostile"], "kB: sett unearth ") // a payload that is too large for a report
	out, _, err := s.run("report", ids["goal"], "-o", "json")
	s.Must(err)
	var r report.Report
	s.Must(json.Unmarshal([]byte(out), &r))
	sum := strings.Repeat("0123456789abcdef", 4)
	r.Ran = append(r.Ran, report.Ran{Agent: "orchestrator", Times: 3, Ran: blackboard.Ran{Image: "registry.example/team/writer@sha256:" + sum, Program: sum, Pin: sum, Config: sum, Sett: "v1.2.3"}})
	r.Models = append(r.Models, view.Spent{Spent: blackboard.Spent{Agent: "orchestrator", Model: "a-model-with-a-long-name-20260101", Calls: 3}})
	r.Commits = append(r.Commits, report.Commit{Hash: sum[:40], Subject: "tell of badgers", Author: "writer", Files: []report.File{{Path: strings.Repeat("deep/er/", 30) + "file.go", Added: 3}}})
	all["whole"] = r.HTML()
	return all
}

// A report has no fault that tidy finds.
func TestReportTidy(t *testing.T) {
	program, err := exec.LookPath("tidy")
	if err != nil {
		t.Skip("no tidy on the PATH: .ci/setup installs it")
	}
	for name, html := range newStage(t).reports() {
		cmd := exec.Command(program, "-e", "-q")
		cmd.Stdin = strings.NewReader(html)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("the report %s: %v\n%s", name, err, out)
		}
	}
}

// brokenWords are words of tables that go on in another line. A long one may.
const brokenWords = `[...document.querySelectorAll('td, th')].flatMap((cell) => {
	const broken = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
	while (texts.nextNode()) for (const m of texts.currentNode.data.matchAll(/(?<!\S)[\p{L}\p{N}.,:()]{2,20}(?!\S)/gu)) {
		range.setStart(texts.currentNode, m.index);
		range.setEnd(texts.currentNode, m.index + m[0].length);
		if (new Set([...range.getClientRects()].map((r) => r.top)).size > 1) broken.push(m[0]);
	}
	return broken;
}).join(' ')`

// A report in a browser: words of its tables stay whole, it is no wider than the window or the paper, it follows the
// reader's choice of light or dark, and it prints.
func TestReportInBrowser(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	for name, html := range s.reports() {
		file := filepath.Join(t.TempDir(), name+".html")
		s.Must(os.WriteFile(file, []byte(html), 0o600))
		b.do(chromedp.Navigate("file://" + file))
		b.sees("the report", "document.querySelector('h2')")
		for _, on := range []struct {
			media, scheme string
			width         int64
		}{{"screen", "dark", 360}, {"screen", "light", 1280}, {"print", "light", 700}} { // paper of 210 mm has 718 px between its margins
			_, err := chromedp.Run(b.ctx, chromedp.EmulateViewport(on.width, 900))
			s.Must(err)
			_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: on.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: on.scheme}}})
			s.Must(err)
			where := fmt.Sprintf("%s on a %s of %d px, %s", name, on.media, on.width, on.scheme)
			if broken := value[string](b, brokenWords); broken != "" {
				t.Errorf("%s: broken words: %s", where, broken)
			}
			if wide := value[float64](b, "document.documentElement.scrollWidth - innerWidth"); wide > 1 {
				t.Errorf("%s: %v px too wide", where, wide)
			}
			if dark := value[string](b, "getComputedStyle(document.body).color") == "rgb(255, 255, 255)"; dark != (on.scheme == "dark") {
				t.Errorf("%s: dark is %v", where, dark)
			}
		}
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
		s.Must(err)
		printed, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
		s.Must(err)
		if !strings.HasPrefix(string(printed.Data), "%PDF-") {
			t.Errorf("%s is printed as %.20q", name, printed.Data)
		}
		s.Must(os.WriteFile(filepath.Join(t.ArtifactDir(), name+".pdf"), printed.Data, 0o600))
	}
}
