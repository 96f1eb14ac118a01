package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/runtime"
)

// logbook is a place with the logs of units.
type logbook struct {
	instance.Place
	logs map[string]string
}

func (b logbook) Logs(_ context.Context, unit string, _ runtime.LogOptions) (io.ReadCloser, error) {
	text, ok := b.logs[unit]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// The words of a part that ends again and again are those of its newest run, whatever its earlier ones said.
func TestNewestWords(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	at0 := func(run int, text string) string {
		return fmt.Sprintf(`{"time":%q,"level":"INFO","msg":%q}`, first.Add(time.Duration(run)*time.Minute).Add(time.Second).Format(time.RFC3339Nano), text)
	}
	const a, b, hint = "sett: error: old cause", "sett: error: new cause", "sett: hint: do something"
	const thread, ulimit, newosproc = "runtime: failed to create new OS thread (have 4 already; errno=11)", "runtime: may need to increase max user processes (ulimit -u)", "fatal error: newosproc"
	trace := []string{"", "runtime stack:", "runtime: g 1: unexpected return pc", "runtime.throw({0x1, 0x2})", "\t/go/src/runtime/panic.go:1 +0x1", "", "goroutine 1 [running]:", "main.main()", "\t/sett/main.go:1", "", "rax 0x1", "rip 0x2"}
	crash := append([]string{thread, ulimit, newosproc}, trace...)
	for name, c := range map[string]struct {
		log  []string
		want []string // parts of the lines, in their order
	}{
		"its own lines":                {[]string{at0(0, "begins"), a, hint, at0(1, "begins again"), b, hint}, []string{"begins again", b, hint}},
		"no time":                      {[]string{at0(0, "begins"), a, hint, b, hint}, []string{b, hint}},
		"no time at all":               {[]string{a, a, b}, []string{b}},
		"the same time and again":      {[]string{a, hint, a, hint}, []string{a, hint}},
		"a further run began":          {[]string{at0(0, "begins"), a, at0(1, "begins again"), b, hint, at0(2, "third run")}, []string{"begins again", b, hint, "third run"}},
		"a further run says much":      {append([]string{a, at0(1, "begins again"), b}, strings.Split(strings.Repeat(at0(2, "third run")+"\n", 9), "\n")[:9]...), []string{"begins again", b}},
		"killed, no last words":        {[]string{at0(0, "old"), at0(0, "old"), at0(1, "new"), at0(2, "third run")}, []string{"new", "third run"}},
		"no time, after an old line":   {[]string{at0(-9, "begins"), b}, []string{b}},
		"another clock":                {[]string{at0(-9, "begins"), at0(-8, "begins again")}, []string{"begins", "begins again"}},
		"another's panic, no time":     {[]string{at0(0, "begins"), "panic: old", b}, []string{b}},
		"a crash":                      {append([]string{at0(0, "begins"), at0(1, "begins again")}, crash...), []string{thread, ulimit, newosproc}},
		"a crash after a crash":        {slices.Concat(crash, crash, crash), []string{thread, ulimit, newosproc}},
		"a crash after an error":       {slices.Concat([]string{a, hint}, crash), []string{thread, ulimit, newosproc}},
		"a crash, and a further run":   {slices.Concat([]string{at0(1, "begins")}, crash, []string{at0(2, "third run")}), []string{thread, ulimit, newosproc}},
		"an error after a crash":       {slices.Concat(crash, []string{b, hint}), []string{b, hint}},
		"a panic":                      {append([]string{at0(1, "begins"), "panic: new"}, trace...), []string{"panic: new"}},
		"an error after another crash": {[]string{at0(0, "begins"), "panic: old", at0(1, "begins again"), b}, []string{"begins again", b}},
	} {
		t.Run(name, func(t *testing.T) {
			on := at(nil, &bytes.Buffer{})
			j := &job{
				at: instance.New(on, instance.Flags{}), c: &config.Config{},
				place: logbook{logs: map[string]string{"repository": strings.Join(c.log, "\n") + "\n"}},
			}
			starts := map[time.Time]bool{first: true, first.Add(time.Minute): true, first.Add(2 * time.Minute): true}
			err := j.failed(t.Context(), "repository", "ended 2 times", beforeLast(starts))
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 1+len(c.want) || lines[0] != "repository: ended 2 times" {
				t.Fatalf("said %q", lines)
			}
			for i, want := range c.want {
				if !strings.HasSuffix(lines[i+1], want) {
					t.Errorf("line %d: %q, want %q", i, lines[i+1], want)
				}
			}
		})
	}
}
