package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

// pageOf is the page of a stage, as a program reads it.
type pageOf struct {
	*call
	base, key string
}

// opened starts the page and takes its key.
func (s *stage) opened(args ...string) *pageOf {
	s.t.Helper()
	p := &pageOf{call: s.start(append([]string{"ui"}, args...)...)}
	s.Until("the page's address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	address := strings.TrimSpace(p.out.String())
	p.base, _, _ = strings.Cut(address, "/ui/")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(address)
	s.Must(err)
	s.Must(r.Body.Close())
	_, p.key, _ = strings.Cut(r.Header.Get("Location"), "#key=")
	p.key, _, _ = strings.Cut(p.key, "&")
	if r.StatusCode != http.StatusSeeOther || p.key == "" {
		s.t.Fatalf("the address leads to %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	return p
}

// request sends a request with the key.
func (p *pageOf) request(method, path, body string, headers ...string) *http.Response {
	p.s.t.Helper()
	r, err := http.NewRequestWithContext(p.s.t.Context(), method, p.base+"/api/v1/"+path, strings.NewReader(body))
	p.s.Must(err)
	r.Header.Set("Authorization", "Bearer "+p.key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	p.s.Must(err)
	p.s.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// whole is a request with its whole answer.
func (p *pageOf) whole(method, path, body string, headers ...string) (int, string) {
	p.s.t.Helper()
	r := p.request(method, path, body, headers...)
	text, err := io.ReadAll(r.Body)
	p.s.Must(err)
	return r.StatusCode, string(text)
}

// ages are the fields that are another value a moment later.
var ages = regexp.MustCompile(`"(age_seconds|took_seconds|alive)": ?[0-9.]+`)

// The API says what the command line prints, to the byte.
func TestPageReads(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	s.logged()
	s.write("sett.yml", goldenClan)
	p := s.opened("--no-open", "--goal", ids["goal"])
	for path, line := range map[string]string{
		"list": "list --verbose stage -o json", "goals": "goals -o json", "goals?status=failed&limit=1": "goals --status failed --limit 1 -o json", "show/{goal}": "show {goal} -o json", "show/{goal}?no-claims=true": "show {goal} --no-claims -o json",
		"show/{rework}": "show {rework} -o json", "show/{second}": "show {second} -o json", "show/{asking}": "show {asking} -o json", "hoard?workflow={goal}": "hoard --workflow {goal} -o json",
		"questions": "questions -o json", "plan": "plan -o json", "plan?output=svg": "plan -o svg", "plan?walked=true": "plan --walked -o json", "plan?walked&output=svg": "plan --walked -o svg", "why/{terminal}": "why {terminal} -o json", "unearth/{second}": "unearth {second} -o json",
		"graph/{goal}": "graph {goal} -o json", "report/{goal}": "report {goal} -o json", "report/{goal}?only=outcome,lacks": "report {goal} -o json --only outcome,lacks", "report/{goal}?output=timeline": "report {goal} -o timeline", "report/{goal}?output=graph": "report {goal} -o graph",
		"models": "models -o json", "logs/writer?lines=2": "logs writer --lines 2 -o json", "watch?since=all&until=0s": "watch --since all --until 0s -o jsonl",
	} {
		want, _, err := s.run(named(line, ids)...)
		s.Must(err)
		status, got := p.whole(http.MethodGet, strings.Join(named(path, ids), ""), "")
		if status != http.StatusOK || ages.ReplaceAllString(got, "") != ages.ReplaceAllString(want, "") || want == "" {
			t.Errorf("%s: %d\n%s\nwant\n%s", path, status, got, want)
		}
	}
	if status, body := p.whole(http.MethodGet, "show/NOSUCHID", ""); status != http.StatusNotFound || !strings.Contains(body, `"exit_code":3`) {
		t.Errorf("an unknown id: %d %s", status, body)
	}
	p.stop()
	if err := p.wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

// What is done through the API is a person's, in the ledger, once; and the stream tells
// all that happened from the entry on that its reader saw last.
func TestPageActs(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	ids := s.tell()
	p := s.opened("--no-open")
	stream := p.request(http.MethodGet, "watch?since=all", "")
	first := eventsOf(s, stream.Body, 3)
	from, err := s.board.Ledger.Last(t.Context())
	s.Must(err)
	act := func(key string) (int, string) {
		return p.whole(http.MethodPost, "answer/"+ids["question"], `{"text":"- red,\nnot blue"}`, "Idempotency-Key", key, "Content-Type", "application/json")
	}
	status, body := act("one")
	var done struct{ IDs []string }
	s.Must(json.Unmarshal([]byte(body), &done))
	if again, same := act("one"); status != http.StatusOK || again != status || same != body || len(done.IDs) != 1 {
		t.Fatalf("%d %s, then %d %s", status, body, again, same)
	}
	if status, body := act("two"); status != http.StatusConflict || !strings.Contains(body, "anna answered it") {
		t.Errorf("another answer: %d %s", status, body)
	}
	answer, err := s.board.Records.Artefact(t.Context(), done.IDs[0])
	s.Must(err)
	if answer.Payload != "- red,\nnot blue" || blackboard.PersonOf(answer) != "anna" {
		t.Errorf("answer %+v", answer)
	}
	after, err := s.board.Ledger.History(t.Context(), from, 10)
	s.Must(err)
	if len(after) != 1 || after[0].Kind != blackboard.EventAnswer || after[0].Attributes[blackboard.AttributeBy] != "anna" {
		t.Errorf("the ledger: %+v", after)
	}
	all, err := s.board.Ledger.History(t.Context(), blackboard.Beginning, 1000)
	s.Must(err)
	rest := eventsOf(s, p.request(http.MethodGet, "watch", "", "Last-Event-ID", first[2].ID).Body, len(all)-3)
	for i, e := range append(first, rest...) {
		if e.ID != all[i].ID || e.Kind != all[i].Kind {
			t.Fatalf("entry %d is %+v, want %+v", i, e, all[i])
		}
	}
}

// What was asked while the instance did not run, or was being stopped, is done by the same
// request once it runs.
func TestPageActsOnceUp(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	p := s.opened("--no-open")
	act := func(path, key string) (int, string) {
		return p.whole(http.MethodPost, path, `{"text":"red"}`, "Idempotency-Key", key, "Content-Type", "application/json")
	}
	answer := "answer/" + ids["question"]
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "sett down"}))
	if status, body := act(answer, "one"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"error":"instance stage is not running","hint":"sett `) || !strings.Contains(body, `"exit_code":3`) {
		t.Errorf("down: %d %s", status, body)
	}
	if status, _ := p.whole(http.MethodGet, "goals", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a read while it is down: %d", status)
	}
	s.staff()
	claim := ids["failedClaim"]
	if status, body := act("retry/"+claim, "two"); status != http.StatusServiceUnavailable || !strings.Contains(body, "is being stopped") {
		t.Errorf("stopping: %d %s", status, body)
	}
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "sett up"}))
	for path, key := range map[string]string{answer: "one", "retry/" + claim: "two"} {
		if status, body := act(path, key); status != http.StatusOK {
			t.Errorf("%s once it runs: %d %s", path, status, body)
		}
	}
}

