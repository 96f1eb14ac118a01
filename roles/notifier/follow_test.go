package notifier

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

func textOf(v map[string]any) string {
	q, _ := v["question"].(map[string]any)
	s, _ := q["text"].(string)
	return s
}

// Each event is told once, in order, over restarts; what happened meanwhile is told
// after them.
func TestGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start(takes, quick())
	for i := range 3 {
		w.ask(fmt.Sprint(i))
	}
	w.told(3)
	r.halt()
	for i := range 3 {
		w.ask(fmt.Sprint(3 + i))
	}
	w.start(takes, quick())
	for i, v := range w.told(6) {
		if textOf(v) != fmt.Sprint(i) {
			t.Errorf("event %d is %q", i, textOf(v))
		}
	}
}

// At its very first start it tells of the last hour; of what is older it does not.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.ask("old")
	at, err := w.board.Records.Artefact(w.ctx, id)
	w.must(err)
	p := quick()
	p.window = 20 * time.Millisecond
	w.until("that to be old", func() bool {
		now, err := w.board.ServerTime(w.ctx)
		w.must(err)
		return now.Sub(at.CreatedAt) > 2*p.window
	})
	r := w.start(takes, p)
	r.says("following the ledger", 1)
	w.ask("new")
	if got := textOf(w.told(1)[0]); got != "new" {
		t.Errorf("told of %q", got)
	}
}

// An answered question is told of as such: who reads it need not answer.
func TestAnsweredMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer(w.ask("one"))
	w.ask("two")
	w.start(takes, quick())
	for i, v := range w.told(2) {
		if q, _ := v["question"].(map[string]any); q["open"] != (i == 1) {
			t.Errorf("question %q open: %v", textOf(v), q["open"])
		}
	}
}

// failsAt is a command that fails for the question "bad" until there is the file "mended".
const failsAt = `in=$(cat); [ -e "$DIR/mended" ] || case $in in *'"text":"bad"'*) echo no >>"$DIR/no"; echo "sorry" >&2; exit 3;; esac; echo "$in" >>"$DIR/told"; echo sent`

// failures is how often that command has failed.
func (w *world) failures() int {
	w.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "no"))
	w.must(err)
	return strings.Count(string(raw), "no")
}

// state waits for a word of the notifier about itself on the blackboard.
func (w *world) state(what string, is func(blackboard.Notifier) bool) (n blackboard.Notifier) {
	w.Helper()
	w.until(what, func() (ok bool) {
		var err error
		n, err = w.board.Ledger.Notifier(w.ctx)
		w.must(err)
		return is(n)
	})
	return n
}

// An event whose command fails is told as soon as the command works, after any number of
// tries and over restarts; the events after it wait. Meanwhile the blackboard says which
// one, since when and why.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := w.ask("bad")
	w.ask("good")
	r := w.start(failsAt, quick(), env.Incarnation+"=one")
	first := w.state("an event that is not told", func(n blackboard.Notifier) bool { return n.Untold != nil && n.Untold.Tries > 9 })
	a, err := w.board.Records.Artefact(w.ctx, bad)
	w.must(err)
	if u := first.Untold; first.Incarnation != "one" || first.Unfit != "" || u.Event != "question" || u.Workflow != a.WorkflowID || u.Position == "" ||
		u.GivenUp || u.Since.Before(a.CreatedAt.Add(-time.Second)) || !strings.Contains(u.Error, "exit code 3") {
		t.Errorf("it says %+v, %+v", first, u)
	}
	r.halt()
	first, err = w.board.Ledger.Notifier(w.ctx)
	w.must(err)
	for text, some := range map[string]bool{"line=sorry": true, "exit code 3": true, "again_in=3ms": true, "line=sent": false, "given up": false} {
		if strings.Contains(r.log.String(), text) != some {
			t.Errorf("%q is in the log: %v", text, !some)
		}
	}
	w.told(0)

	w.start(failsAt, quick(), env.Incarnation+"=two")
	second := w.state("the next one to say so", func(n blackboard.Notifier) bool {
		return n.Incarnation == "two" && n.Untold != nil && n.Untold.Tries > first.Untold.Tries
	})
	if !second.Untold.Since.Equal(first.Untold.Since) || second.Untold.Position != first.Untold.Position {
		t.Errorf("it says %+v, and said %+v", second.Untold, first.Untold)
	}
	w.answer(bad)
	answered := w.failures()
	w.until("tries since the answer", func() bool { return w.failures() > answered+1 })
	w.must(os.WriteFile(filepath.Join(w.dir, "mended"), nil, 0o600))
	all := w.told(2)
	if textOf(all[0]) != "bad" || textOf(all[1]) != "good" {
		t.Errorf("told of %q and %q", textOf(all[0]), textOf(all[1]))
	}
	if q, _ := all[0]["question"].(map[string]any); q["open"] != false {
		t.Error("the question counts as open, as when its first try failed")
	}
	w.state("nothing to complain of", func(n blackboard.Notifier) bool { return n.Untold == nil })
}

