package redis

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/lua"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
)

// adminPassword has what a URL has to write differently.
const adminPassword = "p@ss:word/?#%"

// guarded is a redis-server whose users are those of a file, and a world of its
// administrator.
type guarded struct {
	*world
	server *redistest.Server
	file   string
}

func startGuarded(t *testing.T, agents ...string) *guarded {
	t.Helper()
	g := &guarded{file: filepath.Join(t.TempDir(), "users.acl")}
	g.allow(t, agents...)
	g.server = redistest.Start(t, "--aclfile", g.file,
		"--enable-debug-command", "yes", "--enable-module-command", "yes") // so that it is the rules that refuse them
	u := &url.URL{Scheme: "redis", User: url.UserPassword(AdminUser, adminPassword), Host: g.server.Addr()}
	g.world = newWorld(t, &server{url: u.String()})
	return g
}

// allow writes the file of users for these agents.
func (g *guarded) allow(t *testing.T, agents ...string) {
	t.Helper()
	must(t, os.WriteFile(g.file, ACLFile("test", adminPassword, Users{Agents: agents, Notifier: true, Gateway: true}), 0o600))
}

// cub returns the same world as the agent's cub has it.
func (g *guarded) cub(agent string) *world {
	g.Helper()
	at, err := AgentURL(g.server.URL, adminPassword, agent)
	must(g, err)
	w := *g.world
	w.b = open(g, at)
	return &w
}

// A cub's user, limited to its instance and to its commands, can do all that a cub
// does.
func TestAgentUserCanWork(t *testing.T) {
	g := startGuarded(t, "a")
	cub := g.cub("a")
	must(t, cub.b.Cub.Hello(g.ctx, "a", blackboard.Presence{Incarnation: "h-a"}, 0))
	must(t, cub.b.Cub.Beat(g.ctx, "a", "h-a", 0))
	notices := cub.listen("a")
	claim, next := g.open(g.goal().ID, "a"), g.granted(blackboard.PhaseExclusive, "a")
	wantList(t, "notice", []string{cub.next(notices)}, "a "+next)
	work, err := cub.b.Index.OpenAgentWork(g.ctx, "a")
	must(t, err)
	wantList(t, "due", work.Due, claim)
	_, _, err = cub.b.Records.TryClaims(g.ctx, work.Due)
	must(t, err)
	must(t, cub.bid(claim, "a", blackboard.BidExclusive))
	g.grant(claim, blackboard.PhaseExclusive, "a")
	wantList(t, "notice", []string{cub.next(notices)}, "a "+claim)
	st, ref := cub.start(claim, "a", "h-a")
	must(t, cub.b.Cub.Await(g.ctx, ref, blackboard.WaitRepository, ""))
	must(t, cub.b.Cub.Await(g.ctx, ref, blackboard.WaitModel, ""))
	_, err = cub.b.Calls.Paused(g.ctx)
	must(t, err)
	must(t, cub.b.Cub.Requeue(g.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"}))
	_, ref = cub.start(claim, "a", "h-a")
	k := conflictOf(st.Claim, "c0")
	must(t, cub.b.Cub.Clash(g.ctx, blackboard.Clash{GrantRef: ref, Conflict: k}))
	must(t, g.b.Leader.Unclash(g.ctx, blackboard.Unclash{Epoch: g.epoch, Claim: claim, Agent: "a", Conflict: k.ID, Settled: k.ID}))
	q := cub.finish(claim, "a", blackboard.Question, "Question", "?")
	_, err = g.b.People.PostAnswer(g.ctx, q.ID, answerTo(q), "ann")
	must(t, err)
	_, err = cub.b.Records.Grant(g.ctx, claim, "a")
	must(t, err)
	_, err = cub.b.Records.LatestVersions(g.ctx, []string{q.ID})
	must(t, err)
	_, err = cub.b.Records.Artefacts(g.ctx, []string{q.ID})
	must(t, err)
	_, ref = cub.start(claim, "a", "h-a")
	done := blackboard.Result{GrantRef: ref, Artefact: result(st.Claim, "a", blackboard.Standard, "Code", "")}
	_, finished, started := cub.b.Cub.FinishAndStart(g.ctx, done, blackboard.StartRequest{Claim: next, Agent: "a", Holder: "h-a"})
	must(t, finished)
	must(t, started)
	must(t, cub.b.Cub.Goodbye(g.ctx, "a", "h-a", "stopped"))
}

// So can a worker's, which is its agent's.
func TestAgentUserCanStandBy(t *testing.T) {
	g := startGuarded(t, "a")
	cub := g.cub("a")
	cub.hello("a", blackboard.Worker{Incarnation: "w1"})
	claim := g.granted(blackboard.PhaseExclusive, "a")
	must(t, g.b.Leader.Assign(g.ctx, g.epoch, "a", "w1", claim, 1))
	assigned, err := cub.b.Roster.Assignment(g.ctx, "a", "w1")
	must(t, err)
	if assigned != claim {
		t.Errorf("assigned %q, not %s", assigned, claim)
	}
	_, ref := cub.start(claim, "a", "w1")
	c := g.snapshot(claim).Claim
	must(t, cub.b.Cub.Finish(g.ctx, blackboard.Result{GrantRef: ref, Artefact: result(c, "a", blackboard.Standard, "Code", "")}))
}

// The commands of an agent's user are those that cubs send and that their scripts
// call, in whatever branch, and no others.
func TestAgentCommandsAreExact(t *testing.T) {
	want := map[string]bool{}
	for _, sent := range strings.Fields("ping client|setname evalsha eval subscribe unsubscribe punsubscribe discard " +
		"zrange zrevrange hget hgetall exists") {
		want[sent] = true
	}
	scripts := lua.Scripts()
	calls := regexp.MustCompile(`call\(\s*'([A-Z]+)'`)
	for _, name := range strings.Fields("await beat bid clash finish hello raise_budget requeue start withhold worker") {
		if scripts[name].Source == "" {
			t.Errorf("no script %s", name)
		}
		for _, m := range calls.FindAllStringSubmatch(scripts[name].Source, -1) {
			want[strings.ToLower(m[1])] = true
		}
	}
	got := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(agentCommands, "-@all "), "+", ""))
	slices.Sort(got)
	wantList(t, "commands", got, slices.Sorted(maps.Keys(want))...)
}

