package process

import (
	"io"
	"os"
	"strings"
)

// What Exit.Tail holds at most.
const (
	tailLines = 20
	tailBytes = 8 << 10
)

// tail returns the last lines that this start of the unit wrote.
func (r *Runtime) tail(rec record) string {
	f, err := os.Open(r.logPath(rec.Name))
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	from := rec.LogOffset
	if from > st.Size() {
		from = 0 // truncated meanwhile
	}
	cut := st.Size()-tailBytes > from
	from = max(from, st.Size()-tailBytes)
	off, _, err := lastLines(f, from, st.Size(), tailLines)
	if err != nil {
		return ""
	}
	buf := make([]byte, st.Size()-off)
	n, _ := f.ReadAt(buf, off)
	text := string(buf[:n])
	if cut && off == from { // in the middle of a line
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return strings.ToValidUTF8(strings.TrimSuffix(text, "\n"), "\uFFFD")
}

// lastLines finds where the last n lines between from and size begin, and how
// many there are. A last line without line feed counts.
func lastLines(f io.ReaderAt, from, size int64, n int) (off int64, found int, err error) {
	if n <= 0 || size <= from {
		return size, 0, nil
	}
	buf := make([]byte, 64<<10)
	for end := size; end > from; {
		begin := max(from, end-int64(len(buf)))
		b := buf[:end-begin]
		if _, err := f.ReadAt(b, begin); err != nil && err != io.EOF {
			return 0, 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != '\n' || begin+int64(i) == size-1 {
				continue
			}
			if found++; found == n {
				return begin + int64(i) + 1, n, nil
			}
		}
		end = begin
	}
	return from, found + 1, nil
}
