package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// readMessage reads one message of the Redis protocol, version 2, and returns it
// as it is, and its strings when it is a flat array of them.
func readMessage(r *bufio.Reader) (raw []byte, words []string, err error) {
	var buf bytes.Buffer
	words, err = copyMessage(r, &buf, 0)
	return buf.Bytes(), words, err
}

func copyMessage(r *bufio.Reader, buf *bytes.Buffer, depth int) ([]string, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	buf.Write(line)
	if len(line) < 3 || depth > 8 {
		return nil, fmt.Errorf("read message: %q", line)
	}
	text := string(line[1 : len(line)-2])
	switch line[0] {
	case '+', '-', ':':
		return []string{text}, nil
	case '$':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return []string{""}, err
		}
		at := buf.Len()
		if _, err := io.CopyN(buf, r, int64(n)+2); err != nil {
			return nil, err
		}
		return []string{string(buf.Bytes()[at : at+n])}, nil
	case '*':
		n, err := strconv.Atoi(text)
		var words []string
		for range n {
			w, e := copyMessage(r, buf, depth+1)
			if e != nil {
				return nil, e
			}
			words = append(words, w...)
		}
		return words, err
	}
	return nil, errors.New("read message: not the Redis protocol")
}

// writeMessage is an array of strings in the Redis protocol.
func writeMessage(words ...string) []byte {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&buf, "$%d\r\n%s\r\n", len(w), w)
	}
	return buf.Bytes()
}