// Of what a command writes the log has a part, of stderr as of stdout, and says that there was more.
func TestCommandTalks(t *testing.T) {
	t.Parallel()
	for stream, to := range map[string]string{"stdout": "", "stderr": " >&2"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("x")
			r := w.start(takes+`; yes "one of many lines" | head -n 40000`+to, quick())
			w.remembered(w.told(1))
			r.halt()
			log := r.log.String()
			if lines := strings.Count(log, "one of many lines"); lines < 100 || lines > mostOutput/10 {
				t.Errorf("%d lines are in the log", lines)
			}
			if n := strings.Count(log, "not logged"); n != 1 || !strings.Contains(log, "stream="+stream) {
				t.Errorf("it says %d times that there was more of %s", n, stream)
			}
		})
	}
}

// An event that the command refuses for good is told once, and does not hold up the next.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start(takes+`; ! grep -q nonsense "$DIR/told" || [ -e "$DIR/second" ] || { : >"$DIR/second"; exit 65; }`, usualPace())
	w.ask("nonsense")
	u := w.state("an event that is refused", func(n blackboard.Notifier) bool { return n.Untold != nil && n.Untold.GivenUp }).Untold
	if u.Tries != 1 || !strings.Contains(u.Error, "exit code 65: the command refuses this event for good") {
		t.Errorf("it says %+v", u)
	}
	r.says(`level=ERROR msg="event not told: given up"`, 1)
	w.ask("sense")
	if got := textOf(w.told(2)[1]); got != "sense" {
		t.Errorf("told of %q", got)
	}
	w.state("nothing to complain of", func(n blackboard.Notifier) bool { return n.Untold == nil })
	r.halt()
}

// An event that is too old is tried as often as there are pauses, and then given up with
// an error; the next one is told.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("bad")
	p := quick()
	p.keep = 0
	r := w.start(failsAt, p)
	u := w.state("an event that is given up", func(n blackboard.Notifier) bool { return n.Untold != nil && n.Untold.GivenUp }).Untold
	if u.Tries != 4 {
		t.Errorf("it says %+v", u)
	}
	r.says(`level=ERROR msg="event not told: given up"`, 1)
	if !strings.Contains(r.log.String(), "position="+u.Position) || !strings.Contains(r.log.String(), `command_line="sett answer `) {
		t.Errorf("the log does not name %s", u.Position)
	}
	r.halt()
	w.start(failsAt, p)
	w.ask("good")
	if got := textOf(w.told(1)[0]); got != "good" {
		t.Errorf("told of %q", got)
	}
	w.state("nothing to complain of", func(n blackboard.Notifier) bool { return n.Untold == nil })
}

// A command that takes too long has failed.
func TestCommandIsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("slow")
	r := w.start(`[ -e "$DIR/again" ] && exec cat >>"$DIR/told"; : >"$DIR/again"; sleep 60`, quick(), env.NotifyTimeout+"=2s")
	w.told(1)
	if !strings.Contains(r.log.String(), "not done within 2s") {
		t.Error("the log does not say so")
	}
}

// A command that cannot be run is named before there is an event, and is tried until it
// is installed.
func TestCommandIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("", quick(), env.NotifyCommand+`=["./missing"]`)
	unfit := func(n blackboard.Notifier) bool {
		return strings.HasPrefix(n.Unfit, "./missing cannot be run: ") && strings.HasSuffix(n.Unfit, "no such file or directory")
	}
	w.state("the reason", func(n blackboard.Notifier) bool { return unfit(n) && n.Untold == nil })
	program := filepath.Join(w.dir, "missing")
	install := func() { w.must(os.WriteFile(program, []byte("#!/bin/sh\n"+takes), 0o700)) }
	install()
	w.state("a command that was installed", func(n blackboard.Notifier) bool { return n.Unfit == "" })
	w.must(os.Remove(program))
	w.ask("one")
	u := w.state("an event that is not told", func(n blackboard.Notifier) bool { return unfit(n) && n.Untold != nil }).Untold
	if !strings.Contains(u.Error, "start tool ./missing") {
		t.Errorf("it says %+v", u)
	}
	install()
	w.told(1)
	w.state("nothing to complain of", func(n blackboard.Notifier) bool { return n.Unfit == "" && n.Untold == nil })
	r.halt()
}

// A notifier that was removed and is put back tells nothing again.
func TestPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start(takes, quick())
	w.ask("one")
	w.remembered(w.told(1))
	r.halt()
	w.must(w.board.Ledger.ForgetNotified(w.ctx))
	w.ask("meanwhile")
	w.start(takes, quick())
	if got := textOf(w.told(2)[1]); got != "meanwhile" {
		t.Errorf("told of %q", got)
	}
}

