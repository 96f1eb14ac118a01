package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// maxLine bounds a line: an artefact's payload of 10 MiB, each byte of which may
// take six, and the other fields.
const maxLine = 256 << 20

// lineWriter writes lines, counts them and takes their digest.
type lineWriter struct {
	out    *bufio.Writer
	digest hash.Hash
	enc    *json.Encoder
	counts Counts
}

// NewLineWriter returns a writer of lines to w.
func NewLineWriter(w io.Writer) *lineWriter { //nolint:revive // tests call its methods only
	l := &lineWriter{out: bufio.NewWriterSize(w, 1<<20), digest: sha256.New()}
	l.enc = json.NewEncoder(io.MultiWriter(l.out, l.digest))
	l.enc.SetEscapeHTML(false)
	return l
}

// Write writes a line of a kind.
func (l *lineWriter) Write(kind string, line any) error {
	l.counts.Count(kind)
	return l.enc.Encode(line)
}

// raw writes a line as it was spooled.
func (l *lineWriter) raw(kind string, line []byte) error {
	l.counts.Count(kind)
	_, _ = l.digest.Write(line)
	_, err := l.out.Write(line)
	return err
}

// Close writes the footer.
func (l *lineWriter) Close() error {
	sum := hex.EncodeToString(l.digest.Sum(nil))
	if err := l.enc.Encode(FooterLine{lineFooter, l.counts, sum}); err != nil {
		return err
	}
	return l.out.Flush()
}

// lineReader reads lines, the newline with each, and takes their digest. A line is
// valid until the next is read.
type lineReader struct {
	in     *bufio.Reader
	digest hash.Hash
	line   []byte
	number int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 1<<20), digest: sha256.New()}
}

var errLongLine = errors.New("the line is too long")

// next returns the next line; io.EOF at the end, io.ErrUnexpectedEOF when that
// comes within a line.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.line) > 8<<20 {
		l.line = nil // one large payload is no reason to keep its room for ever
	}
	l.line = l.line[:0]
	l.number++
	for {
		part, err := l.in.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case err == nil:
			return l.line, nil
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(l.line) > maxLine:
			return nil, errLongLine
		}
	}
}

// accept adds the line that was read to the digest.
func (l *lineReader) accept() { _, _ = l.digest.Write(l.line) }

func (l *lineReader) sum() string { return hex.EncodeToString(l.digest.Sum(nil)) }

// spool keeps lines on disk, in a file without a name, until they are read back in
// order.
type spool struct {
	file  *os.File
	lines *lineWriter
	back  *lineReader
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "sett-export-*")
	if err != nil {
		return nil, &SpoolError{err}
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("remove temporary file: %w", err)
	}
	return &spool{file: f, lines: NewLineWriter(spoolFile{f})}, nil
}

// SpoolError says that the temporary files of an export, in the directory for such, cannot be written.
type SpoolError struct{ Err error }

func (e *SpoolError) Error() string { return "write temporary file: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SpoolError) Unwrap() error { return e.Err }

// spoolFile is the file of a spool. Its errors are told from those of the export's own file.
type spoolFile struct{ *os.File }

func (f spoolFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err != nil {
		err = &SpoolError{err}
	}
	return n, err
}

// rewind begins to read the lines that were written.
func (s *spool) rewind() error {
	if err := s.lines.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read temporary file: %w", err)
	}
	s.back = newLineReader(s.file)
	return nil
}

func (s *spool) close() { _ = s.file.Close() }
