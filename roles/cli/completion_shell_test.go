package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"sett/blackboard"
	"sett/roles/role/words"
)

// shells are those that there are scripts for. setup makes one ready, as its user's
// own file for it would.
var shells = map[string]struct {
	name  string
	args  []string
	term  string // a terminal as simple as possible; fish shows no list on a dumb one
	setup string
}{
	"bash":      {"bash", []string{"--norc", "--noprofile", "-i"}, "dumb", `bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; eval "$(sett completion bash)"`},
	"zsh":       {"zsh", []string{"-f", "-i"}, "dumb", `unset zle_bracketed_paste; unsetopt prompt_sp; autoload -U compinit; compinit -u -D; eval "$(sett completion zsh)"`},
	"zsh alone": {"zsh", []string{"-f", "-i"}, "dumb", `unset zle_bracketed_paste; unsetopt prompt_sp; source <(sett completion zsh)`},
	"zsh by file": {"zsh", []string{"-f", "-i"}, "dumb",
		`unset zle_bracketed_paste; unsetopt prompt_sp; mkdir zfunc; sett completion zsh > zfunc/_sett; fpath=($PWD/zfunc $fpath); autoload -U compinit; compinit -u -D`},
	"fish": {"fish", []string{"--no-config", "-i"}, "xterm", `sett completion fish | source; function fish_prompt; printf '%s> ' REA''DY; end`},
}

// terminal is a shell somebody types to.
type terminal struct {
	t     *testing.T
	tty   *os.File
	shown output
	dir   string
}

const prompt = "READY> "

// newTerminal starts a shell, with the real sett on its PATH, where the stage is.
func newTerminal(t *testing.T, s *stage, shell string) *terminal {
	t.Helper()
	sh := shells[shell]
	path, err := exec.LookPath(sh.name)
	if err != nil {
		t.Skipf("no %s on the PATH: .ci/setup installs it", sh.name)
	}
	binary, err := buildSett()
	s.Must(err)
	bin := t.TempDir()
	s.Must(os.Symlink(binary, filepath.Join(bin, "sett")))
	cmd := exec.CommandContext(t.Context(), path, sh.args...)
	cmd.Dir = s.root
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + s.home, "XDG_STATE_HOME=" + s.home, "XDG_CONFIG_HOME=" + t.TempDir(), "XDG_DATA_HOME=" + t.TempDir(),
		"TERM=" + sh.term, "LANG=C.UTF-8", "PS1=", "DOCKER_HOST=unix://" + filepath.Join(bin, "none"),
	}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 240})
	s.Must(err)
	x := &terminal{t: t, tty: tty, dir: t.TempDir()}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			if n > 0 {
				_, _ = x.shown.Write(b[:n])
				if bytes.Contains(b[:n], []byte("\x1b[c")) { // fish asks what terminal this is
					_, _ = tty.WriteString("\x1b[?62c")
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		<-read
	})
	x.typed(sh.setup + "\n")
	if sh.name != "fish" {
		x.typed("PS1='REA''DY> '\n")
	}
	x.until("the prompt", func(shown string) bool { return strings.Contains(shown, prompt) })
	return x
}

func (x *terminal) typed(keys string) {
	x.t.Helper()
	if _, err := x.tty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) until(what string, f func(shown string) bool) {
	x.t.Helper()
	if !x.within(5*time.Minute, f) {
		x.t.Fatalf("waited in vain for %s; on the screen:\n%q", what, last(x.shown.String(), 3000))
	}
}

