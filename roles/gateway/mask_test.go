package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role/modeltest"
)

// TestKeyIsMasked: a provider that echoes its key does not give it away, however it cuts
// it into parts.
func TestKeyIsMasked(t *testing.T) {
	for _, api := range model.APIs() {
		for _, stream := range []bool{false, true} {
			for _, chunks := range []int{1, 2, 3, 7, 20, 60} {
				dir := t.TempDir()
				step := modeltest.Step{Text: "before " + modeltest.KeyMark + " and " + modeltest.KeyMark + " after", Chunks: chunks, Header: map[string]string{"X-Echo": providerKey}}
				p := newPlace(t, func(g *env.Gateway) { g.Models[0].Record, g.Answers = dir, filepath.Join(dir, "answers") }, step)
				got := p.ask(ask{api: api, stream: stream})
				if got.status != http.StatusOK || got.err != nil || !strings.Contains(strings.Join(got.header.Values("X-Echo"), ""), "***") {
					t.Fatal(got)
				}
				p.checkSecret(got)
				text := got.body
				if stream {
					text = spoken(got.body)
				}
				// A part that is shorter than leastPart is not held up.
				if stream && (strings.Contains(text, providerKey[:leastPart+5]) || strings.Contains(text, providerKey[5:])) || !strings.Contains(text, "after") && chunks < 20 {
					t.Errorf("%s in %d parts: %q", api, chunks, text)
				}
				checkFiles(t, dir)
				if !stream {
					break
				}
			}
		}
	}
}

// spoken is the model's text in a stream, put together again.
func spoken(body string) string {
	var all strings.Builder
	for event := range strings.SplitAfterSeq(body, "\n\n") {
		data := eventData([]byte(event))
		for _, s := range texts([]byte(event), data) {
			all.WriteString(event[s.from:s.to])
		}
	}
	return all.String()
}

func checkFiles(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		n++
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(providerKey)) {
			t.Errorf("the key is in %s", name)
		}
		return err
	})
	if err != nil || n < 2 {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestSeam feeds a key to the mask in every division into three events.
func TestSeam(t *testing.T) {
	m := newMask(map[string]string{"a": providerKey, "b": `quoted"key-0123456789`})
	text := "xx" + providerKey + "yy"
	for i := 0; i <= len(text); i++ {
		for j := i; j <= len(text); j++ {
			s := &seam{mask: m}
			var out strings.Builder
			add := func(text string) {
				event := fmt.Appendf(nil, `data: {"delta":{"content":"%s"}}`+"\n\n", text)
				for _, e := range s.add(event, texts(event, eventData(event))) {
					out.Write(e)
				}
			}
			add(text[:i])
			add(text[i:j])
			event := []byte("event: ping\n\n")
			for _, e := range s.add(event, nil) {
				out.Write(e)
			}
			add(text[j:])
			for _, e := range s.end() {
				out.Write(e)
			}
			got := spoken(out.String())
			if len(got) != len(text) || !strings.HasPrefix(got, "xx") || !strings.HasSuffix(got, "yy") || strings.Contains(got, providerKey) {
				t.Fatalf("%d %d: %q", i, j, got)
			}
			if strings.Count(got, "*") < len(providerKey)-2*leastPart {
				t.Fatalf("%d %d: little is masked: %q", i, j, got)
			}
			if !strings.Contains(out.String(), "ping") {
				t.Fatal("the ping is lost")
			}
		}
	}
	quoted := []byte(`{"x":"quoted\"key-0123456789"}`)
	if m.bytes(quoted); bytes.Contains(quoted, []byte("key-01")) {
		t.Errorf("%s", quoted)
	}
	const secret = "sk/0123456789+abc~def"
	m = newMask(map[string]string{"a": secret, "a/Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:pass-0123456789")), "a/X-Token": "Token tok-0123456789"})
	for _, echo := range []string{
		base64.StdEncoding.EncodeToString([]byte("ada:" + secret)), base64.URLEncoding.EncodeToString([]byte("x:" + secret + ":y")), base64.StdEncoding.EncodeToString([]byte(secret)),
		url.QueryEscape(secret), strings.ReplaceAll(secret, "/", `\/`), "ada:pass-0123456789", base64.StdEncoding.EncodeToString([]byte("ada:pass-0123456789")), "tok-0123456789",
	} {
		if got := m.text("<" + echo + ">"); strings.Count(got, "*") < len(echo)-12 || len(got) != len(echo)+2 {
			t.Errorf("%s is masked as %s", echo, got)
		}
	}
	m = newMask(map[string]string{"a": "\ufeff" + providerKey, "b": "“key-0123456789”", "c": `"json-0123456789"`})
	for echo, plain := range map[string]string{"ï»¿" + providerKey: providerKey, "â\u0080\u009ckey-0123456789â\u0080\u009d": "key-0123456789", "key-0123456789": "key-0123456789", "json-0123456789": "json-0123456789"} {
		if got := m.text("<" + echo + ">"); strings.Contains(got, plain) || len(got) != len(echo)+2 {
			t.Errorf("%s is masked as %s", echo, got)
		}
	}
	body := encodeJSON(map[string]string{"x": `the key "json-0123456789"`})
	if m.bytes(body); !json.Valid(body) || bytes.Contains(body, []byte("json-01")) {
		t.Errorf("%s is broken", body)
	}
	if newMask(map[string]string{"a": "ollama"}).text("an ollama") != "an ollama" {
		t.Error("a placeholder is masked")
	}
}

