//go:build bench

package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
)

// TestBenchRecords prints the memory and the log that one goal takes in Redis, by kind of key, and the
// commands of its log: with a payload of 600 bytes, and with one of 1 byte, as the prototypes were measured.
func TestBenchRecords(t *testing.T) {
	for _, payload := range []int{1, 600} {
		t.Run(fmt.Sprintf("payload-%d", payload), func(t *testing.T) {
			memory, log := records(t, strings.Repeat("x", payload))
			verdict(t, fmt.Sprintf("Redis' memory per goal with a payload of %d", payload), memory, 4900, "bytes")
			verdict(t, fmt.Sprintf("Redis' log per goal with a payload of %d, its commands", payload), log, 7700, "bytes")
		})
	}
}

// records returns what one of many goals takes of Redis' memory and of its log, in bytes.
func records(t *testing.T, payload string) (inMemory, inLog float64) {
	t.Helper()
	const goals = 1000
	s := redistest.Start(t, redistest.Durable...)
	c := startClan(t, s.URL, "cub-noop", oneAgent(t))
	raw := openRaw(t, s.URL)
	c.flood(t, 50, 8, payload)
	memory, keys, log := keyMemory(t, raw), keyCount(t, raw), logUse(t, raw)
	c.flood(t, goals, 8, payload)
	after := keyMemory(t, raw)
	inMemory = perGoal(t, "memory", goals, after, memory)
	bytes, commands := logUse(t, raw), 0
	for kind, n := range bytes.commands {
		commands += n - log.commands[kind]
	}
	inLog = perGoal(t, "log", goals, bytes.bytes, log.bytes)
	t.Logf("keys per goal %.1f, commands of the log per goal %.1f", float64(keyCount(t, raw)-keys)/goals, float64(commands)/goals)
	return inMemory, inLog
}

func perGoal(t *testing.T, what string, goals int, after, before map[string]int) (sum float64) {
	t.Helper()
	var kinds []string
	for kind := range after {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(i, j int) bool { return after[kinds[i]] > after[kinds[j]] })
	for _, kind := range kinds {
		each := float64(after[kind]-before[kind]) / float64(goals)
		sum += each
		if each >= 1 {
			t.Logf("%-8s %-40s %8.0f bytes", what, kind, each)
		}
	}
	return sum
}

// kindOf is a key's name without its ids.
func kindOf(key string) string {
	key = strings.TrimPrefix(key, "sett:{bench}:")
	if strings.HasPrefix(key, "endings:") {
		return "endings:"
	}
	return regexp.MustCompile(`[0-9A-Z]{26}`).ReplaceAllString(key, "ID")
}

func keyMemory(t *testing.T, raw func(...string) string) map[string]int {
	t.Helper()
	sums := map[string]int{}
	for _, key := range strings.Fields(strings.Trim(raw("KEYS", "sett:*"), "[]")) {
		n, err := strconv.Atoi(raw("MEMORY", "USAGE", key, "SAMPLES", "0"))
		if err != nil {
			t.Fatal(err)
		}
		sums[kindOf(key)] += n
	}
	return sums
}

func keyCount(t *testing.T, raw func(...string) string) int {
	t.Helper()
	n, err := strconv.Atoi(raw("DBSIZE"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// used is the use of Redis' log, by command and kind of key.
type used struct{ bytes, commands map[string]int }

func logUse(t *testing.T, raw func(...string) string) used {
	t.Helper()
	u := used{map[string]int{}, map[string]int{}}
	dir := strings.Trim(raw("CONFIG", "GET", "dir"), "[]map")
	dir = strings.TrimPrefix(strings.TrimPrefix(dir, ":"), "dir:")
	dir = strings.TrimSpace(strings.TrimPrefix(dir, "dir "))
	files, _ := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if len(files) == 0 {
		t.Fatalf("no log in %q", dir)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		readLog(t, bufio.NewReader(f), u)
		_ = f.Close()
	}
	return u
}

func readLog(t *testing.T, r *bufio.Reader, u used) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return
		}
		var words int
		if _, err := fmt.Sscanf(line, "*%d", &words); err != nil {
			continue // an annotation
		}
		size, all := len(line), make([]string, words)
		for i := range all {
			head, _ := r.ReadString('\n')
			var n int
			_, _ = fmt.Sscanf(head, "$%d", &n)
			word := make([]byte, n+2)
			if _, err := io.ReadFull(r, word); err != nil {
				return
			}
			all[i], size = string(word[:n]), size+len(head)+n+2
		}
		kind := all[0]
		if words > 1 {
			kind += " " + kindOf(all[1])
		}
		u.bytes[kind] += size
		u.commands[kind]++
		if os.Getenv("SETT_BENCH_LOG") != "" && kind == "XADD events" {
			t.Logf("%q", all)
		}
	}
}
