package toolrun

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Bounds of the live copy of an output.
const (
	liveChunks   = 32          // reads of at most readSize bytes that may wait for the writer
	liveLine     = 64 << 10    // longest line passed on in one piece, in bytes
	livePatience = time.Second // for the writer, at the end of the run
)

// live copies an output to a writer that may be slow. The queue in between is
// bounded; when it is full, output is left out of the copy and counted, because a
// tool must not stand still for a log and the run's clock must go on. A tool that
// is silent costs no goroutine.
type live struct {
	chunks  chan []byte
	free    chan []byte // chunks to be used again: a flood leaves no garbage
	done    chan struct{}
	dropped atomic.Int64 // bytes left out since the writer was last told
}

// write passes a copy of b on, or counts it as dropped.
func (l *live) write(w io.Writer, b []byte) {
	if l.chunks == nil {
		l.chunks, l.free, l.done = make(chan []byte, liveChunks), make(chan []byte, liveChunks), make(chan struct{})
		go l.copy(w)
	}
	if len(l.chunks) == liveChunks { // only this goroutine adds to them
		l.dropped.Add(int64(len(b)))
		return
	}
	var chunk []byte
	select {
	case chunk = <-l.free:
	default:
	}
	l.chunks <- append(chunk[:0], b...)
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
// Result holds stderr in any case.
func (l *live) copy(w io.Writer) {
	defer close(l.done)
	var pending []byte // the beginning of a line
	flush := func() {
		if len(pending) > 0 {
			_, _ = w.Write(pending)
			pending = pending[:0]
		}
	}
	for whole := range l.chunks {
		for chunk := whole; len(chunk) > 0; {
			n := bytes.IndexByte(chunk, '\n') + 1
			if n == 0 {
				n = len(chunk)
			}
			n = min(n, liveLine-len(pending))
			pending = append(pending, chunk[:n]...)
			chunk = chunk[n:]
			if pending[len(pending)-1] == '\n' || len(pending) == liveLine {
				flush()
			}
		}
		select {
		case l.free <- whole:
		default:
		}
		if len(l.chunks) == 0 {
			l.tell(w, flush)
		}
	}
	l.tell(w, flush)
	flush()
}

// tell writes how much was left out, if anything was.
func (l *live) tell(w io.Writer, flush func()) {
	if n := l.dropped.Swap(0); n > 0 {
		flush()
		_, _ = fmt.Fprintf(w, "[%d bytes left out here: the log was slower than the tool]\n", n)
	}
}
