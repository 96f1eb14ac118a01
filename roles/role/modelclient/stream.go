package modelclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sett/roles/role/words"
)

// MaxAnswer is the longest answer that is read, in bytes of the stream: less than the gateway
// passes on, which can only cut a longer one, without a reason.
const MaxAnswer = 32 << 20

// longSilence is the time after which the end of a connection is one of a silent provider.
const longSilence = 10 * time.Second

// bounded reads at most so many bytes; then it fails with ErrTooLarge.
type bounded struct {
	from  io.Reader
	left  int64
	now   func() time.Time
	quiet time.Duration // of the last read
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	began := b.now()
	n, err := b.from.Read(p)
	b.left, b.quiet = b.left-int64(n), b.now().Sub(began)
	return n, err
}

// events reads server-sent events (the HTML standard, section 9.2) and hands each one's data on, until
// one is the last. Servers also leave out the last event, or the empty line after it: at the end of the
// stream the rest is an event, too, and an answer that is complete by then is whole. Any other is cut.
func events(from io.Reader, now func() time.Time, to reading) error {
	b := &bounded{from: from, left: MaxAnswer, now: now}
	r := bufio.NewReaderSize(b, 64<<10)
	var data []byte
	for {
		text, end := line(r)
		if errors.Is(end, ErrTooLarge) {
			return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, int64(MaxAnswer))
		}
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if (len(text) == 0 || end != nil) && len(data) > 0 {
			last, err := to.event(data)
			if end != nil && errors.Is(err, errNoJSON) {
				last, err = false, nil // half an event
			}
			if last || err != nil {
				return err
			}
			data = data[:0]
		}
		switch {
		case end == nil:
		case to.complete():
			return nil
		case b.quiet >= longSilence:
			return cut{fmt.Errorf("the provider was silent for %s, then the connection ended in the middle of the answer", words.Span(b.quiet))}
		default:
			return cut{errors.New("the connection ended in the middle of the answer")}
		}
	}
}

// line reads a line of any length, without its end. With the error comes the begin of one.
func line(r *bufio.Reader) (text []byte, err error) {
	for {
		var piece []byte
		piece, err = r.ReadSlice('\n')
		text = append(text, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(text, "\r\n"), err
		}
	}
}

// noStream is the error of an answer of another type, with its first words, if there are any.
func noStream(kind string, begin []byte) error {
	text := strings.Join(strings.Fields(string(begin)), " ")
	if text == "" {
		return fmt.Errorf("the answer is no stream of events but %q", kind)
	}
	return fmt.Errorf("the answer is no stream of events but %q: %s", kind, excerpt(text))
}
