package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
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
		err = notRead(l, in, err)
	}
	return b, done, err
}

// notRead is the error about the blackboard of a stopped instance, with the way on.
func notRead(l *Locator, in *Instance, err error) error {
	hint := l.UpLine(in)
	var corrupt *embedded.CorruptError
	var hinted *role.Error
	switch {
	case errors.As(err, &corrupt):
		corrupt.File = filepath.Join(boardFolder(in), filepath.Base(corrupt.File)) // the copy is gone
		hint = corrupt.Remedy()
	case errors.As(err, &hinted):
		hint = hinted.Hint
	}
	return role.NotOpened(fmt.Errorf("read the stopped blackboard of %s: %w", in.Name, err), hint)
}

// openCopy serves a copy of a blackboard's files to this process, until done.
func openCopy(ctx context.Context, l *Locator, in *Instance) (b *Board, done func(), err error) {
	dir, err := os.MkdirTemp("", "sett-board-")
	if err == nil {
		if err = copyFiles(boardFolder(in), dir); err != nil {
			_ = os.RemoveAll(dir)
		}
	}
	if err != nil {
		return nil, nil, role.Fail(role.Environment, fmt.Errorf("copy it: %w", err), "TMPDIR names a directory with room for a copy; %s", l.UpLine(in))
	}
	b, done, err = serveDir(ctx, embedded.Options{Dir: dir, Now: l.Now}, Connection{Instance: in.Name, As: "sett-cli", Mark: in.Mark()})
	if err != nil {
		return nil, nil, err
	}
	if err := CheckBoard(ctx, l, in, b); err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}

// serveDir serves the blackboard in a directory to this process, until done. The directory goes with it, also with
// an error.
func serveDir(ctx context.Context, o embedded.Options, c Connection) (_ *Board, done func(), err error) {
	undo := []func(){func() { _ = os.RemoveAll(o.Dir) }}
	end := func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			end() // not done, which a return with an error sets to nil
		}
	}()
	o.Password, o.Own = rand.Text(), lua.Own
	server, _, err := embedded.Open(o)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() { _ = server.Close() })
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(served, port)
	}()
	undo = append(undo, func() {
		stop()
		<-ended
	})
	c.URL = (&url.URL{Scheme: "redis", User: url.UserPassword("", o.Password), Host: port.Addr().String()}).String()
	b, err := Connect(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, b.Close)
	return b, end, nil
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
