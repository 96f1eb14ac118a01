package gateway

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// leastKey is the length of the shortest key that is kept out of all answers. Placeholders
// for servers without keys, such as "ollama", are shorter, and are words of texts: those are
// kept out of errors and headers alone.
const leastKey = 12

// mask keeps the providers' keys out of all that leaves the gateway. A star stands for
// each of their bytes, so that no length changes.
type mask struct {
	keys  [][]byte
	most  int      // the length of the longest
	short []string // keys of errors and headers, the longest first
}

func newMask(keys map[string]string) *mask {
	m := &mask{}
	forms := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		for _, secret := range withCores(secretsOf(name, keys[name])) {
			if len(secret) < leastKey {
				m.addShort(secret)
				continue
			}
			for _, f := range formsOf(secret) {
				forms[f] = len(f) >= leastKey
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(forms)) {
		if forms[f] {
			m.keys, m.most = append(m.keys, []byte(f)), max(m.most, len(f))
		}
	}
	return m
}

// secretsIn are the secrets in the value of a key or of a header: all of it, the part after
// a scheme such as Bearer and, of Basic, the password in it.
func secretsIn(value string) []string {
	all := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return all
	}
	all = append(all, strings.TrimSpace(rest))
	if strings.EqualFold(scheme, "Basic") {
		if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			all = append(all, password)
		}
	}
	return all
}

// withCores adds to each secret the longest part of it that all encodings spell the same way. A provider that reads headers as
// Latin-1 returns the other characters in another form than it got them.
func withCores(secrets []string) []string {
	for _, secret := range secrets[:len(secrets):len(secrets)] {
		core := ""
		for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return r < ' ' || r >= 0x7f || strings.ContainsRune("\"'`\\", r) }) {
			if part = strings.TrimSpace(part); len(part) > len(core) {
				core = part
			}
		}
		if core != secret {
			secrets = append(secrets, core)
		}
	}
	return secrets
}

// formsOf are the spellings of a secret: as it is, escaped in JSON and in URLs, and in
// Base64 at each of the three places where it may begin there.
func formsOf(secret string) []string {
	all := spellings(secret)
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString(append(make([]byte, before), secret...))
			whole := (before + len(secret)) * 8 / 6 // the characters that none of the following bytes changes
			all = append(all, text[(before*8+5)/6:whole])
		}
	}
	return all
}

// spellings are a secret as it is, and escaped in JSON and in URLs.
func spellings(secret string) []string {
	quoted := string(encodeJSON(secret))
	quoted = quoted[1 : len(quoted)-1] // one quotation mark on each side: the secret may have its own
	return []string{secret, quoted, strings.ReplaceAll(quoted, "/", `\/`), url.QueryEscape(secret), url.PathEscape(secret)}
}

// bytes masks a text where it stands.
func (m *mask) bytes(text []byte) {
	for _, key := range m.keys {
		for at := 0; ; {
			n := bytes.Index(text[at:], key)
			if n < 0 {
				break
			}
			at += n
			stars(text[at : at+len(key)])
		}
	}
}

func stars(text []byte) {
	for i := range text {
		text[i] = '*'
	}
}

// text returns a text without keys.
func (m *mask) text(text string) string {
	for _, key := range m.keys {
		if strings.Contains(text, string(key)) {
			text = strings.ReplaceAll(text, string(key), strings.Repeat("*", len(key)))
		}
	}
	return text
}

// error returns the text of an error without keys; empty for nil.
func (m *mask) error(err error) string {
	if err == nil {
		return ""
	}
	if isRefused(err) {
		return m.text(err.Error()) // nobody saw a key: nothing is an echo
	}
	return m.words(err.Error())
}

// leastPart is the length of the shortest beginning of a key that holds up a stream. The
// keys of a provider share a shorter beginning. Of a short key it is a third.
const leastPart = 8

// holdsUp tells whether the first n bytes of a key hold up a stream.
func holdsUp(key []byte, n int) bool { return n >= min(leastPart, len(key)/3) }

// seam masks keys that are spread over several events of a stream. An event that ends in
// the beginning of a key waits for the next one.
type seam struct {
	mask *mask
	held [][]byte
	tail []position // the beginning of a key, at the end of the text so far
	long bool       // the tail holds the stream up
}

// position is a byte of an event.
type position struct {
	event int // in held; negative: it has gone
	at    *byte
}

// add takes the next event with the parts of the model's text in it, and returns those
// that may go.
func (s *seam) add(event []byte, texts []span) (free [][]byte) {
	s.mask.bytes(event)
	s.held = append(s.held, event)
	if s.mask.most == 0 {
		return s.release(len(s.held))
	}
	run := s.tail
	for _, t := range texts {
		text := t.in(event)
		if len(text) > 2*s.mask.most { // keys inside are masked already
			s.hide(s.extend(run, text[:s.mask.most]))
			run, text = nil, text[len(text)-s.mask.most:]
		}
		run = s.extend(run, text)
	}
	s.hide(run)
	s.tail, s.long = s.beginning(run)
	if !s.long {
		return s.release(len(s.held))
	}
	for _, p := range s.tail {
		if p.event >= 0 {
			return s.release(p.event)
		}
	}
	return s.release(len(s.held)) // not reached: the last one is held
}

func (s *seam) extend(run []position, text []byte) []position {
	for i := range text {
		run = append(run, position{len(s.held) - 1, &text[i]})
	}
	return run
}

// hide masks the keys in the run.
func (s *seam) hide(run []position) {
	text := chars(run)
	for _, key := range s.mask.keys {
		for at := 0; ; at += len(key) {
			n := bytes.Index(text[at:], key)
			if n < 0 {
				break
			}
			at += n
			for _, p := range run[at : at+len(key)] {
				*p.at = '*'
			}
		}
	}
}

func chars(run []position) []byte {
	text := make([]byte, len(run))
	for i, p := range run {
		text[i] = *p.at
	}
	return text
}

// beginning returns the end of the run that may become a key, and whether it is long enough to hold up the stream.
func (s *seam) beginning(run []position) (tail []position, long bool) {
	text := chars(run)
	for n := min(len(text), s.mask.most-1); n > 0; n-- {
		for _, key := range s.mask.keys {
			if n < len(key) && bytes.HasSuffix(text, key[:n]) {
				if tail == nil {
					tail = run[len(run)-n:]
				}
				if holdsUp(key, n) {
					return tail, true
				}
			}
		}
	}
	return tail, false
}

// release returns the first n events.
func (s *seam) release(n int) [][]byte {
	free := s.held[:n:n]
	s.held = s.held[n:]
	for i := range s.tail {
		s.tail[i].event -= n
	}
	if len(s.held) == 0 {
		s.held = nil
	}
	return free
}

// end returns the rest, with the beginning of a key masked.
func (s *seam) end() [][]byte {
	if s.long {
		for _, p := range s.tail {
			*p.at = '*'
		}
	}
	s.tail, s.long = nil, false
	return s.release(len(s.held))
}