// within says whether something happens in that time, and no later than it does.
func (x *terminal) within(limit time.Duration, f func(shown string) bool) bool {
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	deadline := time.After(limit)
	for !f(x.shown.String()) {
		select {
		case <-every.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// last is the end of a long text.
func last(s string, n int) string { return s[max(0, len(s)-n):] }

// becomes types the beginning of a command line and presses TAB, and returns the
// arguments that the shell then has: with the keys after it, Ctrl-A goes to the line's
// begin, and what is typed there writes them to a file. A shell that is left with an
// open quote waits for its end instead: it is interrupted, and there are none.
func (x *terminal) becomes(line string) string {
	x.t.Helper()
	file := filepath.Join(x.dir, "words")
	_ = os.Remove(file)
	x.typed(line + "\t" + "\x01" + "words " + "\n")
	var words string
	if !x.within(15*time.Second, func(string) bool {
		b, err := os.ReadFile(file)
		words = string(b)
		return err == nil && strings.HasSuffix(words, "end")
	}) {
		from := len(x.shown.String())
		x.typed("\x03")
		x.until("the prompt", func(shown string) bool { return strings.Contains(shown[from:], prompt) })
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(words, "end"), "/>", ">") // zsh takes it away again
}

// TestCompletionShells types to real shells.
func TestCompletionShells(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	for shell := range shells {
		t.Run(shell, func(t *testing.T) {
			s := newStage(t)
			ids := s.tell()
			s.write("sett.yml", clan)
			s.write("my notes.txt", "x")
			s.Must(os.Mkdir(filepath.Join(s.root, "zz-folder"), 0o755))
			draft := s.Goal("with types of two words")
			claim, _ := s.work(draft, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Zwei Worte: und mehr", Payload: "x"})
			s.Complete(claim)
			x := newTerminal(t, s, shell)
			define := "words() { { printf '<%s>' \"$@\"; printf end; } > " + x.dir + "/words.new; mv " + x.dir + "/words.new " + x.dir + "/words; }\n"
			if shell == "fish" {
				define = "function words; begin; printf '<%s>' $argv; printf end; end > " + x.dir + "/words.new; mv " + x.dir + "/words.new " + x.dir + "/words; end\n"
			}
			x.typed(define)
			for _, c := range []struct{ typed, want string }{
				{"sett an", "<sett><answer>"},
				{"sett answer ", "<sett><answer><" + words.Short(ids["question"]) + ">"},
				{"sett answer " + strings.ToLower(words.Short(ids["question"])[:5]), "<sett><answer><" + words.Short(ids["question"]) + ">"},
				{"sett --name ", "<sett><--name><stage>"},
				{"sett --name=st", "<sett><--name=stage>"},
				{"sett list -o ya", "<sett><list><-o><yaml>"},
				{"sett list --output=ya", "<sett><list><--output=yaml>"},
				{"sett show @la", "<sett><show><@last>"},
				{"sett hoard --type Zw", "<sett><hoard><--type><Zwei Worte: und mehr>"},
				{"sett hoard --type 'Zw", "<sett><hoard><--type><Zwei Worte: und mehr>"},
				{"sett hoard --type Zwei\\ Worte:\\ u", "<sett><hoard><--type><Zwei Worte: und mehr>"},
				{"sett forage --file my", "<sett><forage><--file><my notes.txt>"},
				{"sett forage --file=my", "<sett><forage><--file=my notes.txt>"},
				{"sett -C zz", "<sett><-C><zz-folder>"},
				{"sett -C / answer ", "<sett><-C><><answer>"},
				{"sett nonsense m", "<sett><nonsense><m>"},
				{"sett ledger ex", "<sett><ledger><export>"},
			} {
				var got string
				for range 10 { // see TestComplete
					if got = x.becomes(c.typed); got == c.want {
						break
					}
				}
				if got != c.want {
					t.Errorf("%s becomes %s, want %s", c.typed, got, c.want)
				}
			}
			line, listed := "sett show \t", false
			if shell == "fish" { // it needs no second TAB
				line = "sett show "
			}
			from := len(x.shown.String())
			for range 10 {
				x.becomes(line)
				shown := x.shown.String()[from:]
				if listed = strings.Contains(shown, words.Short(ids["question"])) && strings.Contains(shown, "Question of writer"); listed {
					break
				}
			}
			if !listed {
				t.Errorf("what ids are is not on the screen:\n%q", last(x.shown.String(), 3000))
			}
		})
	}
}
