package gateway

import (
	"bytes"
	"encoding/base64"
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
