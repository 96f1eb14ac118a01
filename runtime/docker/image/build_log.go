package image

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// tailLines is how many lines of a failed build's output are shown.
const tailLines = 15

// buildLog turns the builder's output into progress for people: each step that does not
// come from the cache, and the end of the output when the build fails.
type buildLog struct {
	want  Want
	refs  []string // the image's names
	say   Progress
	ours  int    // inserted steps
	label string // their text
	added int    // steps that the builder adds at the end, one for each label
	file  dockerfile

	started bool // progress was reported
	seen    int  // of the inserted steps, so far
	step    step // the current step
	pending bool // the current step is not reported yet: it may come from the cache
	tail    []string
}

// step is a line of the Dockerfile as the builder announces it.
type step struct {
	n, of int
	text  string
}

func (s step) String() string {
	if s.text == "" {
		return ""
	}
	return fmt.Sprintf("step %d/%d, %s", s.n, s.of, s.text)
}

var (
	stepLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Step (\d+)/(\d+) : (.*)$`) })
	colour   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })
)

// see handles one message.
func (l *buildLog) see(m message) {
	if m.Status != "" { // about a base image that is being pulled
		if strings.HasPrefix(m.Status, "Pulling from ") {
			l.announce("pulling " + l.step.base())
		}
		return
	}
	for line := range strings.Lines(m.Stream) {
		l.line(strings.TrimRight(line, "\r\n"))
	}
}

func (l *buildLog) line(text string) {
	if m := stepLine().FindStringSubmatch(text); m != nil {
		l.next(m)
		return
	}
	text = colour().ReplaceAllString(text, "") // the builder marks stderr so
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return
	case trimmed == "---> Using cache":
		l.pending = false
	case strings.HasPrefix(text, " ---> "), strings.HasPrefix(text, "Removing intermediate container "):
		l.flush()
	default:
		l.flush()
		l.tail = append(l.tail, text)
		l.tail = l.tail[max(0, len(l.tail)-tailLines):]
	}
}

// next begins a step, numbered without the inserted ones.
func (l *buildLog) next(m []string) {
	n, _ := strconv.Atoi(m[1])
	of, _ := strconv.Atoi(m[2])
	total := of - l.ours - l.added
	l.tail = nil
	if l.ours > 0 && strings.TrimSpace(m[3]) == l.label {
		l.seen++
		l.pending = false
		return
	}
	text := strings.Join(strings.Fields(m[3]), " ")
	if base, ok := stageBase(text); ok && l.want.Build != nil {
		text = strings.Replace(text, base, l.file.resolve(base, l.want.Build.Args), 1)
	}
	l.step = step{n - l.seen, total, clip(text, 100)}
	l.pending = l.step.n <= total && l.step.takesTime()
}

// takesTime is false for instructions that only give names.
func (s step) takesTime() bool {
	word, _, _ := strings.Cut(strings.ToUpper(s.text), " ")
	return word != "FROM" && word != "ARG"
}

// base is the image of a FROM.
func (s step) base() string {
	if base, ok := stageBase(s.text); ok && base != "" {
		return base
	}
	return "an image"
}

// flush reports the current step, which does not come from the cache.
func (l *buildLog) flush() {
	if l.pending {
		l.pending = false
		l.announce(fmt.Sprintf("step %d/%d: %s", l.step.n, l.step.of, l.step.text))
	}
}

func (l *buildLog) announce(line string) {
	if !l.started {
		l.started = true
		l.say(l.want.Name, "building "+l.want.Ref)
	}
	l.say(l.want.Name, line)
}

func (l *buildLog) done() {
	if l.started {
		l.say(l.want.Name, "built "+l.want.Ref)
	}
}

var exitCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^The command '.*' returned a non-zero code: (\d+)$`)
})

// failure is the error of the build.
func (l *buildLog) failure(s *Store, text string) error {
	fault := FaultStep
	switch base, isBase := stageBase(l.step.text); {
	case l.file.wantsBuildKit(text):
		fault = FaultBuildKit
	case l.step.text == "":
		fault = FaultDockerfile
	case isBase:
		fault, text = FaultBase, s.pullReason(errors.New(text), base)
	}
	if m := exitCode().FindStringSubmatch(text); m != nil {
		text = "exit code " + m[1]
	}
	return faulty(fault, buildFailure(l.step.String(), text, l.tail))
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
