package cli

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// door is an address at which the stage's blackboard can be reached until it is shut. Shut, it
// takes connections and ends them.
type door struct {
	listener net.Listener
	mu       sync.Mutex
	open     bool
	refused  int
	ends     []net.Conn
}

func newDoor(t *testing.T, behind string) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: l, open: true}
	t.Cleanup(func() { _ = l.Close(); d.shut() })
	go func() {
		for {
			one, err := l.Accept()
			if err != nil {
				return
			}
			d.meet(one, behind)
		}
	}()
	return d
}

// meet connects a client with the server behind the door, or ends the connection.
func (d *door) meet(one net.Conn, behind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	other, err := net.Dial("tcp", behind)
	if err != nil || !d.open {
		d.refused++
		_ = one.Close()
		if err == nil {
			_ = other.Close()
		}
		return
	}
	d.ends = append(d.ends, one, other)
	for _, pair := range [][2]net.Conn{{one, other}, {other, one}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = one.Close(), other.Close()
		}()
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = false
	for _, end := range d.ends {
		_ = end.Close()
	}
}

func (d *door) refusals() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// behindDoor is a stage with its blackboard behind a door.
func behindDoor(t *testing.T) (*stage, *door) {
	s := newStage(t)
	d := newDoor(t, s.Server.Addr())
	s.change(func(in *instance.State) { in.URL = s.at(d) })
	return s, d
}

// change changes the instance's state, as a sett up or down does.
func (s *stage) change(f func(*instance.State)) {
	s.t.Helper()
	in, err := instance.LoadInstance(s.dir())
	s.Must(err)
	f(&in.State)
	s.Must(in.Save())
}

func (s *stage) dir() string { return filepath.Join(s.home, "sett", "stage") }

// at is the URL of the stage's blackboard at a door.
func (s *stage) at(d *door) string {
	s.t.Helper()
	u, err := url.Parse(s.Server.URL)
	s.Must(err)
	u.Host = d.listener.Addr().String()
	return u.String()
}

// followers starts every command that follows the ledger, and returns them with their goals (empty: all) when all do.
func (s *stage) followers(goal string) (of map[*call]string) {
	s.t.Helper()
	of = map[*call]string{}
	for _, args := range [][]string{
		{"wait", goal}, {"wait", goal, "--for", "question"}, {"watch", "--workflow", goal}, {"watch", "--workflow", goal, "--exit-when-done"},
		{"questions", "--wait", "--workflow", goal},
	} {
		of[s.start(args...)] = goal
	}
	for _, args := range [][]string{{"watch"}, {"watch", "-o", "jsonl", "--waits"}, {"watch", "--exit-when-done"}, {"questions", "--wait"}} {
		of[s.start(args...)] = ""
	}
	forage := s.start("forage", "--wait", "another goal")
	of[forage] = forage.goalOf()
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(of) })
	return of
}

// Who follows the ledger of an instance that is removed ends with 3, and says that the goal went with it: also where
// another instance has its name by then, and where its server, the user's own, goes on.
func TestFollowersOfRemovedInstance(t *testing.T) {
	for name, remove := range map[string]func(s *stage, d *door){
		"removed": func(s *stage, d *door) { d.shut(); s.Must(os.RemoveAll(s.dir())) },
		"anew": func(s *stage, d *door) {
			d.shut()
			s.change(func(in *instance.State) { in.CreatedAt = time.Now(); in.URL = s.at(newDoor(s.t, s.Server.Addr())) })
		},
		"its server goes on": func(s *stage, _ *door) { s.Must(os.RemoveAll(s.dir())) },
	} {
		t.Run(name, func(t *testing.T) {
			s, d := behindDoor(t)
			all := s.followers(s.Goal("the goal"))
			remove(s, d)
			for c, goal := range all {
				err := c.wait()
				if role.CodeOf(err) != role.NotFound {
					t.Errorf("%v: %s", err, c.err.String())
					continue
				}
				with := "; its ledger went with it"
				if goal != "" {
					with = "; goal " + words.Short(goal) + " went with it"
				}
				has(t, err.Error(), "the instance stage was removed"+with)
				if name == "anew" {
					has(t, hint(err), "sett --name stage goals shows those of the new one")
				} else {
					has(t, hint(err), " up ", " begins a new one")
				}
			}
		})
	}
}

