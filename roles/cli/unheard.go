package cli

import (
	"errors"
	"io"
	"regexp"
	"syscall"

	"sett/roles/role"
)

// changing are the commands that finish their work when the reader of their output
// goes away, as in `sett up | head -1`.
var changing = regexp.MustCompile(`^(up|down|restart|forage|land|answer|approve|reject|review|cancel|retry|init|ledger import)\b`)

// unheard returns a writer that drops the output for a reader that went away. A
// terminal stays as it is.
func unheard(w io.Writer) io.Writer {
	if role.IsTerminal(w) {
		return w
	}
	return unheardWriter{w}
}

type unheardWriter struct{ io.Writer }

// Write writes to a reader that may be gone.
func (u unheardWriter) Write(b []byte) (int, error) {
	n, err := u.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return len(b), nil
	}
	return n, err
}
