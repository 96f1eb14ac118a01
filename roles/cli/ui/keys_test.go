package ui

import (
	"regexp"
	"strings"
	"testing"
)

// The list that ? shows has every key that the page obeys.
func TestKeys(t *testing.T) {
	script := string(parts()["app.js"].body)
	_, after, _ := strings.Cut(script, "const keys = [")
	listed, rest, _ := strings.Cut(after, "\n\n")
	list := map[string]bool{}
	for _, m := range regexp.MustCompile(`\['(.+?)', '`).FindAllStringSubmatch(listed, -1) {
		list[m[1]] = true
		if !strings.HasPrefix(m[1], "g ") {
			for _, key := range strings.Fields(m[1]) {
				list[key] = true
			}
		}
	}
	obeyed := regexp.MustCompile(`chord === '(.+?)'|'(g .)':`).FindAllStringSubmatch(rest, -1)
	if len(obeyed) < 12 {
		t.Errorf("the page obeys %q", obeyed)
	}
	for _, m := range obeyed {
		if key := m[1] + m[2]; !list[key] {
			t.Errorf("the page obeys %q, which ? does not list", key)
		}
	}
}
