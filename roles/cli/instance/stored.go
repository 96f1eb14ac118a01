package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"sett/blackboard/embedded"
	"sett/blackboard/redis/lua"
	"sett/contract/config"
	"sett/roles/role"
)

// StoredBoard is Board, for commands that only read: of a stopped instance whose blackboard is Sett's own, in
// files of this machine, it reads a copy of those in this process. The instance stays stopped. Where the
// blackboard is elsewhere the error wraps role.ErrNotRunning, and the instance is returned with it.
func StoredBoard(ctx context.Context, l *Locator) (b *Board, in *Instance, done func(), err error) {
	b, in, done, err = l.Board(ctx)
	if errors.Is(err, role.ErrNotRunning) && hasBoardFiles(in) {
		b, done, err = OpenStopped(ctx, l, in)
	}
	return b, in, done, err
}

// boardFolder is the folder of an instance with the files of Sett's own blackboard.
func boardFolder(in *Instance) string { return filepath.Join(in.Dir, "blackboard") }

// hasBoardFiles says whether the blackboard is Sett's own, in files of this machine.
func hasBoardFiles(in *Instance) bool {
	return !in.External && in.Runtime != config.RuntimeDocker && Exists(boardFolder(in))
}

// OpenStopped opens a copy of the blackboard of an instance that does not run; the error wraps role.ErrNotRunning where
// that is not in files of this machine.
func OpenStopped(ctx context.Context, l *Locator, in *Instance) (b *Board, done func(), err error) {
	if !hasBoardFiles(in) {
		return nil, nil, l.notRunning(in)
	}
	b, done, err = openCopy(ctx, l, in)
	if err != nil && ctx.Err() == nil {
		err = role.Fail(role.Environment, fmt.Errorf("read the stopped blackboard of %s: %w", in.Name, err), "%s", l.UpLine(in))
	}
	return b, done, err
}

// openCopy serves a copy of a blackboard's files to this process, until done.
func openCopy(ctx context.Context, l *Locator, in *Instance) (b *Board, done func(), err error) {
	var undo []func()
	done = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	dir, err := os.MkdirTemp("", "sett-board-")
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { _ = os.RemoveAll(dir) })
	if err := copyFiles(boardFolder(in), dir); err != nil {
		return nil, nil, err
	}
	password := rand.Text()
	server, _, err := embedded.Open(embedded.Options{Dir: dir, Password: password, Logger: slog.New(slog.DiscardHandler), Now: l.Now, Own: lua.Own})
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { _ = server.Close() })
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(served, port)
	}()
	undo = append(undo, func() {
		end()
		<-ended
	})
	at := url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: port.Addr().String()}
	if b, err = Connect(ctx, Connection{URL: at.String(), Instance: in.Name, As: "sett-cli", Mark: in.Mark()}); err != nil {
		return nil, nil, err
	}
	undo = append(undo, b.Close)
	return b, done, CheckBoard(ctx, l, in, b)
}

// copyFiles copies the regular files of a folder.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
