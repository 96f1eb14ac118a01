package blackboard_test

import (
	"os"
	"strings"
	"testing"

	"sett/blackboard"
)

func TestMatch(t *testing.T) {
	b, err := os.ReadFile("testdata/match.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if w := strings.Fields(line); w[0] != "#" && blackboard.Match(w[0], strings.Trim(w[1], "-")) != (w[2] == "yes") {
			t.Errorf("want: %s", line)
		}
	}
}
