package trace_test

import (
	"regexp"
	"testing"

	"sett/contract/trace"
)

// TestNames holds the forms of the specification, and that names differ by each part.
func TestNames(t *testing.T) {
	if got := trace.Parent("G", "C", "a", 1); !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(got) {
		t.Errorf("parent %q", got)
	}
	names := []string{trace.Root("x"), trace.Claim("x"), trace.Call("x"), trace.Grant("x", "y"), trace.Grant("x", "z"), trace.Grant(`x""y`, ""),
		trace.Run("x", "y", 1), trace.Run("x", "y", 2), trace.Run("x", "y1", 1)}
	seen := map[string]int{}
	for i, name := range names {
		if len(name) != 16 {
			t.Errorf("name %d is %q; want 8 bytes in hex", i, name)
		}
		if before, ok := seen[name]; ok {
			t.Errorf("names %d and %d are the same", before, i)
		}
		seen[name] = i
	}
	if trace.ID("x") == trace.ID("y") || len(trace.ID("x")) != 32 {
		t.Errorf("ids %q and %q", trace.ID("x"), trace.ID("y"))
	}
}
