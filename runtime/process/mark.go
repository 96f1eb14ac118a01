package process

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sett/runtime"
)

// markWord begins the first argument of each unit's main process.
const markWord = "sett unit "

// markLabels are the labels that the first argument has: those that are needed to stop
// a unit, and to name its instance, when the state directory is gone.
var markLabels = []string{runtime.LabelInstance, runtime.LabelComponent, runtime.LabelAgent, runtime.LabelWorkspace}

// mark is the text by which a process says to which start of which unit it belongs. It
// is the value of MarkerEnv and, with labels, the first argument of the main process:
// every user may read that, also of a process that hides its environment.
type mark struct {
	instance, name, token string
	labels                runtime.Labels
}

// marker is the value of MarkerEnv.
func (m mark) marker() string { return m.instance + "/" + m.name + "/" + m.token }

// argument is the first argument of the main process.
func (m mark) argument() string {
	text := markWord + m.marker()
	for _, label := range markLabels {
		if v := m.labels[label]; v != "" {
			text += " " + label + "=" + (&url.URL{Path: v}).EscapedPath()
		}
	}
	return text
}

// readMarker reads a value of MarkerEnv.
func readMarker(text string) (m mark, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || runtime.CheckName(parts[1]) != nil {
		return mark{}, false
	}
	m = mark{instance: parts[0], name: parts[1], token: parts[2]}
	return m, m.instance != "" && m.token != ""
}

// readArgument reads a first argument. It takes nothing but the exact text that argument
// writes.
func readArgument(text string) (m mark, ok bool) {
	rest, is := strings.CutPrefix(text, markWord)
	if !is {
		return mark{}, false
	}
	fields := strings.Split(rest, " ")
	if m, ok = readMarker(fields[0]); !ok {
		return mark{}, false
	}
	m.labels = runtime.Labels{}
	for _, field := range fields[1:] {
		label, value, _ := strings.Cut(field, "=")
		if value, err := url.PathUnescape(value); err == nil && slices.Contains(markLabels, label) {
			m.labels[label] = value
		}
	}
	return m, m.argument() == text
}

// instanceOf is the instance's name in marks: the directory's, and a digest of its path.
// The digest is the same for every spelling of the path, as far as the parents exist.
func instanceOf(dir string) string {
	sum := digestOf(dir)
	return url.PathEscape(filepath.Base(dir)) + "@" + hex.EncodeToString(sum[:8])
}

// instanceIn is the directory below root that a mark names; empty: it names another one.
func instanceIn(root string, m mark) (dir string) {
	name, _, _ := strings.Cut(m.instance, "@")
	if name, err := url.PathUnescape(name); err == nil && runtime.CheckName(name) == nil {
		if dir = filepath.Join(root, name); instanceOf(dir) == m.instance {
			return dir
		}
	}
	return ""
}

// marked is a process with a mark.
type marked struct {
	ident
	mark
	main bool // it is the main process of its unit
}

// strays are the units of the marked processes, sorted by name.
func strays(all []marked) []runtime.Unit {
	byName := map[string]runtime.Unit{}
	for _, m := range all {
		if _, known := byName[m.name]; !known || m.main {
			byName[m.name] = runtime.Unit{Name: m.name, ID: strconv.Itoa(m.PID), Labels: m.labels, Running: true}
		}
	}
	var units []runtime.Unit
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		units = append(units, byName[name])
	}
	return units
}

// Strays returns the units of this instance of which processes run, as the processes'
// own marks tell. It needs no record and no state directory; labels are those of the
// first argument alone.
func (r *Runtime) Strays(context.Context) ([]runtime.Unit, error) {
	all, err := markedProcesses(func(m mark) bool { return m.instance == r.instance })
	return strays(all), err
}

// Instance is an instance of which units run.
type Instance struct {
	Dir       string // its state directory, which may be gone
	Workspace string // empty: unknown
}

// Instances returns the instances with state directories below root of which units run,
// as the processes' own marks tell, sorted.
func Instances(root string) ([]Instance, error) {
	all, err := markedProcesses(func(m mark) bool { return instanceIn(root, m) != "" })
	if err != nil {
		return nil, err
	}
	workspaces := map[string]string{}
	for _, m := range all {
		if dir := instanceIn(root, m.mark); m.main {
			workspaces[dir] = cmp.Or(workspaces[dir], m.labels[runtime.LabelWorkspace])
		}
	}
	var out []Instance
	for _, dir := range slices.Sorted(maps.Keys(workspaces)) {
		out = append(out, Instance{dir, workspaces[dir]})
	}
	return out, nil
}

// Variable returns the environment variable that marks a process, and all that inherit it, as
// of this instance without being a unit's.
func (r *Runtime) Variable(name string) string { return MarkerEnv + "=" + r.marker(name, "0") }

// Sweep kills all processes of this instance that have the mark, and returns when none is left. On other systems
// than Linux it finds none.
func (r *Runtime) Sweep(ctx context.Context) error {
	return sweep(ctx, target{marker: r.instance + "/"})
}

// main returns the main process of the unit; token: of that start, or empty for any.
func (r *Runtime) main(name, token string) (marked, bool, error) {
	all, err := markedProcesses(func(m mark) bool {
		return m.instance == r.instance && m.name == name && (token == "" || m.token == token)
	})
	for _, m := range all {
		if m.main {
			return m, true, err
		}
	}
	return marked{}, false, err
}
