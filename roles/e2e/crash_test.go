package e2e

import (
	"os/exec"
	"sync"
	"testing"
	"time"
)

// ground is an instance behind a proxy, on which crash points are tried one after
// another, and how a goal ends there when nothing happens.
type ground struct {
	*instance
	proxy *proxy
	want  string

	prunes bool // at each death the person amends HEAD, and git removes the commit of before
}

// amend has the person's repository forget the commit with which all goals so far began.
func (g *ground) amend() {
	defer g.act("an amended commit")()
	const script = `d="@$(($(date +%s%N) / 1000000 % 2000000000)) +0000" && GIT_COMMITTER_DATE="$d" git commit -q --amend --allow-empty --no-edit --date="$d" && git reflog expire --expire=now --all && git gc -q --prune=now`
	if out, err := g.asUser(exec.Command("sh", "-c", script)).CombinedOutput(); err != nil {
		g.t.Errorf("amend: %v\n%s", err, out)
	}
}

// enough is how long what must come may take on a machine that does other things as well.
const enough = 5 * time.Minute

func newGround(t testing.TB, c clan) *ground {
	t.Helper()
	server := startRedis(t)
	p := newProxy(t, server.Addr())
	g := &ground{proxy: p, instance: start(t, options{clan: c, url: p.url(), boardURL: server.URL})}
	g.want = g.run()
	return g
}

// run posts a goal, waits for its end and returns how it ended.
func (g *ground) run() string {
	g.t.Helper()
	goal := g.post("x")
	if g.clan.peopled {
		g.seeThrough(goal)
	} else {
		g.await(goal, enough)
	}
	return g.outcome(goal)
}

// process is one that dies: its connections' name and its unit.
type victim struct{ client, unit string }

func victims(c clan) []victim {
	all := []victim{{"orchestrator", "orchestrator"}}
	for _, a := range c.agents {
		all = append(all, victim{"cub-" + a.name, "agent-" + a.name})
	}
	return all
}

// crash runs a goal during which a process dies at its n-th write, and compares
// how it ended. It returns false when the process makes fewer writes.
func (g *ground) crash(v victim, n int, when moment) bool {
	g.t.Helper()
	g.settled()
	g.proxy.arm(&trap{client: v.client, n: n, when: when, kill: func() {
		g.shoot(v.unit)
		if g.prunes {
			g.amend()
		}
	}})
	got := g.run()
	if !g.proxy.disarm() {
		return false
	}
	if got != g.want {
		g.t.Errorf("%s died %s its write %d, and it ended otherwise:\n%s", v.unit, when, n, diff(g.want, got))
	}
	return true
}

// moments returns on which sides of the n-th write to die.
func moments(n, of int) []moment {
	if full() {
		return []moment{before, after}
	}
	return []moment{[]moment{before, after}[(n+of)%2]}
}

// TestCrashAtEveryWrite kills each process at each of its writes, from the goal
// being posted to its end.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	clans := map[string]clan{
		"text": reviewed(drafter, "retries: 1\n").without(), "text by courses": reviewed(drafter, "retries: 1\n"),
		"commits": reviewed(committer, "retries: 1\n"), "changes": reviewed(changer, "retries: 1\n"), "people by courses": peopled("retries: 1\n"),
	}
	if full() {
		clans["people"] = peopled("retries: 1\n").without()
	}
	for name, c := range clans {
		least := 15 // with courses the processes write less
		if c.noCourses {
			least = 50
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sweep{all: victims(c), done: map[string]bool{}}
			t.Run("", func(t *testing.T) {
				for range 2 {
					t.Run("", func(t *testing.T) {
						t.Parallel()
						g := newGround(t, c)
						g.prunes = name == "commits" || name == "changes"
						s.work(g)
					})
				}
			})
			t.Logf("%d crash points", s.points)
			if s.points < least {
				t.Errorf("only %d crash points were reached", s.points)
			}
		})
	}
}

// sweep is the list of crash points; several grounds share it.
type sweep struct {
	all    []victim
	mu     sync.Mutex
	n      int
	points int
	done   map[string]bool // victims that make no further writes
}

// next returns the next number of writes; 0 when no victim makes so many.
func (s *sweep) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) == len(s.all) {
		return 0
	}
	s.n++
	return s.n
}

func (s *sweep) skip(v victim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[v.unit]
}

func (s *sweep) result(v victim, fired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fired {
		s.points++
	} else {
		s.done[v.unit] = true
	}
}

// work tries crash points until there are none left. Before each round the keeper
// and the orchestrator die, so that back-offs begin anew.
func (s *sweep) work(g *ground) {
	for n := s.next(); n > 0 && !g.t.Failed(); n = s.next() {
		g.settled() // with both dead nobody would be left to start them
		g.bounce("keeper")
		for i, v := range s.all {
			for _, when := range moments(n, i) {
				if !s.skip(v) {
					s.result(v, g.crash(v, n, when))
				}
			}
		}
	}
	g.settled()
	g.atRest()
}

// TestCrashAtFirstWrite kills each process at the first write it ever makes, while
// the instance is started: when it registers, or takes the lead.
func TestCrashAtFirstWrite(t *testing.T) {
	t.Parallel()
	c := reviewed(drafter, "retries: 1\n")
	server := startRedis(t)
	for i, v := range victims(c) {
		for _, when := range moments(1, i) {
			t.Run(v.unit+" "+string(when), func(t *testing.T) {
				t.Parallel()
				p := newProxy(t, server.Addr())
				g := &ground{proxy: p, instance: prepare(t, options{clan: c, url: p.url(), boardURL: server.URL})}
				p.arm(&trap{client: v.client, n: 1, when: when, kill: func() { g.shoot(v.unit) }})
				g.up()
				if !p.disarm() {
					t.Errorf("%s made no write", v.unit)
				}
				got := g.run()
				if want := g.run(); got != want {
					t.Errorf("ended otherwise:\n%s", diff(want, got))
				}
				g.atRest()
			})
		}
	}
}
