package embedded

import (
	"errors"
	"fmt"
	"syscall"
)

// room is the number of bytes that must fit before a log that was refused room takes writes again. Otherwise small
// writes would be taken and larger ones refused, in turns, until the last byte.
const room = 256 << 10

// isFull says whether an error comes of a disk, a quota or a file that may not grow.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// awaitRoom fails while the log has no room. It tries with zeros, which a start after a crash cuts off, and which
// are gone when it returns.
func (l *logFile) awaitRoom() error {
	if !l.full {
		return nil
	}
	if err := l.write(make([]byte, room)); err != nil {
		return err
	}
	l.broken = true
	if err := l.cut(); err != nil {
		return err
	}
	l.broken, l.full = false, false
	return nil
}

// noRoom adds to the error of a full disk how the log goes on.
func noRoom(err error) error {
	return fmt.Errorf("%w (writes go on once %d KiB fit)", err, room>>10)
}