// TestStreamComesAtOnce: a chunk is passed on before the next one is there.
func TestStreamComesAtOnce(t *testing.T) {
	middle := make(chan struct{})
	p := newPlace(t, nil, modeltest.Step{Text: "one two three", Middle: middle})
	answer, err := http.DefaultClient.Do(p.request(t.Context(), ask{stream: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	seen := make(chan string, 100)
	go func() {
		defer close(seen)
		buf := make([]byte, 4096)
		for {
			n, err := answer.Body.Read(buf)
			seen <- string(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	var text string
	for !strings.Contains(text, `"content":"one`) {
		select {
		case part := <-seen:
			text += part
		case <-time.After(5 * time.Minute):
			t.Fatalf("nothing came: %q", text)
		}
	}
	close(middle)
	for part := range seen {
		text += part
	}
	if !strings.Contains(text, "[DONE]") {
		t.Errorf("got %q", text)
	}
}

// TestShortKey: a key that may be a word of texts is kept out of errors and headers, however they spell it, and good answers stay as they are.
func TestShortKey(t *testing.T) {
	const key = "sk-1234"
	echoes := []string{
		"Incorrect API key provided: Bearer sk-1234.", "Bearer sk-1234xyz is wrong", "x-api-key: sk-1234", `{"x-api-key":"sk-1234"}`, "the key 'sk-1234'", "sk-1234", "\nsk-1234\n", "<sk-1234>", "basic sk-1234",
	}
	for _, key := range []string{key, "sk-1234/"} {
		m := newMask(map[string]string{"a": key})
		for _, echo := range echoes {
			echo = strings.ReplaceAll(echo, "sk-1234", key)
			body, err := json.Marshal(map[string]any{"error": map[string]any{"message": echo, "code": 1234}})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{m.words(echo), string(m.errorBody(body)), string(m.errorBody([]byte(echo + " is no JSON"))), string(m.errorBody(bytes.ReplaceAll(body, []byte("/"), []byte(`\/`))))} {
				if strings.Contains(text, "sk-1234") || strings.Count(text, "*") < len(key) {
					t.Errorf("%s is masked as %s", echo, text)
				}
			}
			if masked := m.errorBody(body); !json.Valid(masked) || !bytes.Contains(masked, []byte(`"code":1234`)) {
				t.Errorf("%s is broken: %s", body, masked)
			}
		}
	}
	for name, c := range map[string][3]string{
		"part of a word":   {"request", "an invalid_request_error, requests", "an invalid_request_error, requests"},
		"a field's name":   {"error", `{"error": {"message":"no error"}}`, `{"error": {"message":"no *****"}}`},
		"a number":         {"401", `{"status":401,"text":"got 401"}`, `{"status":401,"text":"got ***"}`},
		"no letters":       {"---", "a --- b, Bearer ---", "a --- b, Bearer ***"},
		"a letter":         {"x", "x is no key: x, but Bearer x", "x is no key: *, but Bearer *"},
		"glued to a quote": {"none", "“none”", "“****”"},
	} {
		if got := string(newMask(map[string]string{"a": c[0]}).errorBody([]byte(c[1]))); got != c[2] {
			t.Errorf("%s: %s, want %s", name, got, c[2])
		}
	}
	for _, api := range model.APIs() {
		for _, c := range []struct {
			stream bool
			step   modeltest.Step
			good   bool
		}{
			{false, modeltest.Step{Fault: modeltest.Unauthorized}, false}, {true, modeltest.Step{Fault: modeltest.Unauthorized}, false}, {true, modeltest.Step{Fault: modeltest.StreamError}, false},
			{false, modeltest.Text("use sk-1234 as the key"), true}, {true, modeltest.Text("use sk-1234 as the key"), true},
		} {
			dir := t.TempDir()
			c.step.Header = map[string]string{"X-Echo": "Bearer sk-1234", "X-Other": "no:sk-1234"}
			p := newPlace(t, func(g *env.Gateway) { g.Secrets, g.Models[0].Record = `{"smart":"`+key+`"}`, dir }, c.step)
			p.mock.Key = key
			got := p.ask(ask{api: api, stream: c.stream})
			said := fmt.Sprint(got.header) + p.log.String()
			for _, e := range p.board.Events("call") {
				said += e.Reason
			}
			files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if !c.good {
					said += string(text)
				}
			}
			text := got.body
			if c.stream && c.good {
				text = spoken(got.body)
			}
			if strings.Contains(said, key) || strings.Contains(text, key) != c.good || !strings.Contains(said, "***") {
				t.Errorf("%s, stream %t, good %t: %s\n%s", api, c.stream, c.good, text, said)
			}
		}
	}
}

// TestSeamOfAShortKey: a key of 12 characters that comes one character at a time shows at most its first third.
func TestSeamOfAShortKey(t *testing.T) {
	const key = "q7-zXw93LkPd"
	s := &seam{mask: newMask(map[string]string{"a": key})}
	var out strings.Builder
	for _, c := range "<" + key + ">" {
		event := fmt.Appendf(nil, `data: {"delta":{"content":"%c"}}`+"\n\n", c)
		for _, e := range s.add(event, texts(event, eventData(event))) {
			out.Write(e)
		}
	}
	for _, e := range s.end() {
		out.Write(e)
	}
	if got := spoken(out.String()); got != "<"+key[:3]+strings.Repeat("*", len(key)-3)+">" {
		t.Errorf("%q", got)
	}
}
