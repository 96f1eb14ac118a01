package ui

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/act"
	"sett/roles/role"
)

// disk is the file of a server.
type disk struct{ path string }

// writing is held by the server that writes its file.
var writing sync.Mutex

func (disk) Lock() (unlock func(), err error) {
	writing.Lock()
	return writing.Unlock, nil
}

func (d disk) Read(v any) error {
	b, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func (d disk) Write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(d.path, b, 0o600)
}

// entropy makes secrets that differ.
type entropy struct{ n atomic.Uint32 }

func (e *entropy) Read(b []byte) (int, error) {
	clear(b)
	n := e.n.Add(1)
	b[0], b[1] = byte(n), byte(n>>8)
	return len(b), nil
}

// site is a server whose commands are the test's.
type site struct {
	*Server
	t    *testing.T
	now  time.Time
	file string
}

func newSite(t *testing.T, run act.Command) *site {
	t.Helper()
	s := &site{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), file: filepath.Join(t.TempDir(), "ui.json")}
	s.Server = &Server{Run: run, Instance: "badgers", Again: "sett ui", port: 4321, streams: make(chan struct{}, 1)}
	s.Keys = &Keys{Who: "anna", Now: func() time.Time { return s.now }, Entropy: &entropy{}, File: disk{s.file}}
	return s
}

