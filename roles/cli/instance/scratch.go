package instance

import (
	"context"
	"net"
	"os"

	"sett/blackboard/embedded"
	"sett/blackboard/redis/lua"
	"sett/roles/cli/term"
)

// Scratch returns an empty blackboard in this process, to look at an export. The
// caller calls done, after which nothing of it is left.
func Scratch(ctx context.Context, on *term.Terminal) (b *Board, done func(), err error) {
	dir, err := os.MkdirTemp("", "sett-ledger-")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var undo []func()
	done = func() {
		cancel()
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	undo = append(undo, func() { _ = os.RemoveAll(dir) })
	const password = "scratch" // another process of this machine's users knows neither port nor moment; it keeps a scanner out
	e, _, err := embedded.Open(embedded.Options{Dir: dir, Own: lua.Own, Password: password, Sync: func(*os.File) error { return nil }})
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { _ = e.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = e.Serve(ctx, l) }()
	undo = append(undo, func() { <-served })
	if b, err = Connect(ctx, Connection{URL: "redis://:" + password + "@" + l.Addr().String(), Instance: "scratch", As: "report"}); err != nil {
		return nil, nil, err
	}
	undo = append(undo, b.Close)
	return b, done, nil
}
