package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard/redis/lua"
)

// mend repairs a server after it started. A server that finds its append-only file cut
// inside a transaction leaves the transaction's beginning in the file. What it appends
// comes behind that, so at the next start half of the old transaction runs with the
// new one. A rewritten file has neither.
//
// A server does not tell whether its file was cut. So the file is rewritten once after
// each start that read one. A restarted server knows no script: its answer to the first
// one is where this begins, before anything is granted.
type mend struct {
	mu  sync.Mutex
	due bool // the counts are to be checked: the file was rewritten for us, or for a process that may have died before it did
}

// mended returns when the server's append-only file holds no half of a transaction. A
// server that does not tell of its file, or lets nobody rewrite it, counts as mended.
func (c *Conn) mended(ctx context.Context) error {
	if !c.Options.Mend {
		return nil
	}
	c.mend.mu.Lock()
	defer c.mend.mu.Unlock()
	for began := false; ; {
		facts, err := c.persistence(ctx)
		if err != nil || facts["aof_enabled"] != "1" || facts["aof_base_size"] == "0" {
			return allowed(err)
		}
		running := facts["aof_rewrite_in_progress"] == "1" || facts["aof_rewrite_scheduled"] == "1"
		failed := facts["aof_last_bgrewrite_status"] == "err"
		switch {
		case running:
			began = true
		case facts["aof_last_rewrite_time_sec"] != "-1" && !failed:
			return c.recount(ctx)
		case began && failed:
			return errors.New("the server cannot rewrite its append-only file: see its log")
		default:
			err := c.AtHome(ctx, "BGREWRITEAOF").Error()
			if re, is := rueidis.IsRedisErr(err); err != nil && (!is || !strings.Contains(re.Error(), "in progress")) {
				return allowed(err)
			}
			began, c.mend.due = true, true
			continue // a server too fast to be seen at it has done it
		}
		c.mend.due = true
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server rewrites its append-only file: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// allowed leaves out a refusal: a server's operator can forbid to ask.
func allowed(err error) error {
	if _, is := rueidis.IsRedisErr(err); is && !Transient(err) && !RefusesLogin(err) {
		return nil
	}
	return err
}

// persistence asks the server about its files.
func (c *Conn) persistence(ctx context.Context) (map[string]string, error) {
	text, err := c.AtHome(ctx, "INFO", "persistence").ToString()
	facts := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	return facts, err
}

// recount counts the work of all active goals anew, once after a rewrite: a server that
// was started twice without us may have run half of a transaction.
func (c *Conn) recount(ctx context.Context) error {
	if !c.mend.due {
		return nil
	}
	active, err := c.Client.Do(ctx, c.Client.B().Zrange().Key(c.Keys.ActiveWorkflows()).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return err
	}
	for _, workflow := range active {
		keys := c.scriptKeys()
		eval := c.Client.B().Eval().Script(lua.Move("recount").Source).Numkeys(int64(len(keys))).Key(keys...)
		err := c.Client.Do(ctx, eval.Arg(workflow, "the blackboard was restarted").Build()).Error()
		if err != nil && allowed(err) != nil { // a record that it cannot read keeps nobody from leading
			return err
		}
	}
	c.mend.due = false
	return nil
}
