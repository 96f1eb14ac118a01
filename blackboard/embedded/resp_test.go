package embedded

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func TestReadCommand(t *testing.T) {
	lim := limits{args: 3, bulk: 10, total: 15}
	for in, want := range map[string]string{
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n":  "GET|k",
		"*1\n$4\nPING\r\n":                "PING",
		"*0\r\n":                          "",
		"*-1\r\n":                         "",
		"\r\n":                            "",
		"PING\r\n":                        "PING",
		" SET  k v\n":                     "SET|k|v",
		"*1\r\n$0\r\n\r\n":                "",
		"*4\r\n":                          "error: Protocol error: invalid multibulk length",
		"*x\r\n":                          "error: Protocol error: invalid multibulk length",
		"*+1\r\n":                         "error: Protocol error: invalid multibulk length",
		"*99999999999999999999999\r\n":    "error: Protocol error: invalid multibulk length",
		"a b c d\r\n":                     "error: Protocol error: too big inline request",
		"*1\r\n$11\r\n":                   "error: Protocol error: invalid bulk length",
		"*1\r\n$-1\r\n":                   "error: Protocol error: invalid bulk length",
		"*1\r\n$\r\n":                     "error: Protocol error: invalid bulk length",
		"*1\r\n:1\r\n":                    "error: Protocol error: expected '$', got \":1\"",
		"*1\r\n$1\r\nabc":                 "error: Protocol error: bulk string without its end",
		"*2\r\n$9\r\n123456789\r\n$9\r\n": "error: Protocol error: invalid bulk length",
		"*2\r\n$3\r\nGET\r\n":             "error: unexpected EOF",
		"*1\r\n$5\r\nab":                  "error: unexpected EOF",
		"*1\r\n$2\r\nab\r":                "error: unexpected EOF",
		"":                                "error: EOF",
		"*1":                              "error: EOF",
		strings.Repeat("x", maxLine+5000) + "\r\n": "error: Protocol error: too big line",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			args, err := readCommand(bufio.NewReader(r), lim)
			got := strings.Join(args, "|")
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != want {
				t.Errorf("%.40q: %q, want %q", in, got, want)
			}
		}
	}
}

// An announcement costs nothing until its bytes arrive.
func TestAnnouncedLengthIsNotAllocated(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		if _, err := readCommand(bufio.NewReader(strings.NewReader("*1000000\r\n$500000000\r\nabc")), clientLimits); err == nil {
			t.Fatal("no error")
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 20<<20 {
		t.Errorf("%d bytes allocated for 20 announcements", got)
	}
}

func FuzzReadCommand(f *testing.F) {
	for _, seed := range []string{
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "PING\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "*3\r\n$0\r\n\r\n", "*1000000\r\n$536870912\r\n",
	} {
		f.Add([]byte(seed))
	}
	lim := limits{args: 100, bulk: 1000, total: 2000}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(strings.NewReader(string(in)))
		for {
			args, err := readCommand(r, lim)
			var broken protocolError
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// A command that was understood reads the same when written properly.
			again, err := readCommand(bufio.NewReader(strings.NewReader(string(appendCommandRESP(args)))), clientLimits)
			if err != nil || !slices.Equal(again, args) {
				t.Fatalf("%q became %q: %v", args, again, err)
			}
		}
	})
}

func appendCommandRESP(args []string) []byte {
	b := appendLen(nil, len(args))
	for _, a := range args {
		b = appendBulk(b, a)
	}
	return b
}

// Nothing a client sends may stop the server or, without a password, reach the log.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("*1\r\n$7\r\nFLUSHDB\r\n*-5\r\n"))
	f.Add([]byte("SET k v\r\nEVAL return 0\r\nXREAD STREAMS s\r\n"))
	s, _, err := Open(Options{Dir: f.TempDir(), Password: "secret"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Contains(string(in), "secret") {
			return
		}
		here, there := pipe(t)
		var both sync.WaitGroup // the fuzzer changes what it gave when this returns
		both.Go(func() { newClient(s, there).serve() })
		both.Go(func() {
			_, _ = here.Write(in)
			here.CloseWrite()
		})
		_, _ = io.Copy(io.Discard, here)
		both.Wait()
		if s.records != 0 {
			t.Fatal("a stranger's command is in the log")
		}
	})
}
