package docker

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// dockerfile is one with a label in each of its stages. Only so does what a build
// leaves behind, with success or without, have a name by which it is found: the
// builder puts labels that it is told on the last stage alone.
type dockerfile struct {
	text     []byte
	inserted []int             // lines of the original, from 1, after which the label stands
	from     []string          // what the stages are based on, as written
	stages   []string          // the names of stages that have one
	args     map[string]string // what stands before the first stage, with its defaults
}

var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$`)
})

// labelStages puts the label after each FROM. An empty label changes nothing.
//
// It has to know where instructions begin, no more. In doubt a line goes on the one
// before it: a stage without a label is litter, a label within an instruction an
// error.
func labelStages(text []byte, label string) dockerfile {
	d := dockerfile{args: map[string]string{}}
	var out bytes.Buffer
	escape := `\`
	atTop, inside, isFrom := true, false, false
	number := 0
	for line := range bytes.Lines(text) {
		number++
		out.Write(line)
		plainLine := strings.TrimRight(string(line), "\r\n")
		if number == 1 {
			plainLine = strings.TrimPrefix(plainLine, "\ufeff")
		}
		trimmed := strings.TrimSpace(plainLine)
		if atTop {
			m := directive().FindStringSubmatch(trimmed)
			if m != nil && strings.EqualFold(m[1], "escape") && (m[2] == `\` || m[2] == "`") {
				escape = m[2]
			}
			atTop = m != nil
		}
		if trimmed == "" || trimmed[0] == '#' {
			continue // a comment or nothing, also between the lines of an instruction
		}
		if !inside {
			base, ok := stageBase(trimmed)
			isFrom = ok
			if ok {
				d.from = append(d.from, base)
				d.name(trimmed)
			} else if len(d.from) == 0 {
				d.declare(trimmed)
			}
		}
		inside = strings.HasSuffix(strings.TrimRight(plainLine, " \t"), escape)
		if isFrom && !inside && label != "" {
			if !bytes.HasSuffix(line, []byte("\n")) {
				out.WriteByte('\n')
			}
			out.WriteString("LABEL " + label + "\n")
			d.inserted = append(d.inserted, number)
		}
	}
	d.text = out.Bytes()
	return d
}

// name takes note of the name that a FROM gives its stage.
func (d *dockerfile) name(instruction string) {
	words := strings.Fields(instruction)
	if n := len(words); n > 3 && strings.EqualFold(words[n-2], "AS") {
		d.stages = append(d.stages, words[n-1])
	}
}

// bases are the images that the stages are based on, each once: neither other stages,
// nor nothing (scratch), nor what depends on an argument without a value.
func (d dockerfile) bases(given map[string]string) []string {
	var all []string
	for _, from := range d.from {
		base := d.resolve(from, given)
		ref, err := normalReference(base)
		stage := slices.ContainsFunc(d.stages, func(s string) bool { return strings.EqualFold(s, base) })
		if err != nil || base == "scratch" || stage || slices.Contains(all, ref) {
			continue
		}
		all = append(all, ref)
	}
	return all
}

// declare takes note of the arguments of an ARG, which a base may be named by.
func (d dockerfile) declare(instruction string) {
	words := strings.Fields(instruction)
	if !strings.EqualFold(words[0], "ARG") {
		return
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		d.args[name] = strings.Trim(value, `"'`)
	}
}

// resolve puts the arguments into the name of a base, for people and for the login
// that it may need; the builder does so itself.
func (d dockerfile) resolve(base string, given map[string]string) string {
	return os.Expand(base, func(variable string) string {
		name, otherwise, _ := strings.Cut(variable, ":-")
		value, declared := d.args[name]
		if v, ok := given[name]; ok && declared {
			value = v
		}
		if value == "" {
			return otherwise
		}
		return value
	})
}

// stageBase returns the image that an instruction makes the base of a stage; false
// for other instructions.
func stageBase(instruction string) (string, bool) {
	words := strings.Fields(instruction)
	if len(words) == 0 || !strings.EqualFold(words[0], "FROM") {
		return "", false
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "--") {
			return w, true
		}
	}
	return "", true
}

var lineNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bline (\d+)`) })

// original puts the line numbers of an error back to those of the original.
func (d dockerfile) original(text string) string {
	return lineNumber().ReplaceAllStringFunc(text, func(found string) string {
		word, digits, _ := strings.Cut(found, " ")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return found
		}
		for i := len(d.inserted) - 1; i >= 0; i-- {
			if d.inserted[i]+i < n { // before it i others were put in
				return word + " " + strconv.Itoa(n-i-1)
			}
		}
		return found
	})
}
