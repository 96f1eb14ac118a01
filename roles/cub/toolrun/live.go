package toolrun

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Bounds of the live copy of an output.
const (
	liveChunks   = 32          // reads of at most readSize bytes that may wait for the writer
	liveLine     = 64 << 10    // longest line passed on in one piece, in bytes
	livePatience = time.Second // for the writer, at the end of the run
)

// live copies an output to a writer that may be slow. The queue in between is
// bounded; once it is full, and until it is empty, output is left out of the copy and
// counted, save for its last lines: a tool must not stand still for a log, and the
// run's clock must go on. A tool that is silent costs no goroutine.
type live struct {
	chunks chan []byte
	free   chan []byte // chunks to be used again: a flood leaves no garbage
	done   chan struct{}

	mu   sync.Mutex
	late tail  // the last of the output that had no room in the queue
	size int64 // all of that
}

// write passes a copy of b on, or keeps the last of it for later.
func (l *live) write(w io.Writer, b []byte) {
	if l.chunks == nil {
		l.chunks, l.free, l.done = make(chan []byte, liveChunks), make(chan []byte, liveChunks), make(chan struct{})
		go l.copy(w)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 || len(l.chunks) == liveChunks { // only this goroutine adds to them
		l.late.add(b)
		l.size += int64(len(b))
		return
	}
	var chunk []byte
	select {
	case chunk = <-l.free:
	default:
	}
	l.chunks <- append(chunk[:0], b...)
}

// takeLate returns the last whole lines of the output that had no room, once the queue
// is empty, and the number of bytes left out before them.
func (l *live) takeLate() (left int64, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size == 0 || len(l.chunks) > 0 {
		return 0, nil
	}
	text = l.late.text()
	left = l.size - int64(len(text))
	if n := bytes.IndexByte(text, '\n') + 1; left > 0 && n < len(text) {
		text, left = text[n:], left+int64(n)
	}
	l.late.at, l.late.ring, l.size = 0, l.late.ring[:0], 0
	return left, text
}

// closeLive waits until the writers have everything, but not long: a writer that blocks
// for ever keeps its goroutine and nothing else.
func closeLive(all ...*live) {
	var timer *time.Timer
	for _, l := range all {
		if l.chunks == nil {
			continue
		}
		close(l.chunks)
		if timer == nil {
			timer = time.NewTimer(livePatience)
			defer timer.Stop()
		}
	}
	for _, l := range all {
		if l.chunks == nil {
			continue
		}
		select {
		case <-l.done:
		case <-timer.C:
			return
		}
	}
}

// copy writes line by line. Errors of the writer are its own affair: the run's
// Result holds the output in any case.
func (l *live) copy(w io.Writer) {
	defer close(l.done)
	var pending []byte // the beginning of a line
	flush := func() {
		if len(pending) > 0 {
			_, _ = w.Write(pending)
			pending = pending[:0]
		}
	}
	write := func(text []byte) {
		for len(text) > 0 {
			n := bytes.IndexByte(text, '\n') + 1
			if n == 0 {
				n = len(text)
			}
			n = min(n, liveLine-len(pending))
			pending = append(pending, text[:n]...)
			text = text[n:]
			if pending[len(pending)-1] == '\n' || len(pending) == liveLine {
				flush()
			}
		}
	}
	catchUp := func() {
		left, text := l.takeLate()
		if left > 0 {
			flush()
			_, _ = io.WriteString(w, Gap(left, "the log was slower than the tool"))
		}
		write(text)
	}
	for chunk := range l.chunks {
		write(chunk)
		select {
		case l.free <- chunk:
		default:
		}
		catchUp()
	}
	catchUp()
	flush()
}
