package e2e

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// spread is a blackboard on several servers.
type spread struct {
	url    string
	all    []*redistest.Server
	master func(instance string) *redistest.Server // that has the instance now
	blind  func() (goOn func())                    // keeps one watcher from seeing what happens
}

// guarded makes an acknowledged write be on two servers.
var guarded = slices.Concat(redistest.Durable, []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"})

func onCluster(t testing.TB) spread {
	all := redistest.Cluster(t, 3, 1, guarded...)
	return spread{all[0].URL + "?addr=" + all[1].Addr(), all, func(instance string) *redistest.Server {
		return redistest.Of(t, all, "sett:{"+instance+"}:events")
	}, func() func() { return func() {} }}
}

func onSentinels(t testing.TB) spread {
	set := redistest.Sentinel(t, "hush", guarded...)
	return spread{set.URL(map[string][]string{"sentinel_password": {"hush"}}), set.Servers, func(string) *redistest.Server { return set.Master(t) },
		set.Sentinels[0].Stall}
}

// The server that has the instance is killed under load, and the next one stands still:
// every goal that was acknowledged ends once, as it does undisturbed.
func TestFaultsOfServers(t *testing.T) {
	for name, begin := range map[string]func(testing.TB) spread{"cluster": onCluster, "sentinel": onSentinels} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := begin(t)
			in := start(t, options{clan: solo(finished, "workspace: {mode: none}\n"), url: servers.url})
			first := in.post("x")
			in.await(first, enough)
			want := in.outcome(first)
			l := in.load()

			killed := servers.master(in.name)
			l.more(5)
			see := servers.blind() // a Sentinel that knows of the old master only, and says so
			defer see()
			killed.Kill()
			stalled := servers.master(in.name) // in its place
			killed.Restart()
			see()
			l.more(20)
			eventually(t, enough, "a replica of the master", func() bool { // or nobody can take its place
				stalled = servers.master(in.name) // the Sentinels of a slow machine may have chosen another one meanwhile
				return stalled.Replicas() > 0
			})
			goOn := stalled.Stall()
			defer goOn()
			servers.master(in.name)
			goOn()
			l.more(20)

			for _, goal := range l.stop() {
				in.await(goal, enough)
				if got := in.outcome(goal); got != want {
					t.Errorf("goal %s ended otherwise:\n%s", goal, diff(want, got))
				}
			}
			if code, out := in.sett("goals", "--limit", "1"); code != 0 {
				t.Errorf("goals ended with %d: %s", code, out)
			}
			in.settled()
			in.atRest()
		})
	}
}

// load posts goals all the time.
type load struct {
	in    *instance
	mu    sync.Mutex
	acked []string
	end   context.CancelFunc
	ended sync.WaitGroup
}

// load begins to post goals, from two connections' worth of goroutines.
func (in *instance) load() *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{in: in, end: cancel}
	for range 2 {
		l.ended.Go(func() {
			for ctx.Err() == nil {
				id := blackboard.NewID(time.Now(), rand.Reader)
				err := in.board.People.PostGoal(ctx, blackboard.Artefact{
					ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined, Payload: "x",
					ProducedByRole: blackboard.RoleUser, WorkflowID: id,
				}, "ann")
				if err == nil {
					l.mu.Lock()
					l.acked = append(l.acked, id)
					l.mu.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond): // a person's pace, or the clan is never done
				}
			}
		})
	}
	in.t.Cleanup(func() { l.stop() })
	return l
}

// more waits until so many more goals are acknowledged.
func (l *load) more(n int) {
	l.in.t.Helper()
	count := func() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.acked) }
	want := count() + n
	eventually(l.in.t, enough, "acknowledged goals", func() bool { return count() >= want })
}

// stop ends the load and returns the goals that were acknowledged.
func (l *load) stop() []string {
	l.end()
	l.ended.Wait()
	return l.acked
}
