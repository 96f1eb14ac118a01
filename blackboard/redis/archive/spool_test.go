package archive

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A disk that is full for the temporary files of an export is told from that of the export's own file.
func TestSpoolError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no device that is full")
	}
	s := &spool{file: full, lines: NewLineWriter(spoolFile{full})}
	defer s.close()
	err = errors.Join(s.lines.Write("note", "text"), s.rewind())
	if of := (*SpoolError)(nil); !errors.As(err, &of) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
}
