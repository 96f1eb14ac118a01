package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/logline"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

func TestReadableLine(t *testing.T) {
	a := &app{Terminal: term.Terminal{Env: role.Env{Now: func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) }}}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC).Local()
	l := logline.Parse(`{"time":"2026-01-02T03:04:05.006Z","level":"WARN","msg":"tool\u001b ended","component":"cub","agent":"one",` +
		`"claim":"01M7YJZT15TXRFDVFBWTH8EWZ1","n":3,"list":["a b"],"empty":"","text":"say \"hi\""}`)
	l.Source = logline.SourceOf("agent-one")
	want := a.Clock(at) + ` WARN  tool\x1b ended claim=WTH8EWZ1 n=3 list=["a b"] text="say \"hi\""`
	if got := l.Show(&a.Terminal, false); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, text := range []string{"panic: no JSON", `{"half":`, `["a"]`, ""} {
		if got := logline.Parse(text).Show(&a.Terminal, false); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// TestRedisLine: what Redis logs has a time and a weight as well.
func TestRedisLine(t *testing.T) {
	l := logline.Parse("1:M 21 Nov 2026 11:04:25.318 * Ready to accept connections")
	if l.Msg != "Ready to accept connections" || l.Level != "INFO" || !l.Time.Equal(time.Date(2026, 11, 21, 11, 4, 25, 318e6, time.UTC)) {
		t.Errorf("%+v", l)
	}
	if l := logline.Parse("1:M 21 Now 2026 11:04:25.318 * Ready"); l.Level != "" {
		t.Errorf("%+v", l)
	}
}

func TestSourceOf(t *testing.T) {
	id := "01M7YJZT15TXRFDVFBWTH8EWZ1"
	for unit, want := range map[string]logline.Source{
		"agent-a-b":                              {Unit: "agent-a-b", Part: "a-b"},
		"worker-a-b-" + id + "-2":                {Unit: "worker-a-b-" + id + "-2", Part: "a-b", Claim: id},
		"standby-a-b-" + id:                      {Unit: "standby-a-b-" + id, Part: "a-b"},
		"standby-a-b-01m7yjzt15txrfdvfbwth8ewz1": {Unit: "standby-a-b-01m7yjzt15txrfdvfbwth8ewz1", Part: "a-b"},
		"orchestrator":                           {Unit: "orchestrator", Part: "orchestrator"},
	} {
		if got := logline.SourceOf(unit); got != want {
			t.Errorf("%s: %+v", unit, got)
		}
	}
}

// kept makes an instance that does not run, with logs, and returns its world.
func kept(t *testing.T, logs map[string]string) (role.Env, string) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".local", "state", "sett", "kept")
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := &instance.Instance{Dir: dir, State: instance.State{Name: "kept", Workspace: home}}
	c := &config.Config{Agents: []config.Agent{{Name: "one"}, {Name: "two"}}}
	if err := in.Save(); err != nil {
		t.Fatal(err)
	}
	if err := instance.WriteFile(in.ConfigPath(), c); err != nil {
		t.Fatal(err)
	}
	for name, text := range logs {
		if err := os.WriteFile(filepath.Join(dir, "logs", name+".log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := role.Env{
		Now: time.Now, Stderr: io.Discard,
		Lookup: func(name string) (string, bool) {
			if name == "HOME" {
				return home, true
			}
			return "", false
		},
	}
	return e, dir
}

func line(second, msg string) string {
	return `{"time":"2026-01-02T03:04:` + second + `Z","level":"INFO","msg":"` + msg + `"}` + "\n"
}

func TestLogsInterleave(t *testing.T) {
	e, _ := kept(t, map[string]string{
		"agent-one":    line("01", "first") + "no time of its own\n" + line("04", "fourth"),
		"orchestrator": line("02", "second") + line("05", "fifth"),
		"worker-one-01M7YJZT15TXRFDVFBWTH8EWZ1-1": line("03", "third"),
	})
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--raw", []string{"first", "no time of its own", "second", "third", "fourth", "fifth"}},
		{"-n 2", []string{"fourth", "fifth"}},
		{"one --all -n 2", []string{":03 │ INFO  third", ":04 │ INFO  fourth"}},
		{"one", []string{":01 │ no time of its own"}},
		{"--claim WTH8EWZ1", []string{"third"}},
		{"--since 2026-01-02T03:04:04Z", []string{"fourth", "fifth"}},
		{"two", nil},
	} {
		var out strings.Builder
		e.Stdout, e.Args = &out, append([]string{"--name", "kept", "logs"}, strings.Fields(c.args)...)
		if err := Run(context.Background(), e); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if c.want == nil {
			if out.Len() > 0 {
				t.Errorf("%s: %s", c.args, out.String())
			}
			continue
		}
		if len(lines) != len(c.want) {
			t.Errorf("%s: got\n%s", c.args, out.String())
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: line %d is %q, want %q in it", c.args, i, lines[i], want)
			}
		}
	}
}

// The id of anything that belongs to a goal means it, also when nothing runs that tells so.
func TestLogsOfGoal(t *testing.T) {
	s := newStage(t)
	_, result := s.work(s.Goal("write"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft"})
	goal, err := s.board.Records.Artefact(t.Context(), result)
	s.Must(err)
	dir := filepath.Join(s.home, "sett", "stage", "logs")
	s.Must(os.MkdirAll(dir, 0o700))
	said := `{"time":"2026-01-02T03:04:05Z","level":"INFO","msg":"goal posted","workflow":"` + goal.WorkflowID + `"}` + "\n"
	s.Must(os.WriteFile(filepath.Join(dir, "orchestrator.log"), []byte(said), 0o600))
	for _, id := range []string{goal.WorkflowID, result, strings.ToLower(words.Short(result)), "@last"} {
		has(t, s.shown("logs", "--workflow", id), "goal posted")
	}
	s.refuses(role.NotFound, "nothing was logged about a goal ZZZZZZZZ", "logs", "--workflow", "ZZZZZZZZ")
	s.refuses(role.NotFound, "1 is too short: type 2 characters of the id or more", "show", "1")
	s.refuses(role.NotFound, "no artefact or claim has an id", "show", "ZZ")
}

// TestLogsFollow: the past once, then what is new, of units that begin later too;
// the end is no error.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	e, dir := kept(t, map[string]string{"agent-one": line("01", "past") + line("02", "last of the past")})
	r, w := io.Pipe()
	e.Stdout, e.Args = w, []string{"--name", "kept", "logs", "-f", "-n", "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, e); w.Close() }()
	in := bufio.NewScanner(r)
	expect := func(want string) {
		t.Helper()
		if !in.Scan() || !strings.Contains(in.Text(), want) {
			t.Fatalf("got %q, want %q in it", in.Text(), want)
		}
	}
	expect("last of the past")
	f, err := os.OpenFile(filepath.Join(dir, "logs", "agent-one.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(line("03", "new")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	expect("new")
	if err := os.WriteFile(filepath.Join(dir, "logs", "agent-two.log"), []byte(line("04", "later")), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("later")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end of following is an error: %v", err)
	}
}
