package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// soon is the time of a script in these tests.
const soon = 20 * time.Millisecond

// overrun starts a server, and a script without an end from a connection called cub-a,
// with commands behind it in the same frame.
func overrun(t *testing.T, o Options, script string, behind ...[]string) (sv *served, attacker *raw) {
	t.Helper()
	o.BusyAfter = soon
	sv = start(t, o)
	expect(t, connect(t, sv.addr, ""), "OK", "SET", "before", "1")
	expect(t, connect(t, sv.addr, ""), "1", "EVAL", "return redis.call('INCR', KEYS[1])", "1", "counted")
	attacker = dial(t, sv.addr)
	attacker.send("CLIENT SETNAME cub-a")
	if got := attacker.line(); got != "+OK" {
		t.Fatal(got)
	}
	var all []byte
	for _, command := range append([][]string{{"EVAL", script, "1", "k"}}, behind...) {
		all = append(all, appendCommandRESP(command)...)
	}
	if _, err := attacker.Write(all); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return sv.busy() != nil })
	return sv, attacker
}

// reply sends a command on a connection of its own and returns the first line.
func reply(t *testing.T, sv *served, command string) string {
	t.Helper()
	r := dial(t, sv.addr)
	defer r.Close()
	r.send(command)
	return r.line()
}

// A script without an end that has written nothing keeps others out with BUSY, in Redis'
// words, until somebody ends it, whatever it catches; then its client is known.
func TestScriptWithoutEnd(t *testing.T) {
	for name, script := range map[string]string{
		"reads":    "while true do pcall(function() while true do redis.call('GET', KEYS[1]) end end) end",
		"readonly": "--!readonly\nwhile true do end",
		"volatile": "--!volatile\nwhile true do end",
		"writes":   "while true do pcall(function() while true do end end) redis.call('SET', KEYS[1], 1) end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Dir: t.TempDir()}
			sv, attacker := overrun(t, o, script)
			for _, command := range []string{"PING", "GET before", "SET x 1", "EVAL x 0", "CLIENT SETNAME me", "SCRIPT EXISTS x",
				"XREAD STREAMS s 0", "SUBSCRIBE c"} {
				if got := reply(t, sv, command); got != "-"+msgBusy {
					t.Errorf("%s: %q", command, got)
				}
			}
			if got := reply(t, sv, "HELLO 2"); got != "*14" {
				t.Errorf("hello: %q", got)
			}
			if got := reply(t, sv, "SHUTDOWN NOSAVE"); got != "-"+msgShutdown {
				t.Errorf("shutdown: %q", got)
			}
			if got := reply(t, sv, "SCRIPT KILL"); got != "+OK" {
				t.Errorf("kill: %q", got)
			}
			if got := attacker.line(); !strings.Contains(got, "Script killed by user with SCRIPT KILL") {
				t.Errorf("the script's client is told %q", got)
			}
			c := connect(t, sv.addr, "")
			expect(t, c, "1", "GET", "before")
			expect(t, c, "nil", "GET", "k")
			expectError(t, c, "NOTBUSY", "SCRIPT", "KILL")
			expectError(t, c, "SHUTDOWN is served only", "SHUTDOWN", "NOSAVE")
			if log := do(t, c, "SLOWLOG", "GET", "16"); !strings.HasSuffix(log, " "+attacker.LocalAddr().String()+" cub-a]]") || !strings.Contains(log, " [EVALSHA ") {
				t.Errorf("log of slow commands: %s", log)
			}
			expect(t, c, "2", "EVAL", "return redis.call('INCR', KEYS[1])", "1", "counted")
			sv.stop()
			sv = start(t, o)
			expect(t, connect(t, sv.addr, ""), "2", "GET", "counted")
		})
	}
}

// wrote is a script without an end that has written.
const wrote = "redis.call('SET', KEYS[1], 1) while true do redis.call('INCR', KEYS[1]) end"