// What credentials of an agent must not be good for.
var refusedToAgents = [][]string{
	{"HGETALL", "sett:{other}:agents"}, {"GET", "sett:{test2}:leader"}, {"GET", "sett:{tes}:leader"}, {"GET", "sett:test:leader"},
	{"GET", "elsewhere"}, {"SET", "elsewhere", "x"}, {"DEL", "sett:{other}:events"}, {"HGETALL", "sett:{other}:workspace"}, {"ZRANGE", "sett:{other}:claims:open", "0", "-1"},
	{"XADD", "sett:{other}:events", "*", "kind", "forged"}, {"HSET", "sett:{*}:agents", "a", "x"},
	{"EVAL", "return redis.call('GET', KEYS[1])", "1", "sett:{other}:leader"},
	{"EVAL", "return redis.call('GET', 'sett:{other}:leader')", "0"}, // a key that is not declared
	{"EVAL", "return redis.call('SET', 'sett:{other}:epoch', '9')", "1", "sett:{test}:events"},
	{"EVAL", "return redis.call('PUBLISH', 'sett:{other}:claim_events', 'x')", "0"},
	{"EVAL", "return redis.call('FLUSHALL')", "0"}, {"EVAL", "return redis.call('CONFIG', 'GET', '*')", "0"},
	{"EVAL", "return redis.call('KEYS', '*')", "0"}, {"EVAL", "return redis.call('ACL', 'WHOAMI')", "0"},
	{"FLUSHALL"}, {"FLUSHDB"}, {"SWAPDB", "0", "1"}, {"SELECT", "1"}, {"MOVE", "sett:{test}:epoch", "1"},
	{"RENAME", "sett:{test}:epoch", "sett:{test}:e"}, {"COPY", "sett:{test}:epoch", "sett:{other}:epoch"},
	{"CONFIG", "GET", "*"}, {"CONFIG", "SET", "dir", "/tmp"}, {"CONFIG", "REWRITE"}, {"KEYS", "*"}, {"SCAN", "0"}, {"RANDOMKEY"}, {"DBSIZE"},
	{"ACL", "LIST"}, {"ACL", "WHOAMI"}, {"ACL", "GETUSER", AdminUser}, {"ACL", "SETUSER", "agent-a", "+@all"}, {"ACL", "LOAD"}, {"ACL", "SAVE"},
	{"DEBUG", "SLEEP", "0"}, {"SHUTDOWN", "NOSAVE"}, {"SAVE"}, {"BGSAVE"}, {"BGREWRITEAOF"}, {"MONITOR"}, {"INFO"}, {"COMMAND"},
	{"CLIENT", "LIST"}, {"CLIENT", "KILL", "TYPE", "normal"}, {"CLIENT", "PAUSE", "1"}, {"CLIENT", "NO-EVICT", "on"},
	{"SCRIPT", "FLUSH"}, {"SCRIPT", "KILL"}, {"SCRIPT", "LOAD", "return 1"}, {"FUNCTION", "LIST"}, {"FUNCTION", "FLUSH"},
	{"FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('x', function() return 1 end)"}, {"FCALL", "x", "0"},
	{"MODULE", "LIST"}, {"MODULE", "LOAD", "/tmp/x.so"}, {"REPLICAOF", "127.0.0.1", "1"}, {"SLAVEOF", "NO", "ONE"}, {"FAILOVER"}, {"PSYNC", "?", "-1"},
	{"MIGRATE", "127.0.0.1", "1", "sett:{test}:epoch", "0", "1"}, {"SLOWLOG", "GET"}, {"LATENCY", "DOCTOR"}, {"MEMORY", "DOCTOR"},
	{"SUBSCRIBE", "sett:{other}:claim_events"}, {"SUBSCRIBE", "__keyspace@0__:x"}, {"PSUBSCRIBE", "*"}, {"PSUBSCRIBE", "sett:{test}:*"},
	{"SSUBSCRIBE", "sett:{other}:claim_events"}, {"PUBLISH", "sett:{other}:claim_events", "x"}, {"PUBSUB", "CHANNELS"},
}

