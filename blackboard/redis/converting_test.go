package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// An orchestrator that waits for a conversion says so once, and once that it goes on. One that is
// told to end says no more.
func TestOpeningWaitsForAConversion(t *testing.T) {
	s := startEmbedded(t)
	w := newWorld(t, s)
	w.raw("HSET", w.b.c.Keys.Instance(), "schema", "1 to "+store.SchemaVersion)
	open := func(ctx context.Context) (told chan bool, opened chan error) {
		told, opened = make(chan bool, 10), make(chan error, 1)
		go func() {
			b, err := Open(ctx, store.Options{URL: s.url, Instance: "test", Name: "test", Mend: true, Converting: func(waits bool) { told <- waits }})
			if err == nil {
				b.Close()
			}
			opened <- err
		}()
		return told, opened
	}
	ctx, cancel := context.WithCancel(testContext(t))
	told, opened := open(ctx)
	if !<-told {
		t.Fatal("it goes on")
	}
	cancel()
	var schema *blackboard.SchemaError
	if err := <-opened; !errors.As(err, &schema) && !errors.Is(err, context.Canceled) || len(told) > 0 {
		t.Errorf("ended with %v, told %d more", err, len(told))
	}
	told, opened = open(testContext(t))
	if !<-told {
		t.Fatal("it goes on")
	}
	w.raw("HSET", w.b.c.Keys.Instance(), "schema", store.SchemaVersion)
	select {
	case err := <-opened:
		must(t, err)
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits on")
	}
	if len(told) != 1 || <-told {
		t.Errorf("told %d more", len(told))
	}
}
