package starter

import (
	"fmt"
	"strings"

	"sett/agents"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// Extend adds agents to the text of a sett.yml, and leaves all else as it is. The agents
// stand as under agents:, without indentation.
func Extend(source, block string) (string, error) {
	lines := strings.SplitAfter(source, "\n")
	begin, end := agentsOf(lines)
	if begin < 0 {
		return "", role.Fail(role.Usage, fmt.Errorf("%s has no list of agents with a line of its own", instance.ConfigName),
			"add this by hand:\n%s", agents.Indented(block, "  "))
	}
	indent := "  "
	for _, line := range lines[begin:end] {
		if text := strings.TrimLeft(line, " "); text != line && !blank(line) {
			indent = line[:len(line)-len(text)]
			break
		}
	}
	added := agents.Indented(block, indent)
	if end > begin {
		added = "\n" + added
		if !strings.HasSuffix(lines[end-1], "\n") {
			added = "\n" + added
		}
	}
	if end < len(lines) && lines[end] != "" && !blank(lines[end]) {
		added += "\n"
	}
	return strings.Join(lines[:end], "") + added + strings.Join(lines[end:], ""), nil
}

// agentsOf returns the lines below agents:, without blank lines and comments of the top
// level at the end.
// begin is -1 where there is no such line.
func agentsOf(lines []string) (begin, end int) {
	begin = -1
	for i, line := range lines {
		text := strings.TrimRight(strings.SplitN(line, " #", 2)[0], " \r\n")
		switch {
		case begin < 0 && text == "agents:":
			begin, end = i+1, i+1
		case begin < 0 || line == "":
		case line[0] != ' ' && !blank(line):
			return begin, end
		case line[0] == ' ' && strings.TrimSpace(line) != "": // a comment there is the last agent's
			end = i + 1
		}
	}
	return begin, end
}

// blank says whether a line has nothing, or a comment.
func blank(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || text[0] == '#'
}
