package cli

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

// gatherLock is held by who brings logs home.
const gatherLock = "gather"

// controlDir is where the orchestrator's container has the volume of its own, and
// controlLogs what it keeps there of what removed containers had written.
const (
	controlDir  = "/control"
	controlLogs = controlDir + "/logs"
)

// gathered is how much of each log is home already, in gathered.json of the
// instance's directory. It goes with the volume that it is about.
type gathered struct {
	Sizes map[string]int64 `json:"sizes"`
}

func (c *containers) gatheredPath() string { return filepath.Join(c.in.dir, "gathered.json") }

// RemoveControl removes the volume of an orchestrator that runs no more.
func (c *containers) RemoveControl(ctx context.Context) error {
	if err := c.RemoveVolume(ctx, c.ControlVolume()); err != nil {
		return err
	}
	if err := os.Remove(c.gatheredPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what was gathered: %w", err)
	}
	return nil
}

// Gather appends what the orchestrator's container kept of logs to those in the
// instance's directory. Without such a container there is nothing to do.
func (c *containers) Gather(ctx context.Context) error {
	r, err := c.Archive(ctx, runtime.ComponentOrchestrator, controlLogs)
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
	var g gathered
	if err := readFile(c.gatheredPath(), &g); err != nil || g.Sizes == nil {
		g = gathered{Sizes: map[string]int64{}}
	}
	if err := g.take(tar.NewReader(r), c.in.logsDir()); err != nil {
		return fmt.Errorf("gather logs: %w", err)
	}
	return writeFile(c.gatheredPath(), g)
}

// take goes through an archive of logs.
func (g *gathered) take(in *tar.Reader, dir string) error {
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

// add appends what is new in a log. One that became shorter was put aside, and
// begun anew.
func (g *gathered) add(in io.Reader, dir, name string, size int64) error {
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
