package store

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
)

// blockSize is the unit in which a file system says how much a file takes.
const blockSize = 512

// Usage adds up the disk that the files of a directory take, in bytes; shared are those that have
// another name elsewhere. Files that go away meanwhile count for nothing.
func Usage(ctx context.Context, dir string) (own, shared int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // it is gone, or a tool forbade to read it
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
		case !d.IsDir() && s.Nlink > 1:
			shared += s.Blocks * blockSize
		default:
			own += s.Blocks * blockSize
		}
		return nil
	})
	return own, shared, err
}
