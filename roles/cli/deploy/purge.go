package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/store"
)

// removeDir removes the directory of an instance. The state goes last: as long as anything is left, the instance is known,
// and another purge goes on.
func removeDir(ctx context.Context, in *instance.Instance) error {
	entries, err := os.ReadDir(in.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var left []string
	for _, e := range entries {
		path := filepath.Join(in.Dir, e.Name())
		if path == in.StatePath() {
			continue
		}
		if no := removeTree(ctx, path); no != nil {
			left, err = append(left, path), errors.Join(err, no)
		}
	}
	if err == nil {
		left, err = []string{in.Dir}, removeTree(ctx, in.Dir)
	}
	return inTheWay(in, err, "all else of it is gone", left...)
}

// inTheWay is the error of a purge that cannot remove files, as those of another user, with the command that can.
func inTheWay(in *instance.Instance, err error, rest string, left ...string) error {
	if err == nil {
		return nil
	}
	return role.Fail(role.Failed, fmt.Errorf("remove instance %s: %w; %s", in.Name, err, rest), "%s; then the same command again", store.Remedy(left...))
}

// removeTree removes a directory also while another command, or a process that is just
// ending, writes a last file there. A tool may have left modes that forbid it.
func removeTree(ctx context.Context, dir string) error {
	for range rounds {
		if err := store.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) || !instance.Tick(ctx) {
			return err
		}
	}
	return store.RemoveAll(dir)
}
