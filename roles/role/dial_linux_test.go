package role

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A connection breaks when the other end takes nothing of what was sent.
func TestDialerGivesUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := Dialer(time.Minute, 400*time.Millisecond).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	for err == nil { // until all buffers are full
		_, err = conn.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, unix.ETIMEDOUT) {
		t.Errorf("got %v", err)
	}
}
