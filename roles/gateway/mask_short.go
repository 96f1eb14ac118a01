package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"sett/contract/env"
)

// leastWord is the length of the shortest key that is masked as a word of an error. A shorter one is masked after the
// words of scent alone.
const leastWord = 3

// scent are the words after which a key stands.
var scent = []string{"bearer", "basic", "key", "token"}

// secretsOf are the secrets in one of the keys, by its name.
func secretsOf(name, value string) []string {
	if !env.IsProxyKey(name) {
		return secretsIn(value)
	}
	at, err := url.Parse(value)
	if err != nil || at.User == nil {
		return nil
	}
	user := at.User.Username()
	password, ok := at.User.Password()
	secret := password
	if !ok {
		secret = user
	}
	_, spelled, _ := strings.Cut(at.User.String(), ":")
	return []string{secret, spelled, base64.RawStdEncoding.EncodeToString([]byte(user + ":" + password))}
}

// addShort takes in a secret that is too short to be masked everywhere.
func (m *mask) addShort(secret string) {
	if secret == "" {
		return
	}
	for _, f := range spellings(secret) {
		if !slices.Contains(m.short, f) {
			m.short = append(m.short, f)
		}
	}
	slices.SortFunc(m.short, func(a, b string) int { return len(b) - len(a) })
}

// words returns the text of an error or of a header without keys, the short ones included: as words, and in all places where a
// key is to be expected.
func (m *mask) words(text string) string {
	text = m.text(text)
	for _, key := range m.short {
		var out []byte
		for at := 0; ; {
			n := strings.Index(text[at:], key)
			if n < 0 {
				break
			}
			from, to := at+n, at+n+len(key)
			if isWord(text, from, to) || expected(text[:from]) {
				if out == nil {
					out = []byte(text)
				}
				stars(out[from:to])
				at = to
			} else {
				at = from + 1
			}
		}
		if out != nil {
			text = string(out)
		}
	}
	return text
}

// isWord says whether a part of a text is a word of its own.
func isWord(text string, from, to int) bool {
	key := text[from:to]
	return to-from >= leastWord && strings.IndexFunc(key, func(r rune) bool { return r >= 0x80 || letter(byte(r)) }) >= 0 &&
		(from == 0 || !letter(text[from-1]) || !letter(key[0])) && (to == len(text) || !letter(text[to]) || !letter(key[len(key)-1]))
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// expected says whether a key is to be expected after a text.
func expected(before string) bool {
	rest := strings.TrimRight(before, " \t:=\"'`")
	if len(rest) == len(before) {
		return false
	}
	return slices.ContainsFunc(scent, func(word string) bool {
		return len(rest) >= len(word) && strings.EqualFold(rest[len(rest)-len(word):], word)
	})
}

// errorBody masks the body of an error: the values of JSON as they are read, or all of another text. Names of fields stay.
func (m *mask) errorBody(text []byte) []byte {
	m.bytes(text)
	switch {
	case len(m.short) == 0:
		return text
	case !json.Valid(text):
		return []byte(m.words(string(text)))
	}
	var out []byte
	done := 0
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			break
		}
		at += n
		end, err := quoted(text, at)
		if err != nil {
			break
		}
		var said string
		next := space(text, end)
		if name := next < len(text) && text[next] == ':'; !name && json.Unmarshal(text[at:end], &said) == nil {
			if masked := m.words(said); masked != said {
				out = append(append(out, text[done:at]...), encodeJSON(masked)...)
				done = end
			}
		}
		at = end
	}
	return append(out, text[done:]...)
}

// errorEvent masks an event of a stream that is an error.
func (m *mask) errorEvent(event []byte, data span) []byte {
	m.bytes(event)
	body := m.errorBody(bytes.Clone(data.in(event)))
	return slices.Concat(event[:data.from], body, event[data.to:])
}

// failed says whether an event ends a response with an error.
func failed(data []byte) bool { return bytes.Contains(data, []byte(`"response.failed"`)) }
