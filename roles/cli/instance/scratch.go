package instance

import (
	"context"
	"os"

	"sett/blackboard/embedded"
)

// Scratch returns an empty blackboard in this process, to look at an export. The
// caller calls done, after which nothing of it is left.
func Scratch(ctx context.Context) (b *Board, done func(), err error) {
	dir, err := os.MkdirTemp("", "sett-ledger-")
	if err != nil {
		return nil, nil, err
	}
	o := embedded.Options{Dir: dir, Sync: func(*os.File) error { return nil }}
	return serveDir(ctx, o, Connection{Instance: "scratch", As: "report"})
}
