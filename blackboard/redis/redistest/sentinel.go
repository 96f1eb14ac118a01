package redistest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// MasterSet is the name of the master that the Sentinels of a test watch.
const MasterSet = "mymaster"

// Watched is a master with replicas, and the Sentinels that watch them.
type Watched struct {
	Servers   []*Server // the first is the master at the beginning
	Sentinels []*Server
}

// Sentinel starts a master, two replicas and three Sentinels. A password is that of the
// Sentinels; the arguments are the servers'.
func Sentinel(tb testing.TB, password string, args ...string) *Watched {
	tb.Helper()
	w := new(Watched)
	for i := range 3 {
		more := args
		if i > 0 {
			more = append([]string{"--replicaof", "127.0.0.1 " + strconv.Itoa(w.Servers[0].port)}, args...)
		}
		w.Servers = append(w.Servers, startMany(tb, append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, more...)...))
	}
	AwaitReplicas(tb, w.Servers[0], 2)
	for range 3 {
		conf := watches(w.Servers[0].Addr(), 2)
		if password != "" {
			conf += "requirepass " + password + "\nsentinel sentinel-pass " + password + "\n"
		}
		if secret := w.Servers[0].password; secret != "" {
			conf += "sentinel auth-pass " + MasterSet + " " + secret + "\n"
		}
		s := startSentinel(tb, conf)
		s.password = password
		w.Sentinels = append(w.Sentinels, s)
	}
	for _, s := range w.Sentinels {
		await(tb, "a Sentinel that knows all others", func() bool {
			return strings.Contains(s.Send("SENTINEL", "CKQUORUM", MasterSet), "OK 3 usable") &&
				strings.Count(s.Send("SENTINEL", "REPLICAS", MasterSet), "runid") == 2
		})
	}
	return w
}

// LoneSentinel starts a Sentinel that watches a master alone, with more lines in its file.
func LoneSentinel(tb testing.TB, master, more string) *Server {
	tb.Helper()
	return startSentinel(tb, watches(master, 1)+more)
}

// watches are the lines of a Sentinel's file about its master.
func watches(master string, quorum int) string {
	host, port, _ := net.SplitHostPort(master)
	return fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s %[4]d\nsentinel down-after-milliseconds %[1]s %[5]s\nsentinel failover-timeout %[1]s 5000\n",
		MasterSet, host, port, quorum, nodeTimeout)
}

func startSentinel(tb testing.TB, conf string) *Server {
	tb.Helper()
	s := &Server{Dir: tb.TempDir(), port: freePort(tb), tb: tb}
	s.conf = filepath.Join(s.Dir, "sentinel.conf")
	if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// URL returns the URL that names all Sentinels, with an addition to its query.
func (w *Watched) URL(query url.Values) string {
	all := url.Values{"master_set": {MasterSet}}
	for _, s := range w.Sentinels[1:] {
		all.Add("addr", s.Addr())
	}
	for name, values := range query {
		all[name] = values
	}
	return (&url.URL{Scheme: "redis", Host: w.Sentinels[0].Addr(), RawQuery: all.Encode()}).String()
}

// Master returns a server that takes writes now.
func (w *Watched) Master(tb testing.TB) *Server {
	tb.Helper()
	var master *Server
	await(tb, "a master", func() bool {
		for _, s := range w.Servers {
			if s.cmd != nil && strings.Contains(s.Send("INFO", "replication"), "role:master") {
				master = s
				return true
			}
		}
		return false
	})
	return master
}
