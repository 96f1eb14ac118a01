package toolrun

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLiveStderrComesInLines(t *testing.T) {
	got := make(lines, 100)
	cmd := sh(`printf 'one\ntw' >&2; sleep 0.05; printf 'o\n\nend' >&2`)
	cmd.Stderr = got
	res := runTool(t, cmd)
	close(got)
	var all []string
	for l := range got {
		all = append(all, l)
	}
	if want := []string{"one\n", "two\n", "\n", "end"}; !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
	if string(res.Stderr) != strings.Join(all, "") {
		t.Errorf("kept %q", res.Stderr)
	}
}

// Stdout has a copy of its own, beside that of stderr.
func TestLiveStdout(t *testing.T) {
	out, errs := make(lines, 100), make(lines, 100)
	cmd := sh(`printf 'one\ntw'; echo beside >&2; sleep 0.05; printf 'o\nend'`)
	cmd.Stdout, cmd.Stderr = out, errs
	res := runTool(t, cmd)
	close(out)
	var all []string
	for l := range out {
		all = append(all, l)
	}
	if want := []string{"one\n", "two\n", "end"}; !slices.Equal(all, want) || len(errs) != 1 {
		t.Errorf("got %q, want %q; %d lines of stderr", all, want, len(errs))
	}
	if string(res.Stdout) != strings.Join(all, "") {
		t.Errorf("kept %q", res.Stdout)
	}
}

func TestLiveStderrIsLive(t *testing.T) {
	got := make(lines)
	cmd := sh(`echo "give me a word" >&2; while ! test -e "$WORD"; do sleep 0.01; done`)
	word := t.TempDir() + "/word"
	cmd.Env = append(cmd.Env, "WORD="+word)
	cmd.Stderr = got
	done := make(chan Result, 1)
	go func() { done <- runTool(t, cmd) }()
	if l := <-got; l != "give me a word\n" { // the tool waits for us
		t.Errorf("got %q", l)
	}
	runTool(t, Command{Args: []string{"/bin/mkdir", word}})
	if res := <-done; res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
}

func TestLongLineComesInPieces(t *testing.T) {
	got := make(lines, 100)
	cmd := sh(`head -c 200000 /dev/zero | tr '\0' x >&2; echo >&2`)
	cmd.Stderr = got
	runTool(t, cmd)
	close(got)
	var all strings.Builder
	for l := range got {
		if len(l) > liveLine {
			t.Errorf("a piece of %d bytes", len(l))
		}
		all.WriteString(l)
	}
	if all.String() != strings.Repeat("x", 200000)+"\n" {
		t.Errorf("%d bytes", all.Len())
	}
}

// stuck does not take anything until it is told to.
type stuck struct {
	released chan struct{}
	got      lines
}

func (s stuck) Write(b []byte) (int, error) {
	<-s.released
	return s.got.Write(b)
}

func TestStuckWriterHoldsNobodyUp(t *testing.T) {
	w := stuck{make(chan struct{}), make(lines, 1<<16)}
	const size = 2 * liveChunks * readSize
	cmd := sh(`yes 0123456789abcde | head -c 4194304 >&2; echo done`)
	cmd.Stderr = w
	begin := time.Now()
	res := runTool(t, cmd)
	if took := time.Since(begin); took > 8*time.Second || string(res.Stdout) != "done\n" || res.StderrSize != size || len(res.Stderr) != size {
		t.Errorf("took %v, stdout %q, stderr %d", took, res.Stdout, res.StderrSize)
	}
	close(w.released)
	seen := 0
	for l := range w.got {
		seen++
		if strings.Contains(l, "bytes left out here") {
			break
		}
		if seen > size/16 {
			t.Fatal("nobody said that something is missing")
		}
	}
}

// A writer that is slower than the tool gets the last lines, also before a pause of the tool.
func TestSlowWriterGetsTheLastLines(t *testing.T) {
	for name, script := range map[string]string{
		"end":   `yes 0123456789abcde | head -c 12000000 >&2; echo 'fatal: LASTWORD' >&2`,
		"pause": `yes 0123456789abcde | head -c 12000000 >&2; echo 'fatal: LASTWORD' >&2; touch "$WROTE"; while ! test -e "$WORD"; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			w := stuck{make(chan struct{}), make(lines, 1<<20)}
			cmd, dir := sh(script), t.TempDir()
			cmd.Env = append(cmd.Env, "WORD="+dir+"/word", "WROTE="+dir+"/wrote")
			cmd.Stderr = w
			done := make(chan Result, 1)
			go func() { done <- runTool(t, cmd) }()
			if name == "pause" {
				until(t, "the tool has written", func() bool { _, err := os.Stat(dir + "/wrote"); return err == nil })
			} else {
				done <- <-done // the log is not read before the end
			}
			close(w.released)
			read, left := 0, 0
			for l := ""; l != "fatal: LASTWORD\n"; {
				select {
				case l = <-w.got:
				case <-time.After(20 * time.Second):
					t.Fatal("the last line is missing")
				}
				if n, _ := fmt.Sscanf(l, "[%d bytes left out here: the log", &left); n == 0 {
					read += len(l)
				}
			}
			if err := os.WriteFile(dir+"/word", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if res := <-done; int64(read+left) != res.StderrSize || left == 0 {
				t.Errorf("%d bytes were read and %d left out, of %d", read, left, res.StderrSize)
			}
		})
	}
}
