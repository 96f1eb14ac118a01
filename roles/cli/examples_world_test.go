package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"sett/blackboard"
	"sett/roles/role/words"
	"sett/roles/view"
)

// worldClan are the agents that examples name. What they do, the goal says.
const worldClan = `runtime: process
approve: [Release]
agents:
  example-agent: {command: [cat], bids: {Nothing: claim}}
  writer: {command: [sh, agents/writer.sh], workspace: {mode: rw}, bids: {GoalDefined: exclusive}}
  linter: {command: [sh, agents/linter.sh], bids: {Draft: review}}
`

var worldFiles = map[string]string{
	".gitignore": "/out/\n",
	"sett.yml":   worldClan,
	"agents/writer.sh": `input=$(cat)
case $input in
*'"payload":"ask again'*) echo '{"structural_type":"Question","artefact_type":"Question","artefact_payload":"And now?"}' ;;
*'"structural_type":"Answer"'*) echo '{"structural_type":"Terminal","artefact_type":"Done","artefact_payload":"answered"}' ;;
*'"payload":"ask'*) echo '{"structural_type":"Question","artefact_type":"Question","artefact_payload":"Red or blue?"}' ;;
*'"payload":"release'*) echo '{"artefact_type":"Release","artefact_payload":"1.0"}' ;;
*'"payload":"draft'*) echo '{"artefact_type":"Draft","artefact_payload":"as yet short"}' ;;
*'"payload":"commit'*)
	date +%s.%N >made-$$.txt
	{ git add -A && git commit -q -m "a file" || exit 1; } >&2
	echo "{\"artefact_type\":\"CodeCommit\",\"artefact_payload\":\"$(git rev-parse HEAD)\"}" ;;
*'"payload":"spoil'*) echo half >half-done.txt; exit 3 ;;
*'"payload":"land'*)
	git checkout -q --detach
	date +%s.%N >made-$$.txt
	{ git add -A && git commit -q -m "a file" || exit 1; } >&2
	echo "{\"structural_type\":\"Terminal\",\"artefact_type\":\"CodeCommit\",\"artefact_payload\":\"$(git rev-parse HEAD)\"}"
	git checkout -q main ;;
*'"payload":"fail'*)
	mark=$HOME/failed-$SETT_TARGET_ID
	mkdir "$mark" 2>/dev/null && { echo 'no space left on device' >&2; exit 3; }
	echo '{"structural_type":"Terminal","artefact_type":"Done","artefact_payload":"at last"}' ;;
*) echo '{"structural_type":"Terminal","artefact_type":"Done","artefact_payload":"done"}' ;;
esac
`,
	"agents/linter.sh": `echo '{"structural_type":"Question","artefact_type":"Question","artefact_payload":"What is it for?"}'
`,
}

// exampleFiles lie where examples are typed.
var exampleFiles = map[string]string{
	"other.yml": worldClan, "goal.md": "Write it down.\n", "answer.md": "Red.\n", "remarks.md": "The changelog is missing.\n",
}

// world is a workspace of somebody's own, with the real sett on the PATH.
type world struct {
	*testing.T
	top, root, out string // out is a folder of the workspace that git ignores
	env            []string
}

