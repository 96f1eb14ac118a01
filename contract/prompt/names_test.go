package prompt

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestClean compares the names of words with those by a regular expression, which says what
// a word is, in texts of all kinds of letters.
func TestClean(t *testing.T) {
	const id, hash = "01M7YNZ60QAQB01KF177CYX001", "75d51a9f00c1b7e1a32d1a3f1f0a0c35d9e75d51"
	n := &names{artefacts: map[string]int{id: 1}, commits: map[string]int{hash: 1}, others: map[string]string{strings.Repeat("Z", 26): "[a claim]"}}
	word := regexp.MustCompile(`\b(?:[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{7,64})\b`)
	pieces := []string{id, hash, hash[:7], hash[:6], hash[:20], strings.Repeat("Z", 26), " ", "\n", "_", "a", "g", "-", "é", "Z", ".", "0", "words", hash + hash}
	r := rand.New(rand.NewPCG(1, 2))
	named := 0
	for range 5000 {
		text := ""
		for range r.IntN(6) {
			text += pieces[r.IntN(len(pieces))]
		}
		want := word.ReplaceAllStringFunc(text, func(w string) string {
			if name := n.nameOf(w); name != "" {
				named++
				return name
			}
			return w
		})
		if got := n.clean(text); got != want {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
	}
	if named < 500 {
		t.Errorf("only %d names", named)
	}
}
