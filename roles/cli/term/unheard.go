package term

import (
	"errors"
	"io"
	"syscall"

	"sett/roles/role"
)

// Unheard returns a writer that drops the output for a reader that went away. A
// terminal stays as it is.
func Unheard(w io.Writer) io.Writer {
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
