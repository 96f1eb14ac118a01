package toolrun

import (
	"fmt"
	"strings"
	"testing"
)

// Of an output above the limit the beginning and the end are kept, and a line says how much is not.
func TestEndOfBigOutputIsKept(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{1, 5, 1000, 64 << 10, 70_000, 300_000, 5 << 20} {
		// Characters of three bytes, so that a cut may fall into one.
		cmd := sh(fmt.Sprintf(`yes '€' | tr -d '\n' | head -c %d; head -c %d /dev/zero | tr '\0' x; printf 'fatal: LASTWORD\n'`, limit-16, size))
		cmd.Limit = limit
		res := runTool(t, cmd)
		begin, rest, found := strings.Cut(string(res.Stdout), "\n[")
		gap, end, _ := strings.Cut(rest, "\n")
		left := 0
		if _, err := fmt.Sscanf(gap, "%d bytes left out here: at most 1048576 are kept]", &left); !found || err != nil {
			t.Errorf("%d too many: the line between is %.80q: %v", size, gap, err)
		}
		if len(begin)+len(end)+left != limit+size || !res.StdoutTruncated || res.StdoutSize != int64(limit+size) {
			t.Errorf("%d too many: %d + %d kept, %d left out", size, len(begin), len(end), left)
		}
		if n := len(end); n < mostEnd-3 || n > mostEnd || !strings.HasSuffix(end, "fatal: LASTWORD\n") || len(res.Stdout) > limit {
			t.Errorf("%d too many: %d bytes of the end, %d in all", size, n, len(res.Stdout))
		}
		if strings.Trim(begin, "€") != "" || strings.Trim(strings.TrimSuffix(end, "fatal: LASTWORD\n"), "€x") != "" {
			t.Errorf("%d too many: half a character is kept", size)
		}
	}
}

// A small limit holds, too.
func TestEndBelowASmallLimit(t *testing.T) {
	cmd := sh(`yes 0123456789abcde | head -c 100000; echo LASTWORD`)
	cmd.Limit = 16 << 10
	res := runTool(t, cmd)
	if n := len(res.Stdout); n > 16<<10 || n < 16<<10-gapRoom || !strings.HasSuffix(string(res.Stdout), "\nLASTWORD\n") {
		t.Errorf("%d bytes are kept", n)
	}
}
