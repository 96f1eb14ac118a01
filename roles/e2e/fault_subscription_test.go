package e2e

import (
	"context"
	"testing"
	"time"

	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

// TestSubscriptionComesBack kills and restarts the blackboard under a listener,
// which hears again within seconds.
func TestSubscriptionComesBack(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		s := startServer(t)
		comesBack(t, "redis://"+s.addr, s.kill)
	})
	t.Run("redis-server", func(t *testing.T) {
		s := redistest.Start(t, redistest.Durable...)
		comesBack(t, s.URL, func() { s.Kill(); s.Restart() })
	})
}

func comesBack(t *testing.T, url string, restart func()) {
	t.Helper()
	b, err := redis.Open(context.Background(), redis.Options{URL: url, Instance: "x", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	ready, done := make(chan bool, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		done <- b.Subscribe(ctx, []redis.Channel{redis.ArtefactEvents, redis.OrchestratorEvents},
			func() { ready <- true }, func(redis.Channel, string) {}, func(error) {})
	}()
	defer func() { cancel(); <-done }()
	<-ready
	for range 2 {
		began := time.Now()
		restart()
		select {
		case <-ready:
			t.Logf("heard again after %s", time.Since(began).Round(time.Millisecond))
		case <-time.After(enough):
			t.Fatal("nothing heard 60s after the restart")
		}
	}
}
