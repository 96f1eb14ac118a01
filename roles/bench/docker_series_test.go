//go:build bench

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// rounds is how often each side of a comparison is measured.
const rounds = 11

// inTurn measures the sides of a comparison in turn. Each round begins with
// another, so that what one leaves the engine to do is not always the same one's.
func inTurn(sides ...func()) {
	for round := range rounds {
		for i := range sides {
			sides[(round+i)%len(sides)]()
		}
	}
}

// series is what was measured of one thing.
type series []time.Duration

func (s *series) add(d time.Duration) { *s = append(*s, d) }

func (s series) median() time.Duration { return s.percentile(50) }

func (s series) percentile(p int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	all := slices.Sorted(slices.Values(s))
	return all[min(len(all)*p/100, len(all)-1)]
}

// over is the ratio of the medians, by which limits go.
func (s series) over(floor series) float64 {
	return float64(s.median()) / float64(floor.median())
}

// spread tells beside it two ratios that a busy machine moves otherwise: the median
// of the rounds' own, and that of the fastest of each.
func (s series) spread(floor series) string {
	ratios := make([]float64, len(s))
	for i := range s {
		ratios[i] = float64(s[i]) / float64(floor[i])
	}
	slices.Sort(ratios)
	return fmt.Sprintf("medians %.2f, round by round %.2f, fastest %.2f", s.over(floor), ratios[len(ratios)/2],
		float64(s.percentile(0))/float64(floor.percentile(0)))
}

func (s series) String() string {
	if len(s) == 0 {
		return "not measured"
	}
	ms := func(p int) float64 { return float64(s.percentile(p).Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f to %.1f)", ms(50), ms(0), ms(90))
}

// load says how busy the machine is with others' work, too.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:3], " ")
}
