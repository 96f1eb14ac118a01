package cli

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// boardAt has the stage's commands find their blackboard at another URL.
func (s *stage) boardAt(at string) {
	s.t.Helper()
	in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage"), State: instance.State{
		Name: "stage", Workspace: s.root, Runtime: config.RuntimeProcess, URL: at, External: true,
	}}
	s.Must(in.Save())
}

// mute passes connections on, and hangs up in place of each answer to a call that has a word in it.
func mute(t *testing.T, target, word string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				server, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer func() { _ = server.Close() }()
				go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
				for buf := make([]byte, 1<<20); ; {
					n, err := client.Read(buf)
					if err != nil {
						return
					}
					if bytes.Contains(buf[:n], []byte(word)) {
						_ = client.(*net.TCPConn).CloseWrite() // nothing is heard from here on
						_, _ = server.Write(buf[:n])
						_, _ = server.Read(buf[:1])
						return
					}
					_, _ = server.Write(buf[:n])
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A goal that was posted while its answer was lost is not called a failure: the words name the command to type before
// the command is repeated.
func TestGoalWithoutAnswer(t *testing.T) {
	s := newStage(t)
	_, _, err := s.run("forage", "the server knows the script from here on")
	s.Must(err)
	s.boardAt("redis://" + mute(t, s.Server.Addr(), "UNHEARD"))
	_, _, err = s.run("forage", "UNHEARD")
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "the answer was lost, so this may have been done: post goal ") {
		t.Errorf("got %v", err)
	}
	ids, e := s.board.Index.Goals(t.Context(), 0)
	s.Must(e)
	if len(ids) != 2 || !strings.HasSuffix(hint(err), "look whether it was: sett show "+ids[0]) && !strings.HasSuffix(hint(err), "look whether it was: sett show "+ids[1]) {
		t.Errorf("goals %q, and the hint is %q", ids, hint(err))
	}
}

// A move that was made, and that the replicas did not confirm, is called neither refused nor lost: whoever repeats a
// goal has two.
func TestGoalWithoutReplicas(t *testing.T) {
	refused := &blackboard.NoWritesError{Addr: "127.0.0.1:1", Why: "NOREPLICAS Not enough good replicas to write"}
	err := mayBeMade(&app{at: &instance.Locator{}}, refused, &blackboard.UnsureError{ID: "01M8P9S0RPD0327NWWYKX53SGE", Made: true, Err: refused})
	if role.CodeOf(err) != role.Environment || err.Error() != "this was done, and a failover may still lose it: "+refused.Error() ||
		hint(err) != "do not repeat the command; once the replicas are back, look whether it stands: sett show 01M8P9S0RPD0327NWWYKX53SGE" {
		t.Errorf("%v; %s", err, hint(err))
	}
}

// A server that refuses the user is told from one that is not there.
func TestRefusedUser(t *testing.T) {
	s := newStage(t, "--save", "")
	s.Server.Send("ACL", "SETUSER", "ann", "on", ">right", "~*", "&*", "+@all")
	for password, want := range map[string]string{
		"wrong": "refuses the user of its URL: WRONGPASS invalid username-password pair or user is disabled",
		"right": "refuses the user of its URL: NOPERM ",
	} {
		if password == "right" {
			s.Server.Send("ACL", "SETUSER", "ann", "-evalsha", "-eval")
		}
		s.boardAt((&url.URL{Scheme: "redis", User: url.UserPassword("ann", password), Host: s.Server.Addr()}).String())
		s.refuses(role.Environment, want, "forage", "anything")
	}
}

// A user that lacks rights is told so by sett up, before anything is made, and by sett doctor, with the rule that
// gives them.
func TestUpWithoutRights(t *testing.T) {
	r := redistest.Start(t)
	e, dir := workspace(t)
	r.Send("ACL", "SETUSER", "ann", "on", ">right", "~*", "+@all", "resetchannels")
	at := "redis://ann:right@" + r.Addr()
	_, err := invoke(t.Context(), e, "up", "--redis-url", at)
	name := filepath.Base(dir)
	if want := "ACL SETUSER ann &sett:{" + name + "}:* +publish +subscribe"; role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "it may not: publish, subscribe") || !strings.Contains(hint(err), want) {
		t.Errorf("up says %v\nhint: %s", err, hint(err))
	}
	r.Send("ACL", "SETUSER", "ann", "&*", "-xadd")
	if _, err = invoke(t.Context(), e, "up", "--redis-url", at); role.CodeOf(err) != role.Environment || !strings.Contains(hint(err), "ACL SETUSER ann +xadd") {
		t.Errorf("up says %v\nhint: %s", err, hint(err))
	}
	s, err := os.ReadFile(filepath.Join(e.Args[1], "sett.yml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(e.Args[1], "sett.yml"), append(s, ("\nredis: {url: \""+at+"\"}\n")...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := invoke(t.Context(), e, "doctor"); !strings.Contains(said, "ACL SETUSER ann +xadd") {
		t.Errorf("doctor says\n%s", said)
	}
	if left := runningUnits(t, dir); left != nil {
		t.Errorf("left running: %q", left)
	}
}
