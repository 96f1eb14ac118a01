// Package agents holds the agents that sett init writes, as files, which it copies into a
// workspace. None of it runs inside sett.
package agents

import (
	"embed"
	"strings"
)

// Init has the files of sett init: sett.yml, and example-agent/ for the folder
// agents/ of the workspace.
//
//go:embed sett.yml example-agent
var Init embed.FS

// Examples has the files of sett init --example: for each kind KIND.yml, with agents as
// they stand under agents: in sett.yml, the programs that they run, and for some a page
// KIND.md.
//
//go:embed examples
var Examples embed.FS

// Example returns the agents of an example. Model is the name in sett.yml of the model that they ask.
func Example(kind, model string) (string, error) {
	text, err := Examples.ReadFile("examples/" + kind + ".yml")
	return strings.ReplaceAll(string(text), "model: MODEL", "model: "+model), err
}

// Indented puts the indent before each line that has text.
func Indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}
