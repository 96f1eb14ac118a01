package gateway

import "bytes"

// tap reads the value of an object's own field out of a text that passes by in parts. It
// is for answers that are too large to be kept.
type tap struct {
	field string

	depth   int
	quoted  bool
	escaped bool
	isName  bool   // the string that is being read is a name of the object's own
	name    []byte // the last one
	value   []byte // of the field
	taking  bool
	broken  bool
}

// mostTapped bounds the names and the value that are kept.
const mostTapped = 64 << 10

// write takes the next part.
func (t *tap) write(text []byte) {
	for at := 0; at < len(text) && !t.broken; {
		if t.quoted {
			at += t.inString(text[at:])
			continue
		}
		c := text[at]
		if t.taking && t.depth == 1 && (c == ',' || c == '}') {
			t.taking = false
		}
		t.keep(text[at : at+1])
		switch c {
		case '"':
			t.quoted = true
			t.isName = t.depth == 1 && t.name == nil
			if t.isName {
				t.name = []byte{}
			}
		case ':':
			if t.depth == 1 && string(t.name) == t.field {
				t.taking, t.value = true, nil
			}
		case ',':
			if t.depth == 1 {
				t.name = nil
			}
		case '{', '[':
			t.depth++
		case '}', ']':
			t.depth--
		}
		at++
	}
}

// inString takes the next part of a string, and returns its length.
func (t *tap) inString(text []byte) int {
	if t.escaped {
		t.escaped = false
		t.take(text[:1])
		return 1
	}
	n := bytes.IndexByte(text, '"')
	if n < 0 {
		n = len(text)
	}
	if slash := bytes.IndexByte(text[:n], '\\'); slash >= 0 {
		t.escaped = true
		t.take(text[:slash+1])
		return slash + 1
	}
	t.take(text[:n])
	if n == len(text) {
		return n
	}
	t.quoted = false
	t.keep(text[n : n+1])
	return n + 1
}

func (t *tap) take(text []byte) {
	if t.isName {
		t.name = append(t.name, text...)
		t.broken = len(t.name) > mostTapped
	}
	t.keep(text)
}

func (t *tap) keep(text []byte) {
	if t.taking {
		t.value = append(t.value, text...)
		t.broken = len(t.value) > mostTapped
	}
}