// refusal is how Redis says no: to a command, and to a command of a script. A
// server that did not know the command, or found fault with it, would not have
// been asked whether the user may.
var refusal = regexp.MustCompile(`^-(NOPERM |ERR The user executing the script can't (run this command|access at least one of the keys|publish to the channel)` +
	`|ERR ACL failure in script|ERR This Redis command is not allowed from script)`)

// An agent's credentials in the wrong hands reach neither another instance nor
// what governs the server.
func TestAgentUserIsRefused(t *testing.T) {
	g := startGuarded(t, "a")
	g.raw("SET", "sett:{other}:leader", "x")
	before := g.dump()
	thief := dial(t, g.server.Addr())
	if got := thief.say("AUTH", AgentUser("a"), AgentPassword(adminPassword, "a")); got != "+OK" {
		t.Fatalf("AUTH: %s", got)
	}
	if got := thief.say("GET", "sett:{test}:epoch"); got[0] != '$' {
		t.Fatalf("an agent's own instance: %s", got)
	}
	thief.line() // the epoch
	for _, command := range refusedToAgents {
		if got := thief.say(command...); !refusal.MatchString(got) {
			t.Errorf("%q: %s", command, got)
		}
	}
	if got := thief.say("PING"); got != "+PONG" {
		t.Errorf("after all that: %s", got)
	}
	g.unchanged("the thief", before)
}

// Without a password, with a wrong one and with another agent's nobody gets in,
// and what the file shows is no password.
func TestUsersNeedTheirPasswords(t *testing.T) {
	g := startGuarded(t, "a", "b")
	for _, who := range [][]string{
		{"default", ""}, {"default", adminPassword}, {adminPassword}, {AdminUser, ""}, {AdminUser, "x"}, {"agent-a", adminPassword},
		{"agent-a", AgentPassword(adminPassword, "b")}, {"agent-a", strings.TrimPrefix(hashed(AgentPassword(adminPassword, "a")), "#")},
		{"agent-c", AgentPassword(adminPassword, "c")}, {"root", "x"},
	} {
		c := dial(t, g.server.Addr())
		if got := c.say(append([]string{"AUTH"}, who...)...); !strings.HasPrefix(got, "-WRONGPASS") {
			t.Errorf("%q: %s", who, got)
		}
		for _, command := range [][]string{{"PING"}, {"GET", "sett:{test}:epoch"}, {"FLUSHALL"}, {"SUBSCRIBE", "sett:{test}:claim_events"}} {
			if got := c.say(command...); !strings.HasPrefix(got, "-NOAUTH") && !strings.HasPrefix(got, "-NOPERM") {
				t.Errorf("%q as nobody: %s", command, got)
			}
		}
	}
	file, err := os.ReadFile(g.file)
	must(t, err)
	for _, password := range []string{adminPassword, AgentPassword(adminPassword, "a"), AgentPassword(adminPassword, "b")} {
		if strings.Contains(string(file), password) {
			t.Errorf("the file shows %q", password)
		}
	}
	golden(t, "acl", string(file))
}

