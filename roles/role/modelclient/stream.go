package modelclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxAnswer is the longest answer that is read, in bytes of the stream: less than the gateway
// passes on, which can only cut a longer one, without a reason.
const MaxAnswer = 32 << 20

// bounded reads at most so many bytes; then it fails with ErrTooLarge.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}

// events reads server-sent events (the HTML standard, section 9.2) and hands each one's data on, until
// each says that it was the last. A stream that ends before is cut.
func events(from io.Reader, each func(data []byte) (last bool, err error)) error {
	r := bufio.NewReaderSize(&bounded{from, MaxAnswer}, 64<<10)
	var data []byte
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case errors.Is(err, ErrTooLarge):
			return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, int64(MaxAnswer))
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the stream ended before its last event", ErrCut)
		case err != nil:
			return fmt.Errorf("%w: %w", ErrCut, err)
		}
		text := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if len(text) == 0 && len(data) > 0 {
			if last, err := each(data); last || err != nil {
				return err
			}
			data = data[:0]
		}
		line = line[:0]
	}
}