// eventsOf reads so many entries of a stream.
func eventsOf(s *stage, from io.Reader, n int) (all []blackboard.Event) {
	s.t.Helper()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for strings.Count(text.String(), "\ndata: ") < n || !strings.HasSuffix(text.String(), "\n\n") {
		got, err := from.Read(buffer)
		text.Write(buffer[:got])
		s.Must(err)
	}
	for _, message := range strings.Split(text.String(), "\n\n") {
		id, data, found := strings.Cut(message, "\ndata: ")
		if !found || len(all) == n {
			continue
		}
		var e blackboard.Event
		s.Must(json.Unmarshal([]byte(data), &e))
		if id != "id: "+e.ID {
			s.t.Fatalf("%s has the data of %s", id, e.ID)
		}
		all = append(all, e)
	}
	return all
}

// A tool may not open the page, and its README's lines for curl work.
func TestPageDoors(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	s.vars = map[string]string{env.ClaimID: "x"}
	if _, _, err := s.run("ui", "--no-open"); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "a tool may not speak as a person") {
		t.Errorf("for a tool: %v", err)
	}
	s.vars = nil
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl on the PATH: .ci/setup installs it")
	}
	text, err := os.ReadFile("ui/README.md")
	s.Must(err)
	_, script, _ := strings.Cut(string(text), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	c := s.start("ui", "--no-open")
	s.Until("the page's address", func() bool { return strings.HasSuffix(c.out.String(), "\n") })
	cmd := exec.Command("sh", "-eu", "-c", script)
	cmd.Env = append(os.Environ(), "ADDRESS="+strings.TrimSpace(c.out.String()), "QUESTION="+ids["question"], "no_proxy=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), ids["question"], `"goals": [`, `"kind":"result"`, `"says":"question `)
}

// byFile starts the page on a terminal of a desktop, and returns the file that the desktop is asked
// to open.
func (s *stage) byFile() (c *call, file string) {
	s.t.Helper()
	at := filepath.Join(s.home, "bin")
	s.Must(os.MkdirAll(at, 0o700))
	for _, name := range []string{"xdg-open", "open"} {
		s.Must(os.WriteFile(filepath.Join(at, name), []byte("#!/bin/sh\necho \"$@\" > \"$0.part\"\nmv \"$0.part\" "+at+"/args\n"), 0o700)) //nolint:gosec // a program
	}
	d := newDrawn(s.t, 200, 10)
	s.vars = map[string]string{"DISPLAY": ":0", "PATH": at + ":" + os.Getenv("PATH")}
	s.terminal = d.end
	c = s.start("ui")
	s.terminal, s.vars = nil, nil
	d.until("/ui/?token=", "is served until Ctrl-C")
	s.Until("the desktop is asked", func() bool { _, err := os.Stat(filepath.Join(at, "args")); return err == nil })
	args, err := os.ReadFile(filepath.Join(at, "args"))
	s.Must(err)
	return c, strings.TrimSpace(string(args))
}

// The desktop is asked to open a file: the page's address, which has a token, is in no argument.
func TestPageIsOpenedByAFile(t *testing.T) {
	s := newStage(t)
	c, file := s.byFile()
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(file, "token") || !strings.Contains(string(text), "/ui/?token=") {
		t.Errorf("it was asked to open %s: %s, %v", file, text, err)
	}
	c.stop()
	s.Must(c.wait())
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
}
