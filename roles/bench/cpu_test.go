//go:build bench

package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
)

// TestBenchCPU prints the processor time of all processes for one goal at 64 in flight,
// and the calls of scripts. Both hold on a busy machine, where times do not.
func TestBenchCPU(t *testing.T) {
	const n, inFlight = 4000, 64
	for _, d := range durability {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			url := redistest.Start(t, d.args...).URL
			c := startClan(t, url, "cub-noop", oneAgent(t))
			c.flood(t, 500, inFlight, "x")
			parts := map[string]func() float64{
				"orchestrator": func() float64 { return cpuOf(t, c.orchestrator.Process.Pid) },
				"cub":          func() float64 { return cpuOf(t, c.cubs[0].Process.Pid) },
				"redis":        func() float64 { return redisCPU(t, url) },
				"client":       func() float64 { return cpuOf(t, os.Getpid()) },
			}
			before := map[string]float64{}
			for name, cpu := range parts {
				before[name] = cpu()
			}
			calls := scriptCalls(t, url)
			c.flood(t, n, inFlight, "x")
			calls = scriptCalls(t, url) - calls
			sum, text := 0.0, ""
			for _, name := range []string{"redis", "orchestrator", "cub", "client"} {
				spent := (parts[name]() - before[name]) / n * 1e6
				sum += spent
				text += fmt.Sprintf(" %s %.0f", name, spent)
			}
			t.Logf("µs per goal:%s", text)
			verdict(t, "script calls per goal, "+d.name, float64(calls)/n, 3.05, "calls") // with heartbeats
			verdict(t, "CPU of all processes per goal, "+d.name, sum, 320, "µs")
		})
	}
}

// cpuOf returns the processor time of a process so far, in seconds.
func cpuOf(tb testing.TB, pid int) float64 {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	var user, system float64
	if _, err := fmt.Sscan(words[11]+" "+words[12], &user, &system); err != nil {
		tb.Fatal(err)
	}
	return (user + system) / 100 // ticks of a second, on every Linux of today
}

// redisCPU returns that of a server.
func redisCPU(tb testing.TB, url string) (sum float64) {
	tb.Helper()
	for line := range strings.Lines(openRaw(tb, url)("INFO", "cpu")) {
		for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
			var seconds float64
			if rest, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscan(rest, &seconds); err != nil {
					tb.Fatal(err)
				}
				sum += seconds
			}
		}
	}
	return sum
}
