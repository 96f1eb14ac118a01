//go:build bench

package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
)

func cpuTicks(pid int) (u, s int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	fmt.Sscan(f[11], &u)
	fmt.Sscan(f[12], &s)
	return
}

func TestCPU(t *testing.T) {
	s := redistest.Start(t)
	c := startClan(t, s.URL, "cub-noop", oneAgent(t))
	c.flood(t, 500, 64, "x")
	pids := map[string]int{"redis": s.PID(), "orchestrator": c.orchestrator.Process.Pid, "cub": c.cubs[0].Process.Pid, "driver": os.Getpid()}
	before := map[string][2]int{}
	for n, p := range pids {
		u, s := cpuTicks(p)
		before[n] = [2]int{u, s}
	}
	n0 := scriptCalls(t, s.URL)
	const n = 5000
	c.flood(t, n, 64, "x")
	for n2, p := range pids {
		u, s := cpuTicks(p)
		t.Logf("%-14s user %d sys %d us/goal", n2, (u-before[n2][0])*10000/n, (s-before[n2][1])*10000/n)
	}
	t.Logf("scripts per goal %.2f", float64(scriptCalls(t, s.URL)-n0)/n)
	raw := openRaw(t, s.URL)
	for _, l := range strings.Split(raw("INFO", "commandstats"), "\n") {
		t.Log(l)
	}
}
