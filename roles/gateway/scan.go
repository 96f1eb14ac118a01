package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// span is a part of a text.
type span struct{ from, to int }

func (s span) in(text []byte) []byte { return text[s.from:s.to] }

// Errors of a body that cannot be read.
var (
	errNoObject = errors.New("the body is no JSON object")
	errNested   = errors.New("the body is nested too deeply")
)

// mostNested bounds the objects and lists in one another.
const mostNested = 10_000

// fields finds the values of an object's own fields with one of these names, without
// reading the others. It refuses a text that two readers could understand in two ways:
// a field stands twice, or a name differs in its capitals only.
func fields(text []byte, names ...string) (map[string]span, error) {
	found := map[string]span{}
	at := space(text, 0)
	if at >= len(text) || text[at] != '{' {
		return nil, errNoObject
	}
	at = space(text, at+1)
	for first := true; ; first = false {
		if at < len(text) && text[at] == '}' && first {
			return found, ended(text, at+1)
		}
		name, next, err := fieldName(text, at)
		if err != nil {
			return nil, err
		}
		end, err := value(text, next)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if !strings.EqualFold(n, name) {
				continue
			}
			if _, twice := found[n]; twice || n != name {
				return nil, fmt.Errorf("the field %q stands twice or in capitals", n)
			}
			found[n] = span{next, end}
		}
		at = space(text, end)
		switch {
		case at < len(text) && text[at] == ',':
			at = space(text, at+1)
		case at < len(text) && text[at] == '}':
			return found, ended(text, at+1)
		default:
			return nil, errNoObject
		}
	}
}

// ended says whether nothing but space follows.
func ended(text []byte, at int) error {
	if space(text, at) != len(text) {
		return errNoObject
	}
	return nil
}

// fieldName reads a field's name, and returns where its value begins.
func fieldName(text []byte, at int) (name string, next int, err error) {
	end, err := quoted(text, at)
	if err != nil {
		return "", 0, err
	}
	raw := text[at:end]
	if bytes.IndexByte(raw, '\\') >= 0 {
		if json.Unmarshal(raw, &name) != nil {
			return "", 0, errNoObject
		}
	} else {
		name = string(raw[1 : len(raw)-1])
	}
	at = space(text, end)
	if at >= len(text) || text[at] != ':' {
		return "", 0, errNoObject
	}
	return name, space(text, at+1), nil
}

func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// quoted returns the end of the string that begins there.
func quoted(text []byte, at int) (int, error) {
	if at >= len(text) || text[at] != '"' {
		return 0, errNoObject
	}
	for at++; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return 0, errNoObject
		}
		at += n
		slashes := at
		for text[slashes-1] == '\\' {
			slashes--
		}
		if (at-slashes)%2 == 0 {
			return at + 1, nil
		}
	}
}

// value returns the end of the value that begins there.
func value(text []byte, at int) (int, error) {
	if at >= len(text) {
		return 0, errNoObject
	}
	switch text[at] {
	case '"':
		return quoted(text, at)
	case '{', '[':
		return nested(text, at)
	}
	end := at
	for end < len(text) && text[end] > ' ' && text[end] != ',' && text[end] != '}' && text[end] != ']' {
		end++
	}
	if !json.Valid(text[at:end]) {
		return 0, errNoObject
	}
	return end, nil
}

// nested returns the end of the object or list that begins there.
func nested(text []byte, at int) (int, error) {
	var open []byte
	for at < len(text) {
		switch c := text[at]; c {
		case '"':
			end, err := quoted(text, at)
			if err != nil {
				return 0, err
			}
			at = end
			continue
		case '{', '[':
			if len(open) >= mostNested {
				return 0, errNested
			}
			open = append(open, c+2) // the other bracket
		case '}', ']':
			if open[len(open)-1] != c {
				return 0, errNoObject
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return at + 1, nil
			}
		}
		at++
	}
	return 0, errNoObject
}

// edit replaces a part of a text.
type edit struct {
	span
	text string
}

// splice returns the pieces of the text with the edits, which are in order.
func splice(text []byte, edits []edit) (pieces [][]byte) {
	at := 0
	for _, e := range edits {
		pieces = append(pieces, text[at:e.from], []byte(e.text))
		at = e.to
	}
	return append(pieces, text[at:])
}
