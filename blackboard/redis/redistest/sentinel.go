package redistest

import (
	"fmt"
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

// Sentinel starts a master, two replicas and three Sentinels. A password makes the
// Sentinels ask for it; their arguments are lines of their file.
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
	awaitReplicas(tb, w.Servers[0], 2)
	for range 3 {
		w.Sentinels = append(w.Sentinels, w.sentinel(tb, password))
	}
	for _, s := range w.Sentinels {
		await(tb, "a Sentinel that knows all others", func() bool {
			text := s.Send(strings.Fields(auth(password) + "SENTINEL CKQUORUM " + MasterSet)...)
			known := s.Send(strings.Fields(auth(password) + "SENTINEL REPLICAS " + MasterSet)...)
			return strings.Contains(text, "OK 3 usable") && strings.Count(known, "runid") == 2
		})
	}
	return w
}

// auth is the command before another one.
func auth(password string) string {
	if password == "" {
		return ""
	}
	return "AUTH " + password + "\r\n"
}

func (w *Watched) sentinel(tb testing.TB, password string) *Server {
	s := &Server{Dir: tb.TempDir(), port: freePort(tb), tb: tb}
	file := filepath.Join(s.Dir, "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]d 2\nsentinel down-after-milliseconds %[1]s %[3]s\nsentinel failover-timeout %[1]s 5000\n",
		MasterSet, w.Servers[0].port, nodeTimeout)
	if password != "" {
		text += "requirepass " + password + "\nsentinel sentinel-pass " + password + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.conf = file
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// URL returns the URL that names all Sentinels, with what is put into its query.
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

// Master returns the server that takes writes now and that most others follow.
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
