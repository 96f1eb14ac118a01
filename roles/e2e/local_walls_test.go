//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// someone is the user of these tests where root runs them: the kernel hides nothing from
// root.
const someone = 65534

// asSomeone runs a command as someone, unless the test's own user is not root.
func asSomeone(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someone, Gid: someone}}
	}
	return cmd
}

// preparedForSomeone is prepare, for an instance of someone's.
func preparedForSomeone(t *testing.T, c clan) *instance {
	t.Helper()
	in := prepare(t, options{clan: c})
	in.o.user = asSomeone
	if os.Getuid() != 0 {
		return in
	}
	for dir := in.root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		open(t, dir)
	}
	open(t, filepath.Dir(binary))
	err := filepath.WalkDir(in.root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, someone, someone))
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// open lets everybody enter a directory.
func open(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err == nil {
		err = os.Chmod(dir, info.Mode().Perm()|0o055)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLocalCredentials has a program of the same user look for the blackboard's password
// at all parts of an instance in local mode, also after each was restarted.
func TestLocalCredentials(t *testing.T) {
	t.Parallel()
	c := solo(finished, "")
	c.extra = "notify: {command: ['true']}\n"
	in := preparedForSomeone(t, c)
	in.up()
	in.settled()
	password := in.password()
	parts := []string{"blackboard", "keeper", "orchestrator", "notifier", "agent-solo"}
	for _, part := range parts {
		in.hidden(part, password)
	}
	for _, part := range parts {
		in.bounce(part)
		in.hidden(part, password)
	}
	in.settled()
	goal := in.post("after all restarts")
	in.await(goal, enough)
	in.must("forage", "--goal", "once more", "--wait")
	in.must("down")
	for _, part := range parts {
		if u, ok := in.running(part); ok {
			t.Errorf("sett down left %s as process %s", part, u.ID)
		}
	}
}

// password is the blackboard's.
func (in *instance) password() string {
	in.t.Helper()
	at, err := url.Parse(in.boardURL())
	if err != nil {
		in.t.Fatal(err)
	}
	password, _ := at.User.Password()
	if password == "" {
		in.t.Fatal("the blackboard has no password")
	}
	return password
}

// hidden checks that a part has no password in its environment and its arguments, and
// that its user cannot look into the process.
func (in *instance) hidden(part, password string) {
	in.t.Helper()
	dir := "/proc/" + strconv.Itoa(in.pid(part)) + "/"
	eventually(in.t, enough, part+" hides its memory", func() bool {
		return asSomeone(exec.Command("cat", dir+"environ")).Run() != nil
	})
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(dir + file)
		switch {
		case errors.Is(err, fs.ErrPermission) && os.Getuid() != 0:
		case err != nil:
			in.t.Errorf("%s: %v", part, err)
		case strings.Contains(string(text), password):
			in.t.Errorf("%s of %s has the password: %q", file, part, text)
		}
	}
	for _, file := range []string{"environ", "maps", "mem", "fd/0", "fd/3", "root/.", "cwd/."} {
		out, err := asSomeone(exec.Command("head", "-c1", dir+file)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ermission denied") {
			in.t.Errorf("%s%s of %s: %q, %v; want permission denied", dir, file, part, out, err)
		}
	}
}

// speaker is a tool that speaks as a person in several ways, about the artefact in its
// payload, and reports the exit code and the words of each.
const speaker = `
sett=%q id=${SETT_TARGET_PAYLOAD#attack }
try() { name=$1; shift; code=0; "$@" >"$name.said" 2>&1 </dev/null || code=$?; echo $code >"$name.tmp"; mv "$name.tmp" "$name.code"; }
clean="env -i PATH=$PATH HOME=$HOME %s"
cd "$(mktemp -d)"
try plain "$sett" --name %s approve "$id"
try bare $clean "$sett" approve "$id"
try session setsid -w $clean "$sett" approve "$id"
(setsid $clean sh -c 'sleep 0.2; "$0" approve "$1" >twice.said 2>&1 </dev/null; echo $? >twice.tmp; mv twice.tmp twice.code' "$sett" "$id" &) &
wait
until test -s twice.code; do sleep 0.05; done
for c in reject retry cancel answer; do try $c $clean "$sett" $c "$id" because; done
try review $clean "$sett" review "$id" --approve
for f in *.code; do echo "${f%%.code} $(cat $f) $(cat ${f%%.code}.said)"; done >%q
say Terminal Done done`

// TestLocalToolIsNoPerson has a tool speak as a person, with another environment and in
// another session, and as an orphan.
func TestLocalToolIsNoPerson(t *testing.T) {
	t.Parallel()
	in := prepare(t, options{})
	report := filepath.Join(in.root, "said")
	in.clan = clan{extra: "approve: [Draft]\n", agents: []agent{
		{name: "writer", script: `case "$(printf %s "$in" | jq -r .payload)" in draft) echo exclusive ;; *) echo ignore ;; esac`,
			tool: `say Standard Draft text`},
		{name: "impostor", script: `case "$(printf %s "$in" | jq -r .payload)" in attack*) echo exclusive ;; *) echo ignore ;; esac`,
			tool: fmt.Sprintf(speaker, binary, "XDG_STATE_HOME="+filepath.Join(in.root, "state")+" SETT_INSTANCE="+in.name, in.name, report)},
	}}
	in.clan.write(in)
	in.git("add", ".")
	in.git("commit", "-q", "-m", "the clan")
	in.up()
	in.post("draft")
	var id string
	eventually(t, enough, "a draft that waits", func() bool {
		var q struct{ Questions []struct{ ID string } }
		if err := json.Unmarshal([]byte(in.must("questions", "-o", "json")), &q); err != nil {
			t.Fatal(err)
		}
		if len(q.Questions) > 0 {
			id = q.Questions[0].ID
		}
		return id != ""
	})
	for _, attack := range []func(){
		func() { in.await(in.post("attack "+id), enough) },
		func() { in.must("try", "impostor", "--goal", "attack "+id) },
	} {
		attack()
		refusedAll(t, report)
	}
	if out := in.must("questions", "-o", "json"); !strings.Contains(out, id) {
		t.Errorf("the draft does not wait any more: %s", out)
	}
	in.must("approve", id)
}

// refusedAll checks that the report of a speaker says so of all that it tried.
func refusedAll(t *testing.T, report string) {
	t.Helper()
	said, err := os.ReadFile(report)
	if err = errors.Join(err, os.Remove(report)); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"plain", "bare", "session", "twice", "reject", "retry", "cancel", "answer", "review"} {
		if !strings.Contains("\n"+string(said), "\n"+way+" 2 sett: error: a tool may not speak as a person") {
			t.Errorf("%s was not refused:\n%s", way, said)
		}
	}
}
