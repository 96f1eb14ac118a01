package instance

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/runtime"
)

// gatherLock is the lock that Gather holds while it copies logs.
const gatherLock = "gather"

// ControlDir is the mount point of the control volume in the orchestrator's container.
// ControlLogs is the directory in it for the logs of removed containers.
const (
	ControlDir  = "/control"
	ControlLogs = ControlDir + "/logs"
)

// Gathered is the number of bytes of each log that are copied already, in gathered.json
// of the instance's directory. RemoveControl removes it with the volume.
type Gathered struct {
	Sizes map[string]int64 `json:"sizes"`
}

func (c *Containers) gatheredPath() string { return filepath.Join(c.in.Dir, "gathered.json") }

// RemoveControl removes the control volume. The orchestrator must not run.
func (c *Containers) RemoveControl(ctx context.Context) error {
	if err := c.RemoveVolume(ctx, c.ControlVolume()); err != nil {
		return err
	}
	if err := os.Remove(c.gatheredPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what was gathered: %w", err)
	}
	return nil
}

// Gather appends the new part of each log in the control volume to the log in the
// instance's directory. It does nothing if the orchestrator is not in a container.
func (c *Containers) Gather(ctx context.Context) error {
	r, err := c.Archive(ctx, runtime.ComponentOrchestrator, ControlLogs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("gather logs: %w", err)
	}
	defer r.Close()
	release, err := c.host.Lock(ctx, gatherLock)
	if err != nil {
		return fmt.Errorf("gather logs: %w", err)
	}
	defer release()
	var g Gathered
	if err := ReadFile(c.gatheredPath(), &g); err != nil || g.Sizes == nil {
		g = Gathered{Sizes: map[string]int64{}}
	}
	if err := g.Take(tar.NewReader(r), c.in.LogsDir()); err != nil {
		return fmt.Errorf("gather logs: %w", err)
	}
	return WriteFile(c.gatheredPath(), g)
}

// Take appends the new part of each log in an archive to the log in dir.
func (g *Gathered) Take(in *tar.Reader, dir string) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Base(h.Name)
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(name, ".log") || name == ".log" {
			continue
		}
		if err := g.add(in, dir, name, h.Size); err != nil {
			return err
		}
	}
}

// add appends the new part of a log. A log that became shorter was rotated: all of it
// is new.
func (g *Gathered) add(in io.Reader, dir, name string, size int64) error {
	known := g.Sizes[name]
	if size < known {
		known = 0
	}
	if size == known {
		return nil
	}
	if _, err := io.CopyN(io.Discard, in, known); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	if err = errors.Join(err, f.Close()); err == nil {
		g.Sizes[name] = size
	}
	return err
}