// secret issues a secret.
func (s *site) secret(of kind) string {
	s.t.Helper()
	secret, err := s.Keys.issue(of)
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// ask sends a request, for this server unless a header says otherwise.
func (s *site) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:4321/", strings.NewReader(body))
	at, err := url.ParseRequestURI(target)
	if err != nil {
		s.t.Fatal(err)
	}
	r.URL, r.RequestURI = at, target
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// says is a command that prints its arguments as JSON.
func says(_ context.Context, args []string, _ io.Reader, out, _ io.Writer) error {
	return json.NewEncoder(out).Encode(args)
}

// Requests that are none of the page's are refused before anything is run for them, and
// every answer forbids what a browser must not do with it.
func TestGuards(t *testing.T) {
	ran := 0
	s := newSite(t, func(_ context.Context, _ []string, _ io.Reader, out, _ io.Writer) error {
		ran++
		_, err := io.WriteString(out, "{}\n")
		return err
	})
	key, cookie := "Bearer "+s.secret(api), "sett-badgers="+s.secret(shell)
	for _, c := range []struct {
		name, method, target string
		headers              []string
		status               int
		runs                 bool
	}{
		{"the page", "GET", "/ui/", []string{"Cookie", cookie}, 200, false},
		{"a part of it", "GET", "/ui/app.js", []string{"Cookie", cookie}, 200, false},
		{"the API", "GET", "/api/v1/goals", []string{"Authorization", key}, 200, true},
		{"the API by another name of this host", "GET", "/api/v1/goals", []string{"Host", "localhost:4321", "Authorization", key}, 200, true},
		{"the API from the page", "GET", "/api/v1/goals", []string{"Authorization", key, "Origin", "http://127.0.0.1:4321", "Sec-Fetch-Site", "same-origin"}, 200, true},
		{"no slash", "GET", "/ui", nil, 303, false},
		{"no cookie", "GET", "/ui/", nil, 401, false},
		{"a part without a cookie", "GET", "/ui/app.js", nil, 401, false},
		{"another instance's cookie", "GET", "/ui/", []string{"Cookie", strings.Replace(cookie, "badgers", "foxes", 1)}, 401, false},
		{"no key", "GET", "/api/v1/goals", nil, 401, false},
		{"the cookie instead of the key", "GET", "/api/v1/goals", []string{"Cookie", cookie}, 401, false},
		{"the cookie's secret as the key", "GET", "/api/v1/goals", []string{"Authorization", "Bearer " + strings.TrimPrefix(cookie, "sett-badgers=")}, 401, false},
		{"the key as the cookie", "GET", "/ui/", []string{"Cookie", "sett-badgers=" + strings.TrimPrefix(key, "Bearer ")}, 401, false},
		{"the key in the address", "GET", "/api/v1/goals?token=" + strings.TrimPrefix(key, "Bearer "), nil, 401, false},
		{"a rebound name", "GET", "/api/v1/goals", []string{"Host", "evil.example:4321", "Authorization", key}, 403, false},
		{"a rebound name that begins well", "GET", "/ui/", []string{"Host", "127.0.0.1.evil.example:4321", "Cookie", cookie}, 403, false},
		{"another port", "GET", "/ui/", []string{"Host", "127.0.0.1:80", "Cookie", cookie}, 403, false},
		{"no port", "GET", "/ui/", []string{"Host", "127.0.0.1", "Cookie", cookie}, 403, false},
		{"a foreign origin", "GET", "/api/v1/goals", []string{"Authorization", key, "Origin", "http://evil.example"}, 403, false},
		{"the origin of another port", "POST", "/api/v1/approve/X", []string{"Authorization", key, "Origin", "http://127.0.0.1:80"}, 403, false},
		{"a sandbox's origin", "POST", "/api/v1/approve/X", []string{"Authorization", key, "Origin", "null"}, 403, false},
		{"a foreign site", "GET", "/api/v1/goals", []string{"Authorization", key, "Sec-Fetch-Site", "cross-site"}, 403, false},
		{"a form", "POST", "/api/v1/approve/X", []string{"Authorization", key, "Idempotency-Key", "k", "Content-Type", "application/x-www-form-urlencoded"}, 415, false},
		{"an act without a key of its own", "POST", "/api/v1/approve/X", []string{"Authorization", key, "Content-Type", "application/json"}, 400, false},
		{"an act that is read", "GET", "/api/v1/approve/X", []string{"Authorization", key}, 405, false},
		{"a read that is posted", "POST", "/api/v1/goals", []string{"Authorization", key}, 405, false},
		{"a page that is posted", "POST", "/ui/", []string{"Cookie", cookie}, 405, false},
		{"up and out", "GET", "/ui/../api/v1/goals", []string{"Cookie", cookie}, 404, false},
		{"up and out, written otherwise", "GET", "/ui/%2e%2e/ui.json", []string{"Cookie", cookie}, 404, false},
		{"a source", "GET", "/ui/page/app.js", []string{"Cookie", cookie}, 404, false},
		{"two slashes", "GET", "//ui/", []string{"Cookie", cookie}, 404, false},
		{"a command that the API has not", "GET", "/api/v1/up", []string{"Authorization", key}, 404, false},
		{"a flag in an id's place", "GET", "/api/v1/report/--file=x", []string{"Authorization", key}, 404, false},
		{"a path in an id's place", "GET", "/api/v1/show/..%2f..", []string{"Authorization", key}, 404, false},
		{"a flag that is not for reading", "GET", "/api/v1/report/X?file=x", []string{"Authorization", key}, 400, false},
		{"a form that is not for programs", "GET", "/api/v1/report/X?output=html", []string{"Authorization", key}, 400, false},
		{"a stream from nowhere", "GET", "/api/v1/watch", []string{"Authorization", key, "Last-Event-ID", "--until=1h"}, 400, false},
	} {
		before := ran
		w := s.ask(c.method, c.target, "{}", c.headers...)
		if w.Code != c.status || (ran > before) != c.runs {
			t.Errorf("%s: %d, ran %v; want %d, %v\n%s", c.name, w.Code, ran > before, c.status, c.runs, w.Body)
		}
		h := w.Header()
		for header, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if !strings.Contains(h.Get(header), want) {
				t.Errorf("%s: %s is %q", c.name, header, h.Get(header))
			}
		}
		if c.status == http.StatusUnauthorized && !strings.Contains(w.Body.String(), `"hint":"sett ui"`) {
			t.Errorf("%s names no command: %s", c.name, w.Body)
		}
		if strings.Contains(w.Body.String()+h.Get("Location"), strings.TrimPrefix(key, "Bearer ")) {
			t.Errorf("%s tells the key", c.name)
		}
	}
}

