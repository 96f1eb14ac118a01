package act

import (
	"bytes"
	"strings"
)

// Lines hands on each whole line of a command that writes lines without end.
type Lines struct {
	Each func(line []byte) error
	rest []byte // an unfinished line
}

// Write takes text.
func (l *Lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		if err := l.Each(line); err != nil {
			return 0, err
		}
		l.rest = append([]byte(nil), rest...)
	}
}

// The names of messages of a command that follows the ledger.
const (
	Away = "away" // the blackboard is lost
	Back = "back" // and is found again
	Note = "note" // anything else
)

// Message hands on each message of a command that follows the ledger.
type Message func(name, text string) error

// Write takes a message.
func (m Message) Write(b []byte) (int, error) {
	text := strings.TrimPrefix(strings.TrimSpace(string(b)), "sett: ")
	name := Note
	switch {
	case strings.HasPrefix(text, "blackboard lost"), strings.HasSuffix(text, "waiting for sett up"):
		name = Away
	case strings.HasPrefix(text, "blackboard is back"):
		name = Back
	}
	return len(b), m(name, text)
}