// newWorld makes a world of the kind that is named.
func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	binary, err := buildSett()
	if err != nil {
		t.Fatal(err)
	}
	top := realPath(t, t.TempDir())
	w := &world{T: t, top: top, root: filepath.Join(top, "my-sett"), out: filepath.Join(top, "my-sett", "out")}
	w.env = []string{
		"PATH=" + filepath.Join(top, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(top, "home"), "XDG_STATE_HOME=" + filepath.Join(top, "state"),
		"TMPDIR=" + filepath.Join(top, "tmp"), "LANG=C.UTF-8", "TERM=dumb", "MANPAGER=cat", "EDITOR=" + filepath.Join(top, "bin", "editor"),
		"GIT_CONFIG_NOSYSTEM=1", "DOCKER_HOST=unix://" + filepath.Join(top, "no-engine.sock"),
	}
	for _, dir := range []string{"bin", "home", "state", "tmp"} {
		w.must(os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	w.must(os.Symlink(binary, filepath.Join(top, "bin", "sett")))
	w.must(os.MkdirAll(w.out, 0o755))
	w.script("editor", `echo "The blue one." >>"$1"`)
	w.script("dot", `head -c 7 | grep -qx digraph && cat >/dev/null && echo '<svg/>'`) // in Graphviz' place
	t.Cleanup(func() { endAll(filepath.Join(top, "state", "sett")) })
	if kind == newRepository {
		w.files(w.root, map[string]string{".gitignore": "/out/\n"})
	} else {
		w.files(w.root, worldFiles)
	}
	w.run(w.root, "git init -q -b main && git config user.name t && git config user.email t@example.org && git add -A && git commit -q -m first")
	if kind == running {
		w.run(w.root, "sett up --yes")
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) script(name, text string) {
	w.must(os.WriteFile(filepath.Join(w.top, "bin", name), []byte("#!/bin/sh\nset -e\n"+text+"\n"), 0o755))
}

func (w *world) files(dir string, all map[string]string) {
	w.Helper()
	for name, text := range all {
		path := filepath.Join(dir, name)
		w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		w.must(os.WriteFile(path, []byte(text), 0o644))
	}
}

func (w *world) command(ctx context.Context, dir, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, w.env, time.Second // what it started holds its streams
	return cmd
}

// run runs a command line that has to succeed, and returns what it prints.
func (w *world) run(dir, line string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	cmd := w.command(ctx, dir, line)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && !strings.Contains(err.Error(), "WaitDelay") {
		w.Fatalf("%s: %v\n%s%s", line, err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

func (w *world) post(goal string) string {
	w.Helper()
	return w.run(w.root, "sett forage --goal '"+goal+"'")
}

// read reads the JSON that a command line prints.
func read[T any](w *world, line string) T {
	w.Helper()
	var v T
	w.must(json.Unmarshal([]byte(w.run(w.root, line)), &v))
	return v
}

// waiting posts a goal, waits until something of it waits for a person, and returns that.
func (w *world) waiting(goal string) view.Matter {
	w.Helper()
	id := w.post(goal)
	w.run(w.root, "sett wait "+id+" --for question --timeout 60s")
	v := read[struct{ Questions []view.Matter }](w, "sett questions -o json --workflow "+id)
	if len(v.Questions) != 1 {
		w.Fatalf("%d questions", len(v.Questions))
	}
	return v.Questions[0]
}

func (w *world) goal() string { return words.Short(w.post("anything")) }

func (w *world) question() string    { return words.Short(w.waiting("ask").ID) }
func (w *world) gate() string        { return words.Short(w.waiting("release").ID) }
func (w *world) inReview() string    { return words.Short(w.waiting("draft").About.ID) }
func (w *world) openClaim() string   { return words.Short(w.waiting("ask").ClaimID) }
func (w *world) claim() string       { return words.Short(w.waiting("ask").ClaimID) }
func (w *world) claimEnding() string { return words.Short(w.waiting("ask").ClaimID)[4:] }
func (w *world) asking() string      { return words.Short(w.waiting("ask again").WorkflowID) }

// answerAll answers what is open of the newest goal, which asks again.
func (w *world) answerAll() {
	for _, m := range read[struct{ Questions []view.Matter }](w, "sett questions -o json --workflow @last").Questions {
		w.run(w.root, "sett answer "+m.ID+" go on")
	}
}

// made posts a goal, waits for its end, and returns the artefact that is wanted of it.
func (w *world) made(goal string, want func(blackboard.Artefact) bool) blackboard.Artefact {
	w.Helper()
	id := w.post(goal)
	w.run(w.root, "sett wait "+id+" --for idle --timeout 60s")
	for _, a := range read[struct{ Artefacts []blackboard.Artefact }](w, "sett hoard -o json --workflow "+id).Artefacts {
		if want(a) {
			return a
		}
	}
	w.Fatalf("goal %q made nothing of the kind", goal)
	return blackboard.Artefact{}
}

func (w *world) failure() string {
	return words.Short(w.made("fail", func(a blackboard.Artefact) bool { return a.StructuralType == blackboard.Failure }).ID)
}

func isCommit(a blackboard.Artefact) bool { return a.Type == "CodeCommit" }

func (w *world) commit() string { return words.Short(w.made("commit", isCommit).ID) }

// landable is an achieved goal's commit that is on no branch, beside a branch release.
func (w *world) landable() string {
	w.run(w.root, "git branch -f release HEAD")
	return words.Short(w.made("land", isCommit).ID)
}

// leftover is the claim whose failed tool left a file.
func (w *world) leftover() string {
	w.run(w.root, "sett wait "+w.post("spoil")+" --for idle --timeout 60s")
	all := read[struct{ Leftovers []leftover }](w, "sett leftovers -o json").Leftovers
	if len(all) == 0 {
		w.Fatal("the tool left nothing")
	}
	return words.Short(all[len(all)-1].ClaimID)
}

// commitUndone is a commit that the working tree has not.
func (w *world) commitUndone() string {
	id := w.commit()
	w.run(w.root, "git revert --no-edit HEAD >&2")
	return id
}

// history is there before the first example.
func (w *world) history() {
	w.failure()
	w.commit()
	w.waiting("ask")
	w.files(w.out, exampleFiles)
	w.run(w.root, "sett ledger export --file out/ledger.jsonl --bundle")
}

// runExample types an example as its reader would, in a folder of its own with the
// files that examples name.
func (w *world) runExample(t *testing.T, line string, st staged) {
	shared := w
	if st.needs != "" {
		if _, err := exec.LookPath(st.needs); err != nil {
			t.Skipf("no %s on the PATH: .ci/setup installs it", st.needs)
		}
	}
	w = &world{T: t, top: shared.top, root: shared.root, out: shared.out, env: shared.env}
	if st.where != "" {
		w = newWorld(t, st.where)
	}
	dir := filepath.Join(w.out, fmt.Sprintf("%x", time.Now().UnixNano()))
	w.files(dir, exampleFiles)
	if strings.Contains(line, "git ") { // which changes the working tree, and reads patches as of its root
		dir = w.root
		defer w.run(w.root, "git checkout -q main && git clean -fdq")
	}
	if strings.Contains(line, "ledger import") || strings.Contains(line, "--ledger ") {
		export := filepath.Join(shared.out, "ledger.jsonl")
		w.run(dir, "cp "+export+" . && gzip -k ledger.jsonl && cp "+export+".bundle commits.bundle")
	}
	typed := line
	for from, to := range st.replace {
		typed = strings.ReplaceAll(typed, from, to)
	}
	id := ""
	if st.prepare != nil {
		id = st.prepare(w)
	}
	if id == "" && strings.Contains(typed, exampleID) {
		t.Fatalf("%s: stagings does not say which id", line)
	}
	w.perform(dir, strings.ReplaceAll(typed, exampleID, id), st)
}

// perform runs what is typed until it ends, and expects its exit code.
func (w *world) perform(dir, typed string, st staged) {
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	if st.endless {
		typed = "exec " + typed
	}
	cmd := w.command(ctx, dir, typed)
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if st.types != nil {
		defer w.atTerminal(cmd, *st.types, &said)()
	}
	w.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case err := <-ended:
			if got := exitCode(err); got != st.code && !(got == -1 && cmd.ProcessState.ExitCode() == st.code) {
				w.Errorf("%s: ended with %d (%v), want %d\n%s", typed, got, err, st.code, said.String())
			}
			return
		case <-every.C:
			if st.endless && said.String() != "" {
				_ = cmd.Process.Signal(syscall.SIGINT)
			} else if st.meet != nil {
				st.meet(w)
			}
		}
	}
}

// atTerminal gives a command a terminal, on which something is typed as soon as it asks.
func (w *world) atTerminal(cmd *exec.Cmd, typed string, said io.Writer) (done func()) {
	w.Helper()
	master, tty, err := pty.Open()
	w.must(err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	read := make(chan struct{})
	go func() {
		defer close(read)
		seen := ""
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			_, _ = said.Write(buf[:n])
			if seen += string(buf[:n]); typed != "" && strings.HasSuffix(seen, "[y/N] ") {
				_, _ = master.WriteString(typed)
				typed = ""
			}
			if err != nil {
				return
			}
		}
	}()
	return func() {
		_ = tty.Close()
		_ = master.Close()
		<-read
	}
}
