package e2e

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sett/blackboard/redis/redistest"
)

// TestChaos strikes whatever runs, in an order that a seed decides, while goals come
// in: parts are killed and frozen, the blackboard is killed, cut off, out of disk,
// refuses writes, and its clock jumps. In some of the runs it also loses what it
// acknowledged, and a person goes on. In the end every goal that was not lost has
// ended as it does undisturbed, the ledger has everything once, and nothing is left open.
//
// SETT_CHAOS is how long faults strike in each run (4s), SETT_CHAOS_SEED the seed to
// replay; `make chaos` does it for ten minutes with a new seed.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("SETT_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	long, err := time.ParseDuration(os.Getenv("SETT_CHAOS"))
	if err != nil {
		long = 4 * time.Second
	}
	for name, begin := range map[string]func(testing.TB, clan) *chaos{
		"embedded": embeddedChaos, "redis": redisChaos, "containers": dockerChaos,
		"embedded losing": losing(embeddedChaos), "redis losing": losing(redisChaos),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, reviewed(committer, "retries: 1000\n"))
			c.random = rand.New(rand.NewPCG(seed, 0))
			t.Logf("SETT_CHAOS=%s SETT_CHAOS_SEED=%d", long, seed)
			c.run(long)
		})
	}
}

// chaos is an instance under faults.
type chaos struct {
	*instance
	faults []fault
	random *rand.Rand
	guard  keepers
	want   string   // a goal's outcome when nothing happens
	open   []string // goals that have not been waited for
	done   int
	loses  bool
	lost   int
	copied string // the blackboard's data at an earlier time
	data   data
	losses []loss
}

// fault breaks something, and returns how it is mended. Two faults with the same thing
// never strike at once.
type fault struct {
	name  string
	thing string
	begin func(c *chaos) (end func())
}

func embeddedChaos(t testing.TB, cl clan) *chaos {
	c := &chaos{instance: start(t, options{clan: cl})}
	c.faults = append(c.unitFaults(), killOf("blackboard"), freezeOf("blackboard"), fault{"full disk", "blackboard", (*chaos).fillDisk})
	c.data = localData(c)
	c.losses = []loss{withoutData, olderCopy}
	return c
}

// fillDisk keeps the embedded blackboard from writing to its log: not a byte more goes
// into any file.
func (c *chaos) fillDisk() func() {
	u, ok := c.running("blackboard")
	pid := c.at.pid(u)
	var usual unix.Rlimit
	if !ok || pid <= 0 || unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &usual) != nil {
		return func() {}
	}
	full := usual
	full.Cur = 0
	_ = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &full, nil) // or it was killed meanwhile
	return func() { _ = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &usual, nil) }
}

func redisChaos(t testing.TB, cl clan) *chaos {
	server := redistest.StartWithClock(t, redistest.Durable...)
	shared(t, server)
	f := newFaultyOn(t, cl, server)
	set := func(name, value, usual string) func(*chaos) func() {
		return func(*chaos) func() {
			f.raw("CONFIG", "SET", name, value)
			return func() { f.raw("CONFIG", "SET", name, usual) }
		}
	}
	c := &chaos{instance: f.instance}
	c.faults = append(c.unitFaults(),
		fault{"kill redis", "server", func(*chaos) func() { f.server.Kill(); return f.server.Restart }},
		fault{"cut all links", "links", func(*chaos) func() { f.proxy.cut(); return func() {} }},
		fault{"cut redis off", "links", func(*chaos) func() { f.proxy.isolate(true); return func() { f.proxy.isolate(false) } }},
		fault{"too few replicas", "server", set("min-replicas-to-write", "1", "0")},
		fault{"no memory for writes", "server", set("maxmemory", "1", "0")},
		fault{"shift the clock", "clock", func(c *chaos) func() { return c.shiftClock(server) }},
	)
	c.data = redisData(t, server)
	c.losses = []loss{withoutData, olderCopy, {"flushed", ledgerGone, func(c *chaos) string {
		kept := c.copyData()
		f.raw("FLUSHALL")
		keysOfOthers(t, server)
		return kept
	}}}
	return c
}

// shiftClock has the blackboard's clock jump twice.
func (c *chaos) shiftClock(s *redistest.Server) func() {
	by := []time.Duration{-time.Hour, -90 * time.Second, -5 * time.Second, 0, 5 * time.Second, 90 * time.Second, time.Hour}
	first, then := by[c.random.IntN(len(by))], by[c.random.IntN(len(by))]
	c.t.Logf("the clock is off by %s, then by %s", first, then)
	s.Shift(first)
	return func() { s.Shift(then) }
}

