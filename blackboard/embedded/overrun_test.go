package embedded

import (
	"strings"
	"testing"
)

// A script without an end that has written nothing is ended with an error, whatever it
// catches; the server goes on, and so does one that starts from the log.
func TestScriptWithoutEnd(t *testing.T) {
	for name, script := range map[string]string{
		"reads":    "while true do pcall(function() while true do redis.call('GET', KEYS[1]) end end) end",
		"readonly": "--!readonly\nwhile true do end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Dir: t.TempDir()}
			sv := start(t, o)
			if got := do(t, connect(t, sv.addr, ""), "EVAL", script, "1", "k"); !strings.Contains(got, errOverrun.Error()) {
				t.Errorf("%s: %s", script, got)
			}
			expect(t, connect(t, sv.addr, ""), "1", "EVAL", "return redis.call('INCR', KEYS[1])", "1", "n")
			sv.stop()
			sv = start(t, o)
			expect(t, connect(t, sv.addr, ""), "1", "GET", "n")
		})
	}
}
