package term

import (
	"strings"
	"testing"
)

// TestDefinitions: descriptions are wrapped in their column, also behind a name too long for it.
func TestDefinitions(t *testing.T) {
	long := strings.Repeat("description ", 8)
	got := Definitions{{"  --name", long}, {"      --orchestrator container|host", "Short."}, {"  --é", "Last."}}.String()
	want := `  --name  description description description description description
          description description description
      --orchestrator container|host
          Short.
  --é     Last.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFill: paragraphs are filled, tables keep their columns, and an empty text stays so.
func TestFill(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("words ", 14))
	got := Fill("One\nparagraph: " + words + "\n\n  name    " + words + "\n          more\n  wide " + words + "\nEnd.\n")
	want := `One paragraph: words words words words words words words words words words words
words words words

  name    words words words words words words words words words words words
          words words words
          more
  wide words words words words words words words words words words words words
  words words
End.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Fill(""); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