// unitFaults are the faults of the parts that are there with any blackboard.
func (in *instance) unitFaults() []fault {
	var all []fault
	for _, name := range in.parts("keeper", "orchestrator") {
		all = append(all, killOf(name), freezeOf(name))
	}
	return all
}

// parts returns the names of the agents' units, after others.
func (in *instance) parts(others ...string) []string {
	for _, a := range in.clan.agents {
		others = append(others, "agent-"+a.name)
	}
	return others
}

func killOf(name string) fault {
	return fault{"kill " + name, name, func(c *chaos) func() {
		pillar := slices.Contains(c.o.pillars(), name)
		if pillar {
			c.guard.wait(c.instance)
		}
		if pid := c.shootIfRunning(name); pid != 0 && pillar {
			c.guard = keepers{name, pid}
		}
		return func() {}
	}}
}

func freezeOf(name string) fault {
	return fault{"freeze " + name, name, func(c *chaos) func() {
		u, ok := c.running(name)
		pid := c.at.pid(u)
		if !ok || pid <= 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
			return func() {}
		}
		return func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // or it was killed meanwhile
	}}
}

// run lets faults strike for so long, and then looks at what became of the goals.
func (c *chaos) run(long time.Duration) {
	c.t.Helper()
	first := c.post("x")
	c.await(first, enough)
	c.want = c.outcome(first)
	untilLoss := c.random.IntN(2)
	for until := time.Now().Add(long); time.Now().Before(until); untilLoss-- {
		c.open = append(c.open, c.post("x"))
		c.afterEntries(c.open[len(c.open)-1], 1+c.random.IntN(12))
		c.strike()
		for len(c.open) > 6 {
			c.judge()
		}
		if c.loses && untilLoss <= 0 {
			c.lose()
			untilLoss = 2 + c.random.IntN(5)
		}
	}
	c.open = append(c.open, c.post("x"))
	for len(c.open) > 0 {
		c.judge()
	}
	c.settled()
	c.atRest()
	c.t.Logf("%d goals, %d lost", c.done, c.lost)
}

// strike lets one to three faults in, for up to a second and a half, at the same time.
func (c *chaos) strike() {
	c.t.Helper()
	var names, things []string
	var ends []func()
	for range 1 + c.random.IntN(3) {
		f := c.faults[c.random.IntN(len(c.faults))]
		if slices.Contains(things, f.thing) || len(ends) > 0 && c.waits(f) {
			continue
		}
		names, things = append(names, f.name), append(things, f.thing)
		ends = append(ends, f.begin(c))
	}
	hold := time.Duration(c.random.IntN(1500)) * time.Millisecond
	c.t.Logf("%s for %s", strings.Join(names, ", "), hold)
	<-time.After(hold)
	for _, end := range ends {
		end()
	}
}

// waits says whether a fault begins by waiting for a pillar's restart, which another
// fault may keep from coming.
func (c *chaos) waits(f fault) bool {
	return slices.Contains(c.o.pillars(), f.thing) && strings.HasPrefix(f.name, "kill ")
}

// judge waits for the oldest goal and compares how it ended.
func (c *chaos) judge() {
	c.t.Helper()
	goal := c.open[0]
	c.open = c.open[1:]
	c.await(goal, enough)
	if got := c.outcome(goal); got != c.want {
		c.t.Errorf("goal %s ended otherwise:\n%s", goal, diff(c.want, got))
	}
	c.done++
}

// shootIfRunning kills a unit, which may just be dead: then it returns 0.
func (in *instance) shootIfRunning(name string) (pid int) {
	u, ok := in.running(name)
	if ok {
		pid = in.at.pid(u)
	}
	if pid <= 0 || in.at.kill(u) != nil {
		return 0
	}
	return pid
}

// keepers remembers which of keeper and orchestrator was killed last. Each starts
// the other again; with both dead at once nobody is left to do it.
type keepers struct {
	name string
	pid  int
}

// wait waits until the one that was killed runs again.
func (k keepers) wait(in *instance) {
	in.t.Helper()
	if k.pid != 0 {
		in.restarted(k.name, k.pid)
	}
}