// Who follows the ledger of an instance that sett down stops says so once, with no word of the connection, and goes on after
// sett up, also at another address.
func TestFollowersOfStoppedInstance(t *testing.T) {
	s, d := behindDoor(t)
	goal := s.Goal("the goal")
	all := s.followers(goal)
	cut := s.start("forage", "--wait", "a third goal")
	third := cut.goalOf()
	short, ends := s.start("wait", third), s.start("wait", goal, "--for", "end")
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(all)+3 })
	in, err := instance.LoadInstance(s.dir())
	s.Must(err)
	s.Must(in.SetStopping(true))
	d.shut()
	s.Until("the loss is noticed", func() bool { return d.refusals() > 4*len(all) })
	s.change(func(in *instance.State) { in.Down = true })
	const says = "sett: stage was stopped (sett down); waiting for sett up\n"
	for c := range all {
		s.Until("it is said", func() bool { return strings.Contains(c.err.String(), says) })
	}
	for _, c := range []*call{cut, short} {
		c.stop()
		err := c.wait()
		if role.CodeOf(err) != role.Interrupted {
			t.Errorf("%v", err)
		}
		has(t, err.Error(), "interrupted; goal "+words.Short(third)+" waits for sett up")
	}
	s.Must(in.SetStopping(false))
	s.change(func(in *instance.State) { in.Down, in.URL = false, s.at(newDoor(t, s.Server.Addr())) })
	for c := range all {
		s.Until("it is back", func() bool { return strings.Contains(c.err.String(), "sett: blackboard is back\n") })
		if text := c.err.String(); strings.Count(text, says) != 1 || strings.Contains(text, "blackboard lost") {
			t.Errorf("%s", text)
		}
	}
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	s.Must(ends.wait())
}

// A time limit of an instance that was stopped does not say that the goal goes on.
func TestWaitTooShortForStoppedInstance(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	s.change(func(in *instance.State) { in.Down = true })
	for _, args := range [][]string{{"wait", goal, "--timeout", "50ms"}, {"watch", "--workflow", goal, "--exit-when-done", "--timeout", "50ms"}} {
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.TimedOut {
			t.Errorf("%v", err)
			continue
		}
		has(t, err.Error(), "50ms was not enough; goal "+words.Short(goal)+" waits for sett up")
		has(t, hint(err), " up")
	}
}

// A blackboard in another place that is not the one of before, as after sett up with another runtime, is not waited for.
func TestFollowersOfAnotherBlackboard(t *testing.T) {
	s, d := behindDoor(t)
	c := s.start("wait", s.Goal("the goal"))
	s.Until("it follows the ledger", func() bool { return s.Server.Followers() == 1 })
	d.shut()
	s.change(func(in *instance.State) { in.URL = "redis://other:secret@" + s.Server.Addr() })
	err := c.wait()
	if role.CodeOf(err) != role.NotFound {
		t.Errorf("%v", err)
	}
	has(t, err.Error(), "instance stage has another blackboard")
}

// The page of an instance that is removed ends with 3, and lets its port go.
func TestPageOfRemoved(t *testing.T) {
	s := newStage(t)
	c := s.start("ui", "--no-open", "--port", "0")
	s.Until("its address", func() bool { return strings.HasSuffix(c.out.String(), "\n") })
	s.Must(os.RemoveAll(s.dir()))
	err := c.wait()
	if role.CodeOf(err) != role.NotFound {
		t.Fatalf("it ends with %v", err)
	}
	has(t, err.Error(), "the instance stage was removed")
	at, err := url.Parse(strings.TrimSpace(c.out.String()))
	s.Must(err)
	if one, err := net.Dial("tcp", at.Host); err == nil {
		t.Error("its port is still open")
		_ = one.Close()
	}
}

// sett logs --follow goes on after sett down and sett up, and ends with 3 when its instance is removed, after the last lines.
func TestLogsFollowTheInstance(t *testing.T) {
	s := newStage(t)
	s.Must(os.MkdirAll(filepath.Join(s.dir(), "logs"), 0o700))
	log := filepath.Join(s.dir(), "logs", "agent-writer.log")
	s.Must(os.WriteFile(log, []byte(line("01", "first")), 0o600))
	c := s.start("logs", "--follow")
	shows := func(text string) {
		t.Helper()
		s.Until(text, func() bool { return strings.Contains(c.out.String()+c.err.String(), text) })
	}
	shows("first")
	s.change(func(in *instance.State) { in.Down = true })
	shows("sett: stage was stopped (sett down); waiting for sett up\n")
	s.change(func(in *instance.State) { in.Down = false })
	s.Must(os.WriteFile(log, []byte(line("01", "first")+line("02", "second")), 0o600))
	shows("second")
	s.Must(os.RemoveAll(s.dir()))
	err := c.wait()
	if role.CodeOf(err) != role.NotFound {
		t.Errorf("%v", err)
	}
	has(t, err.Error(), "the instance stage was removed")
}

// sett down says how many events wait to be told to notify, and --purge that they go.
func TestDownWithUntoldEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"down":  {[]string{"down"}, "; they wait for the next sett up\n"},
		"purge": {[]string{"down", "--purge", "--yes"}, "; they are removed too\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			in, err := instance.LoadInstance(s.dir())
			s.Must(err)
			s.config.Notify = &config.Notify{Command: []string{"tell"}}
			s.Must(instance.SaveConfig(in, s.config))
			s.staff()
			s.Must(s.board.Ledger.SetNotified(s.Ctx, blackboard.Beginning))
			s.work(s.Goal("first"), blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which?"})
			claim, _ := s.work(s.Goal("second"), blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
			s.Complete(claim)
			_, stderr, err := s.run(tc.args...)
			s.Must(err)
			has(t, young(stderr), "sett: note: 2 events were not told to notify (oldest: that goal ", " waits for a person, 0s ago)"+tc.says)
		})
	}
}
