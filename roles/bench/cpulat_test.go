//go:build bench

package bench

import (
	"testing"

	"sett/blackboard/redis/redistest"
)

func TestCPULatency(t *testing.T) {
	s := redistest.Start(t)
	c := startClan(t, s.URL, "cub-noop", oneAgent(t))
	c.measure(t, 50)
	pids := map[string]int{"redis": s.PID(), "orchestrator": c.orchestrator.Process.Pid, "cub": c.cubs[0].Process.Pid}
	before := map[string][2]int{}
	for n, p := range pids {
		u, s := cpuTicks(p)
		before[n] = [2]int{u, s}
	}
	const n = 1500
	c.measure(t, n)
	for n2, p := range pids {
		u, s := cpuTicks(p)
		t.Logf("%-14s user %d sys %d us/goal", n2, (u-before[n2][0])*10000/n, (s-before[n2][1])*10000/n)
	}
	fs := redistest.Start(t)
	f := startFloor(t, fs.URL)
	u0, s0 := cpuTicks(fs.PID())
	f.measure(n)
	u1, s1 := cpuTicks(fs.PID())
	t.Logf("floor redis user %d sys %d", (u1-u0)*10000/n, (s1-s0)*10000/n)
}
