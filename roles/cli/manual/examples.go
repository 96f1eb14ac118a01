package manual

import "strings"

// SplitExamples parts a command's help into its text and the lines of its examples. These
// come last: after "Example:" or "Examples:", on the same line or the following ones,
// without their indentation.
func SplitExamples(help string) (about string, examples []string) {
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