// The page names its instance.
func TestPageNamesInstance(t *testing.T) {
	s := newSite(t, says)
	if w := s.ask("GET", "/ui/", "", "Cookie", "sett-badgers="+s.secret(shell)); !strings.Contains(w.Body.String(), "<strong>badgers</strong>") || strings.Contains(w.Body.String(), instanceMark) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The printed address opens the page once; what it gives is remembered as hashes, for
// one person and a time, and outlives the server.
func TestEnter(t *testing.T) {
	s := newSite(t, says)
	address, err := s.Address("7XK2ABCD")
	if err != nil {
		t.Fatal(err)
	}
	target := strings.TrimPrefix(address, "http://127.0.0.1:4321")
	w := s.ask("GET", target, "")
	to, cookie := w.Header().Get("Location"), w.Header().Get("Set-Cookie")
	key, rest, _ := strings.Cut(strings.TrimPrefix(to, "/ui/#key="), "&")
	if w.Code != http.StatusSeeOther || rest != "goal=7XK2ABCD" || strings.Contains(to, "token") {
		t.Fatalf("%d, to %s", w.Code, to)
	}
	if !strings.HasPrefix(cookie, "sett-badgers=") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie %s", cookie)
	}
	if again := s.ask("GET", target, ""); again.Code != http.StatusUnauthorized {
		t.Errorf("a second time: %d", again.Code)
	}
	if address, err = s.Address("--evil"); err != nil {
		t.Fatal(err)
	}
	w = s.ask("GET", strings.TrimPrefix(address, "http://127.0.0.1:4321"), "", "Sec-Fetch-Site", "cross-site") // a link in another page, such as a terminal's
	if to := w.Header().Get("Refresh"); w.Code != http.StatusOK || !strings.HasPrefix(to, "0; url=/ui/#key=") || strings.Contains(to, "evil") {
		t.Errorf("from another site: %d, %s", w.Code, to)
	}
	kept, err := os.ReadFile(s.file)
	if err != nil || strings.Contains(string(kept), key) || strings.Contains(string(kept), strings.TrimPrefix(strings.Split(cookie, ";")[0], "sett-badgers=")) {
		t.Errorf("kept %s, %v", kept, err)
	}
	goals := func(of *site) int { return of.ask("GET", "/api/v1/goals", "", "Authorization", "Bearer "+key).Code }
	next := newSite(t, says)
	next.Keys.File = disk{s.file}
	if code := goals(next); code != http.StatusOK {
		t.Errorf("by the next server: %d", code)
	}
	next.Keys.Who = "ben"
	if code := goals(next); code != http.StatusUnauthorized {
		t.Errorf("for another person: %d", code)
	}
	s.now = s.now.Add(lives[api])
	if code := goals(s); code != http.StatusUnauthorized {
		t.Errorf("after its time: %d", code)
	}
	if _, err := s.Keys.issue(shell); err != nil { // what is over is forgotten
		t.Fatal(err)
	}
	var r record
	if err := s.Keys.File.Read(&r); err != nil || len(r.Secrets) != 1 {
		t.Errorf("kept %+v, %v", r, err)
	}
}

// Servers of one instance leave each other's secrets alone, whichever writes last.
func TestTwoServers(t *testing.T) {
	first := newSite(t, says)
	second := newSite(t, says)
	second.Keys.File, second.Keys.Entropy = disk{first.file}, first.Keys.Entropy
	enter := func(s *site, address string) string {
		_, key, _ := strings.Cut(s.ask("GET", strings.TrimPrefix(address, "http://127.0.0.1:4321"), "").Header().Get("Location"), "#key=")
		return key
	}
	goals := func(s *site, key string) int {
		return s.ask("GET", "/api/v1/goals", "", "Authorization", "Bearer "+key).Code
	}
	var addresses []string
	for _, s := range []*site{first, second} {
		address, err := s.Address("")
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address)
	}
	ofSecond := enter(second, addresses[1])
	ofFirst := enter(first, addresses[0])
	if key := enter(second, addresses[0]); key != "" {
		t.Error("an address opened the page a second time, at another server")
	}
	if code := goals(second, "wrong"); code != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d", code)
	}
	next := newSite(t, says)
	next.Keys.File = disk{first.file}
	for name, s := range map[string]*site{"first": first, "second": second, "next": next} {
		if a, b := goals(s, ofFirst), goals(s, ofSecond); a != http.StatusOK || b != http.StatusOK {
			t.Errorf("%s: %d, %d", name, a, b)
		}
	}

	var wg sync.WaitGroup
	var secrets sync.Map
	for i := range 40 {
		wg.Go(func() {
			secret, err := []*site{first, second}[i%2].Keys.issue(api)
			if err != nil {
				t.Error(err)
			}
			secrets.Store(secret, i)
		})
	}
	wg.Wait()
	secrets.Range(func(secret, i any) bool {
		if !next.Keys.opens(api, secret.(string)) {
			t.Errorf("secret %v is lost", i)
		}
		return true
	})
}

