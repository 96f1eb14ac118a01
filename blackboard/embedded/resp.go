package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// limits bound one command of a client.
type limits struct {
	args  int // number of arguments, the command's name included
	bulk  int // bytes of one argument
	total int // bytes of all arguments together
}

var (
	// clientLimits are Redis' own.
	clientLimits = limits{args: 1 << 20, bulk: 512 << 20, total: 1 << 30}
	// strangerLimits hold before authentication, again as in Redis: enough to
	// authenticate.
	strangerLimits = limits{args: 10, bulk: 16 << 10, total: 64 << 10}
)

const (
	maxLine     = 64 << 10 // an inline command or a length
	readAtOnce  = 64 << 10 // allocated before the bytes it is for have arrived
	argsAtOnce  = 64
	maxIntWidth = 20
)

// protocolError is input that is not the Redis protocol. The connection cannot
// be used after it: nobody knows where the next command starts.
type protocolError string

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// readCommand reads one command: an array of bulk strings, or a line of words.
// An empty command has no arguments and is to be ignored. Memory is allocated
// as bytes arrive, never by announced lengths alone.
func readCommand(r *bufio.Reader, lim limits) ([]string, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(line, "*") {
		return inlineCommand(line, lim)
	}
	n, err := parseLength(line[1:])
	if err != nil || n > lim.args {
		return nil, protocolError("invalid multibulk length")
	}
	if n <= 0 {
		return nil, nil
	}
	args := make([]string, 0, min(n, argsAtOnce))
	left := lim.total
	for range n {
		arg, err := readBulk(r, min(lim.bulk, left))
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		left -= len(arg)
		args = append(args, arg)
	}
	return args, nil
}

// inlineCommand splits a line as typed into a raw connection.
func inlineCommand(line string, lim limits) ([]string, error) {
	args := strings.Fields(line)
	if len(args) > lim.args || len(line) > lim.bulk {
		return nil, protocolError("too big inline request")
	}
	return args, nil
}

// readBulk reads one "$length" string of at most limit bytes.
func readBulk(r *bufio.Reader, limit int) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(line, "$") {
		return "", protocolError(fmt.Sprintf("expected '$', got %.16q", line))
	}
	n, err := parseLength(line[1:])
	if err != nil || n < 0 || n > limit {
		return "", protocolError("invalid bulk length")
	}
	var b strings.Builder
	b.Grow(min(n, readAtOnce))
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return "", err
	}
	var end [2]byte
	if _, err := io.ReadFull(r, end[:]); err != nil {
		return "", err
	}
	if end != [2]byte{'\r', '\n'} {
		return "", protocolError("bulk string without its end")
	}
	return b.String(), nil
}

// readLine reads up to a line end and returns the line before it.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return "", protocolError("too big line")
		}
		if err == nil {
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

// parseLength is strconv.Atoi without signs and forms the protocol does not have.
func parseLength(s string) (int, error) {
	if s == "" || len(s) > maxIntWidth || s[0] == '+' {
		return 0, protocolError("invalid length")
	}
	return strconv.Atoi(s)
}
