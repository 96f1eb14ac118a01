package image

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// dockerfile is a Dockerfile with a label inserted into each of its stages. By that
// label, Purge finds the remains of a build, successful or not: the builder puts the
// labels of its options on the last stage alone.
type dockerfile struct {
	text     []byte
	inserted []int             // lines of the original, from 1, with the label after them
	from     []string          // the bases of the stages, as written
	stages   []string          // the names of named stages
	args     map[string]string // the arguments before the first stage, with their defaults
}

var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$`)
})

// labelStages inserts the label after each FROM. An empty label changes nothing.
//
// It only has to know the beginnings of instructions. In doubt, a line continues the
// one before: a stage without the label only stays behind, but a label within an
// instruction is an error.
func labelStages(text []byte, label string) dockerfile {
	d := dockerfile{args: map[string]string{}}
	var out bytes.Buffer
	escape := escapeOf(text)
	inside, isFrom := false, false
	number := 0
	for line := range bytes.Lines(text) {
		number++
		out.Write(line)
		instruction := strings.TrimSpace(string(line))
		if number == 1 {
			instruction = strings.TrimSpace(strings.TrimPrefix(string(line), "\ufeff"))
		}
		if instruction == "" || instruction[0] == '#' {
			continue // a comment or an empty line, also within an instruction
		}
		if !inside {
			isFrom = d.begin(instruction)
		}
		inside = strings.HasSuffix(instruction, escape)
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

// escapeOf returns the character that continues a line: the directives at the top of a
// Dockerfile may change it.
func escapeOf(text []byte) string {
	escape := `\`
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		m := directive().FindStringSubmatch(strings.TrimSpace(string(line)))
		if m == nil {
			break
		}
		if strings.EqualFold(m[1], "escape") && (m[2] == `\` || m[2] == "`") {
			escape = m[2]
		}
	}
	return escape
}

// begin notes the first line of an instruction, and says whether it is a FROM.
func (d *dockerfile) begin(instruction string) bool {
	base, ok := stageBase(instruction)
	if ok {
		d.from = append(d.from, base)
		d.name(instruction)
	} else if len(d.from) == 0 {
		d.declare(instruction)
	}
	return ok
}

// name notes the name that a FROM gives its stage.
func (d *dockerfile) name(instruction string) {
	words := strings.Fields(instruction)
	if n := len(words); n > 3 && strings.EqualFold(words[n-2], "AS") {
		d.stages = append(d.stages, words[n-1])
	}
}

// bases are the images that the stages are based on, each once. They do not include
// other stages, scratch, and names that depend on an argument without a value.
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

// parents are the images that the stages begin with, as far as the Dockerfile tells:
// scratch and names that depend on an argument without a value are among them, and some
// come twice.
func (d dockerfile) parents(given map[string]string) (all []string) {
	for _, from := range d.from {
		base := d.resolve(from, given)
		if slices.ContainsFunc(d.stages, func(s string) bool { return strings.EqualFold(s, base) }) {
			continue
		}
		if ref, err := normalReference(base); err == nil {
			base = ref
		}
		all = append(all, base)
	}
	return all
}

// declare notes the arguments of an ARG, which may be part of a base's name.
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

// resolve replaces the arguments in the name of a base, for messages and for its login.
// The builder does so itself.
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

// stageBase returns the image of a FROM; false for other instructions.
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

// original converts the line numbers in an error to those of the original.
func (d dockerfile) original(text string) string {
	return lineNumber().ReplaceAllStringFunc(text, func(found string) string {
		word, digits, _ := strings.Cut(found, " ")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return found
		}
		for i := len(d.inserted) - 1; i >= 0; i-- {
			if d.inserted[i]+i < n { // i labels were inserted before it
				return word + " " + strconv.Itoa(n-i-1)
			}
		}
		return found
	})
}