// The rules do not keep the server from its own records: after a restart, all that
// it acknowledged is there.
func TestUsersKeepTheRecords(t *testing.T) {
	g := &guarded{file: filepath.Join(t.TempDir(), "users.acl")}
	g.allow(t, "a")
	g.server = redistest.Start(t, append([]string{"--aclfile", g.file}, redistest.Durable...)...)
	u := &url.URL{Scheme: "redis", User: url.UserPassword(AdminUser, adminPassword), Host: g.server.Addr()}
	g.world = newWorld(t, &server{url: u.String()})
	must(t, g.b.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
	g.server.Kill()
	g.server.Restart()
	if s, err := g.b.State(t.Context()); err != nil || s != blackboard.InstanceRunning {
		t.Errorf("after a restart the instance is %q, %v", s, err)
	}
}

// Names become part of rules and patterns: a valid one holds nothing that ends a
// rule or stands for something else there, nor what ends an instance's part of a
// key, and no agent has the administrator's name.
func TestNamesAreLiteralInRules(t *testing.T) {
	for c := rune(0); c < 0x180; c++ {
		name := "a" + string(c) + "b"
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", c) {
			continue
		}
		if config.ValidInstanceName(name) == nil {
			t.Errorf("%q is a valid name", name)
		}
		if _, err := config.Parse("f", fmt.Appendf(nil, "agents: {%q: {image: i, command: [x]}}", name)); err == nil {
			t.Errorf("%q is a valid agent", name)
		}
	}
	for _, agent := range []string{"sett", "default", "-a", ""} {
		if user := AgentUser(agent); user == AdminUser || user == "default" {
			t.Errorf("agent %q is user %q", agent, user)
		}
	}
}

func TestAgentURL(t *testing.T) {
	password := AgentPassword(adminPassword, "a")
	if password == AgentPassword(adminPassword, "b") || password == AgentPassword("x", "a") || len(password) != 64 {
		t.Errorf("password %q", password)
	}
	for base, want := range map[string]string{
		"redis://h:6379":                "redis://agent-a:" + password + "@h:6379",
		"rediss://h:1/2?max_retries=1":  "rediss://agent-a:" + password + "@h:1/2?max_retries=1",
		"redis://@h":                    "redis://agent-a:" + password + "@h",
		"redis://:own@h/0":              "redis://:own@h/0",
		"redis://own@h/0":               "redis://own@h/0",
		"redis://[::1]:6379":            "redis://agent-a:" + password + "@[::1]:6379",
		"h:6379":                        "",
		"redis://h:not-a-port:x/s3cret": "",
	} {
		got, err := AgentURL(base, adminPassword, "a")
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
}

// Who joins gets in, who leaves is cut off, and who stays goes on, its
// subscription included.
func TestReloadACL(t *testing.T) {
	g := startGuarded(t, "leaves", "stays")
	for _, agent := range []string{"leaves", "stays", "joins"} {
		must(t, g.b.Cub.Hello(g.ctx, agent, blackboard.Presence{Incarnation: "h"}, 0))
	}
	leaves, stays := g.cub("leaves"), g.cub("stays")
	must(t, leaves.b.Cub.Beat(g.ctx, "leaves", "h", 0))
	again := make(chan struct{}, 10)
	notices := make(chan string, 10)
	go func() {
		_ = stays.b.Subscribe(g.ctx, []Channel{AgentEvents("stays")}, func() { again <- struct{}{} },
			func(_ Channel, id string) { notices <- id }, func(error) {})
	}()
	<-again
	g.allow(t, "stays", "joins")
	must(t, g.b.ReloadACL(g.ctx))
	joins := g.cub("joins")
	must(t, joins.b.Cub.Beat(g.ctx, "joins", "h", 0))
	must(t, stays.b.Cub.Beat(g.ctx, "stays", "h", 0))
	if err := leaves.b.Cub.Beat(g.ctx, "leaves", "h", 0); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("who left: %v", err)
	}
	select { // servers before 7.2 end every connection: it has to be there again
	case <-again:
	case <-time.After(time.Second):
	}
	claim := g.granted(blackboard.PhaseExclusive, "stays")
	wantList(t, "notice", []string{stays.next(notices)}, claim)

	must(t, os.WriteFile(g.file, []byte("user sett on nopass +@nonsense\n"), 0o600))
	if err := g.b.ReloadACL(g.ctx); err == nil || !strings.Contains(err.Error(), "reload users: ") {
		t.Errorf("a broken file: %v", err)
	}
	must(t, stays.b.Cub.Beat(g.ctx, "stays", "h", 0))
}

// speaker is a connection of somebody who speaks Redis' protocol by hand.
type speaker struct {
	testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, addr string) *speaker {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.SetDeadline(time.Now().Add(5*time.Minute)))
	return &speaker{t, c, bufio.NewReader(c)}
}

// say sends a command and returns the first line of the reply.
func (s *speaker) say(command ...string) string {
	s.Helper()
	s.send(command...)
	return s.line()
}

func (s *speaker) send(command ...string) {
	s.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := s.Write([]byte(b.String()))
	must(s, err)
}

func (s *speaker) line() string {
	s.Helper()
	line, err := s.in.ReadString('\n')
	must(s, err)
	return strings.TrimRight(line, "\r\n")
}