// A server proves that it knows the hash of a page's key, for its own port alone.
func TestProof(t *testing.T) {
	s := newSite(t, says)
	key := s.secret(api)
	known := hash(key)
	const nonce = "0123456789abcdef-1"
	target := "/ui/proof?key=" + known[:16] + "&nonce=" + nonce
	mac := hmac.New(sha256.New, []byte(known))
	_, _ = io.WriteString(mac, nonce+":4321")
	if w := s.ask("GET", target, ""); w.Code != http.StatusOK || w.Body.String() != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	first := s.ask("GET", target, "").Body.String()
	s.port = 4322
	if w := s.ask("GET", target, "", "Host", "127.0.0.1:4322"); w.Code != http.StatusOK || w.Body.String() == first {
		t.Errorf("another port has the same proof: %d %s", w.Code, w.Body)
	}
	s.port = 4321
	for name, other := range map[string]string{
		"a cookie's hash": "/ui/proof?nonce=" + nonce + "&key=" + hash(s.secret(shell))[:16], "all keys": "/ui/proof?key=&nonce=" + nonce, "no nonce": "/ui/proof?key=" + known[:16],
	} {
		if w := s.ask("GET", other, ""); w.Code == http.StatusOK {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
	s.now = s.now.Add(lives[api])
	if w := s.ask("GET", target, ""); w.Code != http.StatusUnauthorized {
		t.Errorf("after its time: %d", w.Code)
	}
}

// A request that comes twice, or many times at once, acts once.
func TestActOnce(t *testing.T) {
	var ran atomic.Int32
	var texts sync.Map
	s := newSite(t, func(_ context.Context, args []string, in io.Reader, out, messages io.Writer) error {
		n := ran.Add(1)
		text, err := io.ReadAll(in)
		texts.Store(n, strings.Join(args, " ")+"|"+string(text))
		if strings.Contains(string(text), "fail") {
			return role.Fail(role.Environment, errors.New("no blackboard"), "sett up")
		}
		_, _ = io.WriteString(messages, "sett: answered; writer goes on\n")
		_, _ = io.WriteString(out, "01ANSWER\n")
		return err
	})
	key := s.secret(api)
	post := func(path, body, own string) *httptest.ResponseRecorder {
		return s.ask("POST", "/api/v1/"+path, body, "Authorization", "Bearer "+key, "Idempotency-Key", own, "Content-Type", "application/json")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []string
	for range 8 {
		wg.Go(func() {
			w := post("answer/7XK2", `{"text":"- the red one"}`, "k1")
			mu.Lock()
			defer mu.Unlock()
			all = append(all, w.Body.String())
		})
	}
	wg.Wait()
	slices.Sort(all)
	if all = slices.Compact(all); ran.Load() != 1 || len(all) != 1 || all[0] != `{"ids":["01ANSWER"],"says":"answered; writer goes on"}`+"\n" {
		t.Errorf("ran %d times: %q", ran.Load(), all)
	}
	if text, _ := texts.Load(int32(1)); text != "answer -- 7XK2 -|- the red one" {
		t.Errorf("ran %v", text)
	}
	if w := post("answer/7XK2", `{"text":"the blue one"}`, "k1"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("another act of that key: %d", w.Code)
	}
	if w := post("answer/7XK2", `{"text":"x","force":true}`, "k2"); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown wish: %d", w.Code)
	}
	for range 2 { // what did nothing may be tried again
		if w := post("answer/7XK2", `{"text":"fail"}`, "k3"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"hint":"sett up"`) {
			t.Errorf("without a blackboard: %d %s", w.Code, w.Body)
		}
	}
	if ran.Load() != 3 {
		t.Errorf("ran %d times", ran.Load())
	}
	for _, c := range []struct{ path, body, says string }{
		{"approve/A", `{"text":"only if it is red"}`, `"approve takes no text; review or reject does"`}, {"approve/A", `{"text":""}`, `approve takes no text`},
		{"approve/A", `{"approve":true}`, `approve takes no \"approve\"`}, {"answer/A", `{"text":"x","approve":true}`, `answer takes no \"approve\"`}, {"cancel/A", `{"text":"x","approve":false}`, `cancel takes no`},
		{"retry/A", `{"Text":"now"}`, `retry takes no \"Text\"`}, {"review/A", `{"approve":true,"text":"but"}`, `either approves or says`}, {"review/A", `{"approve":"yes"}`, `cannot be read`}, {"retry/A", `{} {}`, `cannot be read`}, {"retry/A", ``, `cannot be read`},
	} {
		if w := post(c.path, c.body, "refused"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if ran.Load() != 3 {
		t.Errorf("ran %d times", ran.Load())
	}
	for _, c := range []struct{ path, body, want string }{
		{"approve/A", `{}`, "approve -- A|"}, {"reject/A", `{"text":"no"}`, "reject -- A -|no"}, {"review/A", `{"approve":true}`, "review --approve -- A|"},
		{"review/A", `{"text":"no"}`, "review --feedback=- -- A|no"}, {"cancel/A", `{"text":"no"}`, "cancel -- A -|no"}, {"retry/A", `{}`, "retry -- A|"}, {"retry/A", `{"text":"now"}`, "retry -- A -|now"},
	} {
		post(c.path, c.body, c.want)
		if text, _ := texts.Load(ran.Load()); text != c.want {
			t.Errorf("%s %s ran %v", c.path, c.body, text)
		}
	}
}

// An act that was refused for now is not remembered: its next request acts. Other refusals are.
func TestRefusedForNow(t *testing.T) {
	var refusal error
	s := newSite(t, func(_ context.Context, _ []string, _ io.Reader, out, _ io.Writer) error {
		if refusal == nil {
			_, _ = io.WriteString(out, "01REVIEW\n")
		}
		return refusal
	})
	headers := []string{"Authorization", "Bearer " + s.secret(api), "Content-Type", "application/json", "Idempotency-Key", ""}
	for name, c := range map[string]struct {
		err            error
		status, second int
	}{
		"down":     {role.Fail(role.NotFound, fmt.Errorf("instance u3: %w", role.ErrNotRunning), "sett up"), 503, 200},
		"stopping": {role.Fail(role.NotFound, fmt.Errorf("instance u3: %w", blackboard.ErrStopping), "sett up"), 503, 200},
		"away":     {fmt.Errorf("approve: %w", blackboard.ErrUnavailable), 503, 200},
		"slow":     {role.Fail(role.TimedOut, errors.New("1m was not enough"), ""), 504, 200},
		"unknown":  {fmt.Errorf("artefact: %w", blackboard.ErrNotFound), 404, 404},
		"refused":  {fmt.Errorf("approve: %w", &blackboard.RefusedError{Reason: "anna approved it"}), 409, 409},
	} {
		headers[5] = name
		refusal = c.err
		w := s.ask("POST", "/api/v1/approve/7XK2", "{}", headers...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), `"error":`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		refusal = nil
		if w := s.ask("POST", "/api/v1/approve/7XK2", "{}", headers...); w.Code != c.second {
			t.Errorf("%s, again: %d %s", name, w.Code, w.Body)
		}
	}
}

// A read is the command line that it names.
func TestReads(t *testing.T) {
	s := newSite(t, says)
	key := s.secret(api)
	for _, c := range []struct{ target, mime, want string }{
		{"list", "application/json", `["list","--verbose","--output=json","--","badgers"]`},
		{"goals?status=failed&limit=5", "application/json", `["goals","--limit=5","--status=failed","--output=json"]`},
		{"unearth/7XK2?diff=true", "application/json", `["unearth","--diff","--output=json","--","7XK2"]`},
		{"hoard?type=--file%3Dx", "application/json", `["hoard","--type=--file=x","--output=json"]`},
		{"report/@last?output=timeline", "image/svg+xml", `["report","--output=timeline","--","@last"]`},
		{"models/7XK2", "application/json", `["models","show","--output=json","--","7XK2"]`},
		{"watch?since=all&until=0s", "application/jsonl", `["watch","--since=all","--until=0s","--output=jsonl"]`},
	} {
		w := s.ask("GET", "/api/v1/"+c.target, "", "Authorization", "Bearer "+key)
		if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != c.want || !strings.HasPrefix(w.Header().Get("Content-Type"), c.mime+";") {
			t.Errorf("%s: %d %s %s", c.target, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
	for code, status := range map[role.Code]int{role.Usage: 400, role.NotFound: 404, role.TimedOut: 504, role.Environment: 503, role.Failed: 500} {
		s.Run = func(context.Context, []string, io.Reader, io.Writer, io.Writer) error {
			return role.Fail(code, errors.New("no \x1b[2J"), "try")
		}
		if w := s.ask("GET", "/api/v1/goals", "", "Authorization", "Bearer "+key); w.Code != status || strings.Contains(w.Body.String(), "\x1b") {
			t.Errorf("exit code %d: %d %s", code, w.Code, w.Body)
		}
	}
}

// The stream has each entry with its id, says when the blackboard is away, and goes on
// after the entry that a reader saw last.
func TestStream(t *testing.T) {
	var args []string
	reached := make(chan struct{})
	s := newSite(t, func(ctx context.Context, line []string, _ io.Reader, out, messages io.Writer) error {
		if line[0] != "watch" {
			return nil
		}
		args = line
		_, _ = io.WriteString(out, `{"id":"7-0","kind":"goal"}`+"\n"+`{"id":"8-0",`)
		_, _ = io.WriteString(messages, "sett: blackboard lost, waiting for it: EOF\n")
		_, _ = io.WriteString(messages, "sett: blackboard is back\n")
		_, _ = io.WriteString(out, `"kind":"open"}`+"\n"+`{"kind":"waits","waits":[]}`+"\n")
		close(reached)
		<-ctx.Done()
		return role.Fail(role.Environment, errors.New("the ledger is gone"), "")
	})
	key := "Bearer " + s.secret(api)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(s)
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if s.port, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/watch?since=all", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", key)
	r.Header.Set("Last-Event-ID", "6-1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	<-reached
	want := ": hello\n\nid: 7-0\ndata: {\"id\":\"7-0\",\"kind\":\"goal\"}\n\nevent: away\ndata: {\"says\":\"blackboard lost, waiting for it: EOF\"}\n\n" +
		"event: back\ndata: {\"says\":\"blackboard is back\"}\n\nid: 8-0\ndata: {\"id\":\"8-0\",\"kind\":\"open\"}\n\nevent: waits\ndata: {\"kind\":\"waits\",\"waits\":[]}\n\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(bufio.NewReader(answer.Body), got); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if line := strings.Join(args, " "); line != "watch --since=6-1 --output=jsonl" {
		t.Errorf("ran %s", line)
	}
	if w := s.ask("GET", "/api/v1/watch", "", "Authorization", key, "Host", at.Host); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one page too many: %d", w.Code)
	}
	cancel()
}

// A server takes the port of the one before, so that an open page finds it.
func TestListen(t *testing.T) {
	s := newSite(t, says)
	first, err := s.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	port := s.port
	next := newSite(t, says)
	next.Keys.File = disk{s.file}
	other, err := next.Listen(0)
	if err != nil || next.port == port {
		t.Fatalf("while the port is taken: %v", err)
	}
	_, _ = first.Close(), other.Close()
	last, err := next.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = last.Close() }()
	if !strings.HasPrefix(last.Addr().String(), "127.0.0.1:") {
		t.Errorf("listens at %s", last.Addr())
	}
	if _, err := os.Stat(s.file); errors.Is(err, fs.ErrNotExist) {
		t.Error("the port was not kept")
	}
}

// The page has no way to make code or markup of a text, and asks nobody else.
func TestPageIsPlain(t *testing.T) {
	total := 0
	for name, p := range parts() {
		total += len(p.body)
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "parseFromString", "localStorage", "style=", "http://", "https://"} {
			text := strings.ReplaceAll(string(p.body), "http://www.w3.org/2000/svg", "")
			if strings.Contains(text, word) {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
	if most := 200 << 10; total > most {
		t.Errorf("the page has %d bytes, more than %d", total, most)
	}
}
