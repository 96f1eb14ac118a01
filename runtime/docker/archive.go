package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Archive returns a directory of a unit's container, running or ended, as a tar
// stream whose names begin with the directory's own. fs.ErrNotExist when there is
// no such unit, or no such directory in it.
func (r *Runtime) Archive(ctx context.Context, unit, dir string) (io.ReadCloser, error) {
	c, err := r.find(ctx, unit)
	if err != nil {
		return nil, fmt.Errorf("read %s of unit %s: %w", dir, unit, err)
	}
	tar, _, err := r.e.api.CopyFromContainer(ctx, c.ID, dir)
	if err != nil {
		return nil, fmt.Errorf("read %s of unit %s: %w", dir, unit, plain(err))
	}
	return plainReader{tar}, nil
}

// plainReader is a stream from the engine whose errors are this package's.
type plainReader struct{ io.ReadCloser }

func (p plainReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = plain(err)
	}
	return n, err
}
