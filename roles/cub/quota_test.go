package cub

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

func TestQuota(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d", "f"), make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    quota
		want string // of the reason; empty: there is none
	}{
		"enough":      {quota{dir, 4 << 20, 1}, ""},
		"a full disk": {quota{dir, 4 << 20, math.MaxInt64}, "workspace.min_free"},
		"large":       {quota{dir, 2 << 20, 1}, "workspace.max_tree is 2 MiB"},
	} {
		err := errors.Join(c.q.checkDisk(), c.q.checkTree(t.Context()))
		if (err != nil) != (c.want != "") || err != nil && (!errors.Is(err, errQuota) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A watch ends what it watches when the disk gets full.
func TestQuotaStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	quota{t.TempDir(), math.MaxInt64, math.MaxInt64}.watch(ctx, stop)
	if err := context.Cause(ctx); !errors.Is(err, errQuota) {
		t.Error(err)
	}
}

// A tool that ends before the watch's first look is not started either on a disk with too little space.
func TestNoRoomForATool(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	dir := t.TempDir()
	c.start("worker", f.writer("worker", vars{env.Command: shell(`touch "$SEEN/ran"; ` + commits), "SEEN": dir, env.MinFree: strconv.FormatInt(math.MaxInt64, 10)}))
	a, r := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	if a.Type != blackboard.TypeToolExecutionFailure || !strings.Contains(r.Reason, "stopped for the disk: it has ") || !strings.Contains(r.Reason, "workspace.min_free") {
		t.Errorf("%s because %q", a.Type, r.Reason)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the tool was started")
	}
}
