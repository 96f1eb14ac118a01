package role

import (
	"encoding/json"
	"os"
	"testing"
)

// testdata/clean.json has cases: a text, the same within a line, and of several lines; without the latter it is as the
// one before. The page of sett ui gets the same cases.
func TestCleanShowsWhatWouldAct(t *testing.T) {
	data, err := os.ReadFile("testdata/clean.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		In         string
		Line, Text *string
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		line, text := c.In, ""
		if c.Line != nil {
			line = *c.Line
		}
		if text = line; c.Text != nil {
			text = *c.Text
		}
		if got := Clean(c.In); got != line {
			t.Errorf("clean(%q) = %q, want %q", c.In, got, line)
		}
		if got := CleanText(c.In); got != text {
			t.Errorf("cleanText(%q) = %q, want %q", c.In, got, text)
		}
	}
	if got := Clean("bad\xffutf8"); got != "bad\ufffdutf8" {
		t.Errorf("what is no UTF-8: %q", got)
	}
}
