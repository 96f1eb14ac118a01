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
// and the calls of scripts, of an agent with one slot and with 16. Both hold on a busy machine,
// where times do not. Processor time depends on the machine, so it is also held to that of the
// floor: 320 µs where a chain of the floor costs 91.
func TestBenchCPU(t *testing.T) {
	const n, inFlight = 4000, 64
	for _, d := range durability {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			floorURL := redistest.Start(t, d.args...).URL
			f := startFloor(t, floorURL)
			f.rate(500, inFlight)
			floor := spent(t, n, func() { f.rate(n, inFlight) },
				part{"redis", func() float64 { return redisCPU(t, floorURL) }},
				part{"chains", func() float64 { return cpuOf(t, os.Getpid()) + cpuOf(t, f.partner.Process.Pid) }})

			for _, slots := range []int{1, 16} {
				url := redistest.Start(t, d.args...).URL
				clan := oneAgent(t)
				clan[0].slots = slots
				c := startClan(t, url, "cub-noop", clan)
				c.flood(t, 500, inFlight, "x")
				calls := scriptCalls(t, url)
				goal := spent(t, n, func() { c.flood(t, n, inFlight, "x") },
					part{"redis", func() float64 { return redisCPU(t, url) }},
					part{"orchestrator", func() float64 { return cpuOf(t, c.orchestrator.Process.Pid) }},
					part{"cub", func() float64 { return cpuOf(t, c.cubs[0].Process.Pid) }},
					part{"client", func() float64 { return cpuOf(t, os.Getpid()) }})
				calls = scriptCalls(t, url) - calls
				how := fmt.Sprintf(", %d at once, %s", slots, d.name)
				verdict(t, "script calls per goal"+how, float64(calls)/n, 3.05, "calls") // with heartbeats
				verdict(t, "CPU of all processes per goal"+how, goal, 320, "µs")
				verdict(t, "CPU of all processes per goal / the floor's"+how, goal/floor, 3.5, "x")
			}
		})
	}
}

// part is something that uses the processor, and its time so far in seconds.
type part struct {
	name string
	cpu  func() float64
}

// spent does n of something and returns the processor time of one, of all parts, in µs.
func spent(t *testing.T, n float64, do func(), parts ...part) (sum float64) {
	t.Helper()
	before := make([]float64, len(parts))
	for i, p := range parts {
		before[i] = p.cpu()
	}
	do()
	text := ""
	for i, p := range parts {
		each := (p.cpu() - before[i]) / n * 1e6
		sum += each
		text += fmt.Sprintf(", %s %.0f", p.name, each)
	}
	t.Logf("CPU %.0f µs%s", sum, text)
	return sum
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
