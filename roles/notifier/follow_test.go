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

// A command that fails is run again, four times in all; then its event is left, and
// the next one is told.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("bad")
	w.ask("good")
	r := w.start(`in=$(cat); case $in in *'"text":"bad"'*) echo no >>"$DIR/no"; echo "sorry" >&2; exit 3;; esac; echo "$in" >>"$DIR/told"; echo sent`, quick())
	if got := textOf(w.told(1)[0]); got != "good" {
		t.Errorf("told of %q", got)
	}
	r.says(`msg="event told"`, 1)
	tries, err := os.ReadFile(filepath.Join(w.dir, "no"))
	w.must(err)
	if n := strings.Count(string(tries), "no"); n != 4 {
		t.Errorf("tried %d times", n)
	}
	for text, times := range map[string]int{"line=sorry": 4, "exit code 3": 4, "given up": 1, "line=sent": 1, "again_in": 3} {
		if n := strings.Count(r.log.String(), text); n != times {
			t.Errorf("%q is in the log %d times, want %d", text, n, times)
		}
	}
	r.halt()
	last := w.start(takes, quick())
	w.ask("later")
	w.told(2)
	last.halt()
}

// A command that cannot be run at all, and one that takes too long, are failures.
func TestCommandIsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("slow")
	r := w.start(`[ -e "$DIR/again" ] && exec cat >>"$DIR/told"; : >"$DIR/again"; sleep 60`, quick(), env.NotifyTimeout+"=2s")
	w.told(1)
	if !strings.Contains(r.log.String(), "not done within 2s") {
		t.Error("the log does not say so")
	}
	r.halt()
	w.ask("two")
	r = w.start("", quick(), env.NotifyCommand+`=["./missing"]`)
	r.says("given up", 1)
	if !strings.Contains(r.log.String(), "start tool ./missing") {
		t.Error("the log does not say why")
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
	if err := r.end(); role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "unreachable for 300ms") {
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
