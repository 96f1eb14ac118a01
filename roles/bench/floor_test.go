//go:build bench

package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// The floor: create, open, bid, grant, complete. Each is one script that writes
// the fields the specification has for it (spec: artefacts, claims, bids) and
// publishes a notice: no index, no ledger, no count, no check. The first and the
// last note the server's time.
const floorScript = `
local id, move = KEYS[1], ARGV[1]
if move == 'create' then
  local t = redis.call('TIME')
  redis.call('HSET', id, 'id', id, 'logical_id', id, 'version', '1', 'structural_type', 'Standard', 'type', 'GoalDefined',
    'payload', ARGV[3], 'source_artefacts', '[]', 'produced_by_role', 'user', 'at', t[1] .. string.format('%06d', t[2]))
elseif move == 'open' then
  redis.call('HSET', id .. ':claim', 'id', id, 'artefact_id', id, 'status', 'pending_review', 'granted_review_agents', '[]',
    'granted_parallel_agents', '[]', 'granted_exclusive_agent', '')
elseif move == 'bid' then
  redis.call('HSET', id .. ':claim:bids', 'solo', 'exclusive')
elseif move == 'grant' then
  redis.call('HSET', id .. ':claim', 'status', 'pending_exclusive', 'granted_exclusive_agent', 'solo')
else
  local t = redis.call('TIME')
  redis.call('HSET', id .. ':claim', 'status', 'complete')
  redis.call('HSET', id, 'took', string.format('%.0f', (t[1] .. string.format('%06d', t[2])) - redis.call('HGET', id, 'at')))
end
redis.call('PUBLISH', ARGV[2], id)
return 1`

var floorMove = rueidis.NewLuaScript(floorScript)

func floorClient(url string) (rueidis.Client, error) {
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	opt.DisableCache, opt.ForceSingleClient, opt.AlwaysRESP2 = true, true, true
	opt.RingScaleEachConn, opt.PipelineMultiplex = 8, -1
	return rueidis.NewClient(opt)
}

// react makes the next move of the chain for every notice on a channel.
func react(ctx context.Context, c rueidis.Client, on map[string][2]string, done func(key string)) error {
	names := make([]string, 0, len(on))
	for name := range on {
		names = append(names, name)
	}
	work := make(chan rueidis.PubSubMessage, 100_000)
	for range 16 {
		go func() {
			for m := range work {
				next := on[m.Channel]
				if next[0] == "" {
					done(m.Message)
					continue
				}
				_ = floorMove.Exec(ctx, c, []string{m.Message}, []string{next[0], next[1], "x"}).Error()
			}
		}()
	}
	return c.Receive(ctx, c.B().Subscribe().Channel(names...).Build(), func(m rueidis.PubSubMessage) { work <- m })
}

// floorPartner is the other process of the chain: the agent.
func floorPartner(ctx context.Context, url string) error {
	c, err := floorClient(url)
	if err != nil {
		return err
	}
	defer c.Close()
	return react(ctx, c, map[string][2]string{"opened": {"bid", "bidden"}, "granted": {"complete", "completed"}}, nil)
}

type floor struct {
	client  rueidis.Client
	partner *exec.Cmd
	mu      sync.Mutex
	ended   map[string]chan struct{}
	n       int
}

func startFloor(tb testing.TB, url string) *floor {
	tb.Helper()
	c, err := floorClient(url)
	if err != nil {
		tb.Fatal(err)
	}
	f := &floor{client: c, ended: map[string]chan struct{}{}}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_ = react(ctx, c, map[string][2]string{"created": {"open", "opened"}, "bidden": {"grant", "granted"}, "completed": {}}, func(key string) {
			f.mu.Lock()
			close(f.ended[key])
			delete(f.ended, key)
			f.mu.Unlock()
		})
	}()
	f.partner = spawn(tb, "floor", "REDIS_URL="+url)
	tb.Cleanup(func() { cancel(); c.Close() })
	waitFor(tb, "the floor's partner", func() bool {
		n, _ := c.Do(ctx, c.B().PubsubNumsub().Channel("opened", "created").Build()).ToAny()
		return strings.Count(fmt.Sprint(n), " 1") == 2
	})
	return f
}

// start begins a chain of a payload's size and returns what is closed at its end.
func (f *floor) start(payload string) (string, <-chan struct{}) {
	f.mu.Lock()
	f.n++
	key := fmt.Sprintf("{floor}:%d", f.n)
	done := make(chan struct{})
	f.ended[key] = done
	f.mu.Unlock()
	_ = floorMove.Exec(context.Background(), f.client, []string{key}, []string{"create", "created", payload}).Error()
	return key, done
}

// one runs one chain and returns its time by the server's clock.
func (f *floor) one() time.Duration {
	key, done := f.start("x")
	<-done
	s, _ := f.client.Do(context.Background(), f.client.B().Hget().Key(key).Field("took").Build()).ToString()
	us, _ := strconv.Atoi(s)
	return time.Duration(us) * time.Microsecond
}

// rate runs n chains with so many in flight and returns chains per second.
func (f *floor) rate(n, inFlight int) float64 {
	slots := make(chan struct{}, inFlight)
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		slots <- struct{}{}
		wg.Go(func() {
			_, done := f.start("x")
			<-done
			<-slots
		})
	}
	wg.Wait()
	return float64(n) / time.Since(began).Seconds()
}
