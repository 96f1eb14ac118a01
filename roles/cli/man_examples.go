package cli

import "strings"

// splitExamples parts a command's help into what it says and the lines of its
// examples, which come last: after "Example:" or "Examples:", on the same line or on
// those that follow, without the space that lays them out.
func splitExamples(help string) (about string, examples []string) {
	lines := strings.Split(strings.TrimSpace(help), "\n")
	for i, line := range lines {
		for _, head := range []string{"Example:", "Examples:"} {
			rest, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			for _, example := range append([]string{rest}, lines[i+1:]...) {
				if example = strings.TrimSpace(example); example != "" {
					examples = append(examples, example)
				}
			}
			return strings.TrimSpace(strings.Join(lines[:i], "\n")), examples
		}
	}
	return strings.TrimSpace(help), nil
}
