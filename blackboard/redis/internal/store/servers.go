package store

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// refreshed is how often the servers of a cluster, or Sentinels, are asked anew for the
// one that has the instance. A server that stands still breaks no connection, so nothing
// else would tell of the one in its place.
const refreshed = 2 * time.Second

// wrongServerError is about a server of another kind than the URL says. That does not pass.
type wrongServerError string

func (e wrongServerError) Error() string { return string(e) }

// dial connects to the one server, to the master that Sentinels name, or to the nodes of
// a cluster. One server is asked for a hash in the same round trip; nil: it was not, or did not tell.
func dial(ctx context.Context, opt rueidis.ClientOption, key string) (_ rueidis.Client, hash map[string]string, _ error) {
	if opt.Sentinel.MasterSet != "" {
		client, err := dialMaster(opt)
		return client, nil, err
	}
	if len(opt.InitAddress) > 1 {
		client, err := dialCluster(opt)
		return client, nil, err
	}
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return client, nil, noDatabase(opt, err)
	}
	// Every user may say HELLO, and none has to be able to: a server without it is one server.
	said := client.DoMulti(ctx, client.B().Arbitrary("HELLO", "2").Build(), client.B().Ping().Build(), client.B().Hgetall().Key(key).Build())
	facts, _ := said[0].AsStrMap()
	switch facts["mode"] {
	case "cluster":
		client.Close()
		client, err := dialCluster(opt)
		return client, nil, err
	case "sentinel":
		client.Close()
		return nil, nil, wrongServerError("it is a Sentinel: name its master, as in redis://" + opt.InitAddress[0] + "?master_set=mymaster")
	}
	hash, _ = said[2].AsStrMap()
	return client, hash, said[1].Error()
}

// dialCluster connects to a cluster by those of its nodes that answer.
func dialCluster(opt rueidis.ClientOption) (rueidis.Client, error) {
	opt.ForceSingleClient, opt.PipelineMultiplex = false, 0
	opt.ClusterOption.ShardsRefreshInterval = refreshed
	opt.ClusterOption.MaxMovedRedirections = 3 // two nodes may disagree for a while: see transient
	client, err := rueidis.NewClient(opt)
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return client, wrongServerError("it is no node of a cluster, and the URL names more servers with addr: " +
			"with master_set these are Sentinels; one server has no addr")
	}
	return client, noDatabase(opt, err)
}

// ownerIn returns the address of a slot's master in the answer to CLUSTER SLOTS: ranges of
// first slot, last slot, master (host, port) and replicas. A node that does not know its
// own host is where it was asked.
func ownerIn(ranges []rueidis.RedisMessage, slot int64, asked string) string {
	for _, r := range ranges {
		fields, err := r.ToArray()
		if err != nil || len(fields) < 3 {
			continue
		}
		first, _ := fields[0].AsInt64()
		last, _ := fields[1].AsInt64()
		master, _ := fields[2].ToArray()
		if slot < first || slot > last || len(master) < 2 {
			continue
		}
		host, _ := master[0].ToString()
		if host == "" {
			host, _, _ = net.SplitHostPort(asked)
		}
		port, _ := master[1].AsInt64()
		return net.JoinHostPort(host, strconv.FormatInt(port, 10))
	}
	return ""
}

func noDatabase(opt rueidis.ClientOption, err error) error {
	if err != nil && opt.SelectDB != 0 && strings.Contains(err.Error(), "SELECT is not allowed in cluster mode") {
		return wrongServerError(fmt.Sprintf("the URL names database %d, and a cluster has database 0 only", opt.SelectDB))
	}
	return err
}

// clustered says whether the board is on a cluster.
func clustered(c rueidis.Client) bool { return c.Mode() == rueidis.ClientModeCluster }

// scriptKeys are the keys that a script declares: the ledger, which places it. On a
// cluster also one that never exists: while a slot moves from node to node, key by key,
// the server then refuses the script (TRYAGAIN). Otherwise the script would run on a node
// that has a part of the keys.
func (c *Conn) scriptKeys() []string {
	if clustered(c.Client) {
		return []string{c.Keys.Events(), c.Keys.Absent()}
	}
	return []string{c.Keys.Events()}
}

// AtHome makes a command that names no key on the server that has the instance. In a
// cluster a command with a key goes before it, on the same connection: a node that has
// the instance no longer refuses that.
func (c *Conn) AtHome(ctx context.Context, words ...string) rueidis.RedisResult {
	cmd := c.Client.B().Arbitrary(words...).Build()
	if !clustered(c.Client) {
		return c.Client.Do(ctx, cmd)
	}
	home, release := c.Client.Dedicate()
	defer release()
	said := home.DoMulti(ctx, c.present(), cmd.SetSlot(c.Keys.Events()))
	if err := said[0].Error(); err != nil {
		return rueidis.NewErrorResult(err)
	}
	return said[1]
}

// present is a command with a key that every user may make.
func (c *Conn) present() rueidis.Completed {
	return c.Client.B().Exists().Key(c.Keys.Events()).Build()
}

// Home binds a dedicated connection to the server that has the instance. Elsewhere than
// on a cluster there is only one.
func (c *Conn) Home(ctx context.Context, conn rueidis.DedicatedClient) error {
	if !clustered(c.Client) {
		return nil
	}
	return conn.Do(ctx, c.present()).Error()
}

// homeAddr returns the address of the server that has the instance.
func (c *Conn) homeAddr(ctx context.Context) string {
	if c.Client == nil {
		return c.Addr
	}
	switch c.Client.Mode() {
	case rueidis.ClientModeSentinel:
		for addr := range c.Client.Nodes() {
			return addr
		}
	case rueidis.ClientModeCluster:
		key := c.present()
		slot := int64(key.Slot())
		for at, node := range c.Client.Nodes() {
			ctx, cancel := context.WithTimeout(ctx, c.Options.Timeout/4)
			ranges, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
			cancel()
			if err != nil {
				continue
			}
			if addr := ownerIn(ranges, slot, at); addr != "" {
				return addr
			}
		}
	}
	return c.Addr
}