// A script without an end that has written ends with the server. The next start has
// nothing of it, and of the calls behind it, and all from before.
func TestScriptWithoutEndThatWrote(t *testing.T) {
	for name, mark := range map[string]string{"logged": "", "volatile": "--!volatile\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Dir: t.TempDir()}
			sv, attacker := overrun(t, o, mark+wrote, []string{"EVAL", wrote, "1", "other"}, []string{"SET", "plain", "1"})
			blocked := make(chan string, 1)
			go func() { // waits for the board
				sv.board.mu.Lock()
				sv.board.mu.Unlock() //nolint:staticcheck // that it was free is all
				blocked <- "free"
			}()
			if got := reply(t, sv, "SCRIPT KILL"); got != "-"+msgUnkillable {
				t.Errorf("kill: %q", got)
			}
			if got := reply(t, sv, "SLOWLOG GET"); got != "*1" {
				t.Errorf("its client: %q", got)
			}
			reply(t, sv, "SHUTDOWN NOSAVE")
			<-blocked
			if got := attacker.line(); got != "EOF" && !strings.Contains(got, "reset") && !strings.Contains(got, "Script killed") {
				t.Errorf("the script's client is told %q", got)
			}
			sv.stop()
			if sv.closeErr != nil {
				t.Error(sv.closeErr)
			}
			began := time.Now()
			o.BusyAfter = time.Minute // it is not run again
			sv = start(t, o)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the start took %s", took)
			}
			c := connect(t, sv.addr, "")
			for key, want := range map[string]string{"before": "1", "counted": "1", "k": "nil", "other": "nil"} {
				expect(t, c, want, "GET", key)
			}
			expect(t, c, "OK", "SET", "after", "1")
		})
	}
}

// A server that is killed in a script without an end starts again without it, and without
// those behind it.
func TestKilledInScriptWithoutEnd(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir()}
	sv, _ := overrun(t, o, wrote, []string{"EVAL", wrote, "1", "other"}, []string{"SET", "plain", "1"})
	crashed := Options{Dir: t.TempDir(), BusyAfter: soon}
	files, err := filepath.Glob(filepath.Join(o.Dir, "log.*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	log, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(crashed.Dir, filepath.Base(files[0])), log, 0o600); err != nil {
		t.Fatal(err)
	}
	reply(t, sv, "SHUTDOWN NOSAVE")
	for range 2 {
		again := start(t, crashed)
		c := connect(t, again.addr, "")
		for key, want := range map[string]string{"before": "1", "counted": "1", "k": "nil", "other": "nil"} {
			expect(t, c, want, "GET", key)
		}
		again.stop()
		crashed.BusyAfter = time.Hour // the first start has noted it
	}
}

// A script that is stuck in one call of a library, where nothing can end it, ends with
// the server, too.
func TestScriptStuckInALibrary(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir()}
	sv, _ := overrun(t, o, "local a = string.rep('a?', 24) .. string.rep('a', 24) return string.find(string.rep('a', 24), '^' .. a .. 'b')")
	if got := reply(t, sv, "SCRIPT KILL"); got != "+OK" {
		t.Errorf("kill: %q", got)
	}
	waitFor(t, func() bool { return reply(t, sv, "SCRIPT KILL") == "-"+msgUnkillable })
	reply(t, sv, "SHUTDOWN NOSAVE")
	sv.stop()
	o.BusyAfter = time.Hour
	again := start(t, o)
	expect(t, connect(t, again.addr, ""), "1", "GET", "counted")
}

// The owner's scripts have an end, however late: nobody is told that they keep the board.
func TestOwnScriptsAreNotEnded(t *testing.T) {
	t.Parallel()
	sv := start(t, Options{Dir: t.TempDir(), BusyAfter: 1, Own: func(string) bool { return true }})
	done := make(chan string, 1)
	script := "for i = 1, 300000 do end return redis.call('INCR', KEYS[1])"
	c := connect(t, sv.addr, "")
	go func() { done <- do(t, c, "EVAL", script, "1", "n") }()
	expectError(t, connect(t, sv.addr, ""), "NOTBUSY", "SCRIPT", "KILL")
	if got := <-done; got != "1" {
		t.Error(got)
	}
}
