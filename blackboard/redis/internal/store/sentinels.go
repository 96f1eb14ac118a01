package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// trusted is how long an answer of the Sentinels counts: a process opens several
// connections at its start.
const trusted = time.Second

// sentinels are the Sentinels of a URL. They are asked before each connection to a
// server: the client itself believes the first Sentinel that answers, and that one may
// not know yet that an old master, which has been started again, has lost its place.
type sentinels struct {
	opt    rueidis.ClientOption // of one Sentinel
	set    string               // the master's name
	addrs  []string
	mu     sync.Mutex // held while they are asked
	master string
	asked  time.Time
}

// sentinelsOf takes the Sentinels from the options of a client.
func sentinelsOf(opt rueidis.ClientOption) *sentinels {
	s := &sentinels{set: opt.Sentinel.MasterSet, addrs: opt.InitAddress}
	own := opt.Sentinel
	opt.Username, opt.Password, opt.TLSConfig, opt.Dialer, opt.SelectDB = own.Username, own.Password, own.TLSConfig, own.Dialer, 0
	opt.Sentinel = rueidis.SentinelOption{}
	s.opt = opt
	return s
}

// dialMaster connects to the master that Sentinels name. An error says whether a Sentinel
// or the master has it, which both may word alike.
func dialMaster(opt rueidis.ClientOption) (rueidis.Client, error) {
	s := sentinelsOf(opt)
	opt.DialCtxFn = s.dial
	client, err := rueidis.NewClient(opt)
	if _, refused := rueidis.IsRedisErr(err); !refused {
		return client, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), opt.Dialer.Timeout)
	defer cancel()
	for _, addr := range s.addrs {
		var fault wrongServerError
		if _, err := s.ask(ctx, addr); errors.As(err, &fault) {
			return client, fault
		}
	}
	return client, fmt.Errorf("the server that Sentinels name for master_set %s: %w", s.set, err)
}

// dial connects to a Sentinel, or to a server that most Sentinels take for the master.
// Only the dialer of servers has a Control function, which counts their connections.
func (s *sentinels) dial(ctx context.Context, addr string, d *net.Dialer, conf *tls.Config) (net.Conn, error) {
	if d.Control != nil {
		master, err := s.named(ctx)
		if err == nil && master != addr {
			err = fmt.Errorf("the Sentinels' master is %s now, not %s", master, addr)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.opt.DialCtxFn(ctx, addr, d, conf)
}

// named returns the master that the Sentinels agree on. One that stands still holds
// nobody up for long.
func (s *sentinels) named(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.master != "" && time.Since(s.asked) < trusted {
		return s.master, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Dialer.Timeout)
	defer cancel()
	began, answers := time.Now(), make(chan sight, len(s.addrs))
	for _, addr := range s.addrs {
		go func() {
			v, _ := s.ask(ctx, addr)
			answers <- v
		}()
	}
	var said []sight
	var enough <-chan time.Time // when those that are still silent are given up
	for open := len(s.addrs); open > 0; {
		select {
		case v := <-answers:
			if open--; v.master != "" {
				said = append(said, v)
			}
			if enough == nil && len(said) >= majority(len(s.addrs)) {
				enough = time.After(s.opt.Dialer.Timeout / 4)
			}
			continue
		case <-enough:
		case <-ctx.Done():
		}
		break
	}
	master, err := agreed(said, len(s.addrs))
	s.master, s.asked = master, began
	return master, err
}

// sight is the master as one Sentinel sees it.
type sight struct {
	master  string // address
	epoch   int64  // of the failover that made it the master
	leaving bool   // this Sentinel is about to put another server in its place
}

// majority is the number of Sentinels whose word is enough. Of two it is one: they
// replace a master together, or not at all.
func majority(of int) int { return (of + 1) / 2 }

// agreed finds the master in the answers of Sentinels: that of the newest failover, and
// among answers of one age that of most.
func agreed(said []sight, asked int) (string, error) {
	if len(said) < majority(asked) {
		return "", fmt.Errorf("%d of %d Sentinels name a master, and %d are needed", len(said), asked, majority(asked))
	}
	var newest int64
	for _, v := range said {
		newest = max(newest, v.epoch)
	}
	votes, master, tied := map[string]int{}, "", false
	for _, v := range said {
		if v.epoch == newest {
			votes[v.master]++
		}
	}
	for addr, n := range votes {
		switch {
		case n > votes[master]:
			master, tied = addr, false
		case n == votes[master]:
			tied = true
		}
	}
	if tied {
		return "", errors.New("the Sentinels name different masters")
	}
	for _, v := range said {
		if v.leaving && v.master == master {
			return "", fmt.Errorf("the Sentinels are replacing the master %s", master)
		}
	}
	return master, nil
}

// ask asks one Sentinel for the master. A wrongServerError does not pass by itself.
func (s *sentinels) ask(ctx context.Context, addr string) (sight, error) {
	opt := s.opt
	opt.InitAddress = []string{addr}
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return sight{}, s.fault(addr, err)
	}
	defer client.Close()
	b := client.B()
	said := client.DoMulti(ctx, b.SentinelGetMasterAddrByName().Master(s.set).Build(), b.Arbitrary("SENTINEL", "MASTER", s.set).Build())
	at, err := said[0].AsStrSlice()
	if err != nil || len(at) != 2 {
		return sight{}, s.fault(addr, err)
	}
	v := sight{master: net.JoinHostPort(at[0], at[1])}
	facts, _ := said[1].AsStrMap() // none: this user may not ask
	v.epoch, _ = strconv.ParseInt(facts["config-epoch"], 10, 64)
	if strings.Contains(facts["flags"], "failover_in_progress") {
		if v.leaving = v.master == net.JoinHostPort(facts["ip"], facts["port"]); !v.leaving {
			v.epoch++ // it names the new one, and has the old one's epoch until all replicas know
		}
	}
	return v, nil
}

// fault words a refusal of a Sentinel.
func (s *sentinels) fault(addr string, err error) error {
	if rueidis.IsRedisNil(err) {
		return wrongServerError(fmt.Sprintf("the Sentinel at %s watches no master %q, as master_set says", addr, s.set))
	}
	if re, refused := rueidis.IsRedisErr(err); refused {
		if code(re.Error()) == "NOAUTH" {
			return wrongServerError(fmt.Sprintf("the Sentinel at %s wants sentinel_password, and maybe sentinel_username, in the URL", addr))
		}
		return wrongServerError(fmt.Sprintf("the Sentinel at %s refuses sentinel_username and sentinel_password of the URL: %v", addr, err))
	}
	return err
}
