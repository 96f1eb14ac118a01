package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
)

// logLine is a line that a container wrote, or a piece of a very long one.
type logLine struct {
	at   time.Time
	text []byte // with its line feed, if it has one; good until the next
	from int    // 1 stdout, 2 stderr
}

// maxFrame bounds what the engine is believed about the length of a line: its own
// pieces have 16 KiB.
const maxFrame = 1 << 20

// newest returns the last n lines that the container wrote since a time, or some
// more. The engine counts the pieces of long lines, so it is asked for more, and
// for more again should that not do.
func (r *Runtime) newest(ctx context.Context, id, since string, n int) ([]logLine, error) {
	for ask := 2*n + 8; ; ask *= 4 {
		var all []logLine
		pieces, err := r.lines(ctx, id, container.LogsOptions{Since: since, Tail: strconv.Itoa(ask)}, func(l logLine) error {
			l.text = bytes.Clone(l.text)
			all = append(all, l)
			return nil
		})
		if err != nil || pieces < ask { // that is all there is
			return all, err
		}
		// Of each stream, the first line may lack its beginning.
		for _, from := range []int{1, 2} {
			if i := slices.IndexFunc(all, func(l logLine) bool { return l.from == from }); i >= 0 {
				all = slices.Delete(all, i, i+1)
			}
		}
		if len(all) >= n {
			return all, nil
		}
	}
}

// lines gives what the container wrote, each line whole although stdout and stderr
// come in pieces between each other, and says how many pieces these were.
func (r *Runtime) lines(ctx context.Context, id string, o container.LogsOptions, each func(logLine) error) (pieces int, err error) {
	o.ShowStdout, o.ShowStderr, o.Timestamps = true, true, true
	body, err := r.e.api.ContainerLogs(ctx, id, o)
	if err != nil {
		return 0, plain(err)
	}
	defer body.Close()
	var partial [3][]byte // by stream: stdin, which there is none of, stdout, stderr
	for {
		from, frame, err := readFrame(body)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return pieces, plain(err)
		}
		pieces++
		at, text := cutStamp(frame)
		partial[from] = append(partial[from], text...)
		if !bytes.HasSuffix(text, []byte("\n")) && len(partial[from]) < maxFrame {
			continue
		}
		if err := each(logLine{at, partial[from], from}); err != nil {
			return pieces, err
		}
		partial[from] = partial[from][:0]
	}
	for from, rest := range partial {
		if len(rest) > 0 {
			if err := each(logLine{text: rest, from: from}); err != nil {
				return pieces, err
			}
		}
	}
	return pieces, nil
}

// readFrame reads one piece of the engine's stream, which stdout and stderr share.
func readFrame(in io.Reader) (from int, frame []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint32(head[4])<<24 | uint32(head[5])<<16 | uint32(head[6])<<8 | uint32(head[7])
	if head[0] > 2 || size > maxFrame {
		return 0, nil, errors.New("the engine's log is not what it should be")
	}
	frame = make([]byte, size)
	if _, err := io.ReadFull(in, frame); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return int(head[0]), frame, nil
}

// cutStamp takes the engine's time off a frame.
func cutStamp(frame []byte) (time.Time, []byte) {
	word, text, ok := bytes.Cut(frame, []byte(" "))
	if !ok {
		return time.Time{}, frame
	}
	at, err := time.Parse(time.RFC3339Nano, string(word))
	if err != nil {
		return time.Time{}, frame
	}
	return at, text
}
