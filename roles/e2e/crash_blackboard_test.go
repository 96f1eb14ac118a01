package e2e

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sett/runtime"
	"sett/runtime/process"
)

// server is `sett blackboard` behind a proxy, kept running as the keeper does.
type server struct {
	t    testing.TB
	rt   *process.Runtime
	addr string
}

func startServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &server{t: t, addr: l.Addr().String(), rt: process.New(process.Options{
		Dir: dir, Executable: binary, Logger: slog.New(slog.DiscardHandler)})}
	_ = l.Close()
	spec := runtime.Spec{Name: "blackboard", Args: []string{"blackboard"}, Env: []string{
		"PATH=" + os.Getenv("PATH"), "SETT_STATE_DIR=" + dir, "SETT_BLACKBOARD_ADDR=" + s.addr}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- process.Keep(ctx, s.rt, []runtime.Spec{spec}, process.KeepOptions{
			Logger:  slog.New(slog.DiscardHandler),
			Backoff: runtime.Backoff{Shortest: 10 * time.Millisecond, Longest: 20 * time.Millisecond, Healthy: 30 * time.Second}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("keep blackboard: %v", err)
		}
		if err := s.rt.Stop(context.Background(), "blackboard", 5*time.Second); err != nil {
			t.Errorf("stop blackboard: %v", err)
		}
	})
	eventually(t, 10*time.Second, "blackboard", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return s
}

func (s *server) kill() {
	units, err := s.rt.List(context.Background(), nil)
	if err != nil || len(units) != 1 {
		s.t.Errorf("find blackboard: %v %v", units, err)
		return
	}
	pid, _ := strconv.Atoi(units[0].ID)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Errorf("kill blackboard: %v", err)
	}
}

// TestCrashOfBlackboardAtEveryWrite kills the embedded blackboard at each write
// that anybody makes during a goal with commits.
func TestCrashOfBlackboardAtEveryWrite(t *testing.T) {
	t.Parallel()
	for name, courses := range map[string]func(clan) clan{"by courses": func(c clan) clan { return c }, "without courses": clan.without} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEveryWrite(t, courses(reviewed(committer, "retries: 1\n")), 4, func(s *server, _ *ground) { s.kill() })
		})
	}
}

// TestCrashOfRepositoryAtEveryWrite kills the role that holds the commits at each write. Its own
// moves are those of TestKilledAtEveryMove.
func TestCrashOfRepositoryAtEveryWrite(t *testing.T) {
	t.Parallel()
	atEveryWrite(t, reviewed(committer, "retries: 1\n").without(), 8, func(_ *server, g *ground) { g.shootIfRunning("repository") })
}

// atEveryWrite has something die at each write during a goal, or at each of so many. The person amends
// HEAD at the same moment, and git removes all that was before.
func atEveryWrite(t *testing.T, c clan, step int, dies func(*server, *ground)) {
	t.Helper()
	if full() || !c.noCourses { // with courses there are few writes
		step = 1
	}
	s := startServer(t)
	p := newProxy(t, s.addr)
	g := &ground{proxy: p, instance: start(t, options{clan: c, url: p.url(), boardURL: "redis://" + s.addr})}
	g.want = g.run()
	points := 0
	for n := 1; ; n += step {
		fired := true
		for _, when := range moments(n/step, 0) {
			g.settled()
			p.arm(&trap{n: n, when: when, kill: func() {
				dies(s, g)
				g.amend()
			}})
			got := g.run()
			if fired = p.disarm(); !fired {
				break
			}
			points++
			if got != g.want {
				t.Fatalf("it died %s write %d, and the goal ended otherwise:\n%s", when, n, diff(g.want, got))
			}
		}
		if !fired {
			break
		}
	}
	g.settled()
	g.atRest()
	t.Logf("%d crash points", points)
	least := 60 / step
	if !c.noCourses {
		least = 15
	}
	if points < least {
		t.Errorf("only %d crash points were reached", points)
	}
}

// TestCrashOfEmbeddedBlackboard kills the blackboard that sett up started, in the
// middle of goals; the keeper starts it again and nothing is lost.
func TestCrashOfEmbeddedBlackboard(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: reviewed(drafter, "retries: 1\n")})
	goal := in.post("x")
	in.await(goal, enough)
	want := in.outcome(goal)
	for _, entries := range []int{1, 7, 30, 55} {
		in.settled()
		goal := in.post("x")
		in.afterEntries(goal, entries)
		in.bounce("blackboard")
		back := time.Now()
		in.await(goal, enough)
		t.Logf("blackboard killed after %d entries; the goal ended %s after its restart", entries, time.Since(back).Round(time.Millisecond))
		if got := in.outcome(goal); got != want {
			t.Errorf("the blackboard died after %d entries, and it ended otherwise:\n%s", entries, diff(want, got))
		}
	}
	in.atRest()
}