// A notifier that is told to stop lets its command finish. Told twice, or when the
// grace is over, it ends the command, and its event is told again.
func TestStops(t *testing.T) {
	t.Parallel()
	const slow = `: >"$DIR/began"; until [ -e "$DIR/leave" ]; do sleep 0.01; done; ` + takes
	for name, grace := range map[string]time.Duration{"hurry": time.Minute, "grace": 50 * time.Millisecond, "done": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("x")
			p := quick()
			p.grace = grace
			r := w.start(slow, p)
			w.until("the command's start", func() bool { _, err := os.Stat(filepath.Join(w.dir, "began")); return err == nil })
			r.stop()
			switch name {
			case "hurry":
				close(r.hurry)
			case "done":
				w.must(os.WriteFile(filepath.Join(w.dir, "leave"), nil, 0o600))
			}
			w.must(r.end())
			if name == "done" {
				w.told(1)
			} else {
				w.told(0)
			}
			r = w.start(takes, quick())
			w.ask("y")
			if got := textOf(w.told(2)[0]); got != "x" {
				t.Errorf("told of %q", got)
			}
			r.halt()
		})
	}
}

// The blackboard may be away for a while, and be back; in between nothing is lost.
// The position is on the board before the notifier hears so: what notices first, the
// one that writes it or the one that reads on, is not the test's to say.
func TestBlackboardAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start(takes, quick())
	away := func() {
		const noticed = `level=WARN msg="blackboard `
		before := strings.Count(r.log.String(), noticed)
		w.server.Kill()
		r.says(noticed, before+1)
		w.server.Restart()
	}
	w.ask("before")
	w.remembered(w.told(1))
	away()
	w.ask("after")
	w.remembered(w.told(2))
	away()
	r.halt()
}

// Not for ever: then it ends loudly. Silence is no absence.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start(takes, quick(), env.RedisGiveUp+"=300ms")
	w.ask("x")
	w.told(1)
	select { // longer than that nothing happens
	case <-r.ended:
		t.Fatal("it ended", r.err)
	case <-time.After(500 * time.Millisecond):
	}
	w.server.Kill()
	if err := r.end(); role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "unreachable for ") {
		t.Errorf("exit code %d, %v", role.CodeOf(err), err)
	}
}

// Entries that name what is not there, or no id at all, are not in the way of
// others, and what they name is in no command line.
func TestForgedEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, unknown := w.ask("first"), newID()
	w.forge("EVAL", "redis.call('HSET', KEYS[2], unpack(redis.call('HGETALL', KEYS[1]))) return 1", "2",
		"sett:{test}:artifact:"+first, "sett:{test}:artifact:$(rm -rf /)")
	goal, err := w.board.Records.Artefact(w.ctx, first)
	w.must(err)
	for _, fields := range [][]string{
		{"structural_type", "Question", "artefact", "$(rm -rf /)", "workflow", goal.WorkflowID},
		{"structural_type", "Question", "artefact", unknown, "workflow", unknown},
		{"structural_type", "Question", "artefact", first, "workflow", "x; y"},
		{"structural_type", "Question", "artefact", first}, {"workflow_status", "failed"}, {"gate", "held", "artefact", unknown, "workflow", unknown},
	} {
		w.forge(append([]string{"XADD", "sett:{test}:events", "*", "kind", "result"}, fields...)...)
	}
	w.forge("SET", "sett:{test}:notified", "not a position")
	w.ask("last")
	r := w.start(takes, quick())
	all := w.told(2)
	if textOf(all[0]) != "first" || textOf(all[1]) != "last" {
		t.Errorf("told of %q and %q", textOf(all[0]), textOf(all[1]))
	}
	if n := strings.Count(r.log.String(), "it cannot be read"); n != 6 {
		t.Errorf("%d entries could not be read", n)
	}
}

// What tells nothing moves the position as well, but not at every entry.
func TestPositionOfNoNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := quick()
	p.stride = 5
	w.start(takes, p).says("following the ledger", 1)
	at := func() string {
		at, err := w.board.Ledger.Notified(w.ctx)
		w.must(err)
		return at
	}
	for range 4 {
		w.must(w.board.Leader.Enact(w.ctx, w.lead.Epoch, []string{newID()}, ""))
	}
	w.ask("sync")
	w.remembered(w.told(1))
	before := at()
	for range 5 {
		w.must(w.board.Leader.Enact(w.ctx, w.lead.Epoch, []string{newID()}, ""))
	}
	w.until("the position of no news", func() bool { return at() != before })
}

// The command has what sett.yml gives it, in the workspace, and not the
// blackboard's credentials.
func TestCommandsWorld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finish(w.goal("g"), blackboard.Question, "Ask", "?")
	w.start(`cat >/dev/null; { env; pwd; } >"$DIR/world.new"; mv "$DIR/world.new" "$DIR/world"`, quick(), "WEBHOOK=https://example.org",
		env.Token+"=s3cret", env.AgentsRedisURL+"=redis://s3cret@h")
	var got string
	w.until("the command", func() bool {
		raw, err := os.ReadFile(filepath.Join(w.dir, "world"))
		got = "\n" + string(raw)
		return err == nil
	})
	for _, want := range []string{"\nWEBHOOK=https://example.org\n", "\n" + w.dir + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, secret := range append([]string{w.server.URL, "s3cret"}, env.Secret...) {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in\n%s", secret, got)
		}
	}
}
