package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime/docker/engine"
)

// logLine is a line that a container wrote, or a piece of a very long line.
type logLine struct {
	at   time.Time
	text []byte // with its line feed, if it has one; valid until the next line
	from int    // 1 stdout, 2 stderr
}

// maxFrame bounds the length of a piece that is believed. The engine's own pieces have
// 16 KiB.
const maxFrame = 1 << 20

// newest returns the last n lines that the container wrote since a time, or some
// more. The engine counts the pieces of long lines, so newest asks for more than n,
// and again for more if these are not enough.
func (u *units) newest(ctx context.Context, id, since string, n int) ([]logLine, error) {
	for ask := 2*n + 8; ; ask *= 4 {
		var all []logLine
		pieces, err := u.lines(ctx, id, container.LogsOptions{Since: since, Tail: strconv.Itoa(ask)}, func(l logLine) error {
			l.text = bytes.Clone(l.text)
			all = append(all, l)
			return nil
		})
		if err != nil || pieces < ask { // there are no more
			return all, err
		}
		// The first line of each stream may lack its beginning.
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

// lines passes on every line that the container wrote, whole although the pieces of
// stdout and stderr alternate, and returns the number of pieces.
func (u *units) lines(ctx context.Context, id string, o container.LogsOptions, each func(logLine) error) (pieces int, err error) {
	o.ShowStdout, o.ShowStderr, o.Timestamps = true, true, true
	body, err := u.api.ContainerLogs(ctx, id, o)
	if err != nil {
		return 0, engine.Plain(err)
	}
	defer body.Close()
	var partial [3][]byte // by stream: stdin, which has none, stdout, stderr
	var stamps [3]time.Time
	for {
		from, frame, err := readFrame(body)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return pieces, engine.Plain(err)
		}
		pieces++
		at, text := cutStamp(frame)
		partial[from], stamps[from] = append(partial[from], text...), at
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
			if err := each(logLine{stamps[from], rest, from}); err != nil {
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
	size := binary.BigEndian.Uint32(head[4:])
	if head[0] > 2 || size > maxFrame {
		return 0, nil, errors.New("the engine's log has an unknown form")
	}
	frame = make([]byte, size)
	if _, err := io.ReadFull(in, frame); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return int(head[0]), frame, nil
}

// cutStamp cuts the engine's time off a frame.
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

// stamp is a time as the engine reads it.
func stamp(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }
