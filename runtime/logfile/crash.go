package logfile

import "strings"

// WithoutTraces leaves the stack traces of Go programs out of the lines of a log. Of a crash the line with
// its reason stays, and the lines of Go's runtime before it, which say more.
func WithoutTraces[L any](lines []L, text func(L) string) []L {
	var out []L
	crashed := false
	for i, l := range lines {
		switch t := text(l); {
		case IsCrash(t), isOwn(t):
			crashed = IsCrash(t)
		case !crashed:
		case !leadsToCrash(lines[i:], text):
			continue
		}
		out = append(out, l)
	}
	return out
}

// IsCrash says whether a Go program ended with this line, but for its stack trace.
func IsCrash(line string) bool {
	return strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ")
}

// IsBeforeCrash says whether the line is one that Go's runtime writes before a crash.
func IsBeforeCrash(line string) bool { return strings.HasPrefix(line, "runtime: ") }

// isOwn says whether a part of sett wrote the line itself.
func isOwn(line string) bool {
	return strings.HasPrefix(line, "{") || strings.HasPrefix(line, "sett: ")
}

// leadsToCrash says whether lines of the runtime stand here, and a crash right behind them: that of the next
// run. Within a trace such lines explain the trace.
func leadsToCrash[L any](lines []L, text func(L) string) bool {
	for i, l := range lines {
		if t := text(l); !IsBeforeCrash(t) {
			return i > 0 && IsCrash(t)
		}
	}
	return false
}
