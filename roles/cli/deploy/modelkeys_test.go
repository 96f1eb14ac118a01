package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// TestOddKeys: a key as editors and pages on the web spoil it is mended or refused. The words name the character and its place,
// and nothing else of the key.
func TestOddKeys(t *testing.T) {
	const key = "sk-0123456789"
	for name, c := range map[string]struct{ text, want string }{
		"as it is":            {text: key + "\n"},
		"of Windows":          {text: "\xef\xbb\xbf" + key + "\r\n"},
		"with a quote within": {text: `sk-01234"56789`},
		"empty":               {text: "", want: "is empty"},
		"a mark alone":        {text: "\xef\xbb\xbf\r\n", want: "is empty"},
		"UTF-16":              {text: "\xff\xfes\x00k\x00-\x00", want: "is written in UTF-16"},
		"typographic quotes":  {text: "“" + key + "”", want: "has the quotation mark “ (U+201C) as character 1"},
		"quotes":              {text: `"` + key + `"`, want: `is within quotation marks (")`},
		"apostrophes":         {text: "'" + key + "'", want: "is within quotation marks (')"},
		"a space":             {text: "sk-01 23456789", want: "has a space as character 6"},
		"two lines":           {text: "sk-01\n23456789", want: "has the end of a line as character 6"},
		"a control character": {text: "sk-01\x1b23456789", want: "has the control character U+001B as character 6"},
		"a hidden one":        {text: "sk-01\u200b23456789", want: "has the invisible character U+200B as character 6"},
		"a mark within":       {text: "sk-01\ufeff23456789", want: "has the invisible character U+FEFF as character 6"},
		"Cyrillic":            {text: "sk-01а23456789", want: "has the character U+0430, which is not ASCII, as character 6"},
		"no UTF-8":            {text: "sk-01\xe423456789", want: "has the byte 0xE4 as character 6"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			at := instance.New(&term.Terminal{Env: role.Env{Lookup: func(name string) (string, bool) { return c.text, name == "KEY" }}}, instance.Flags{})
			for _, m := range []config.Model{{Name: "m", KeyFile: file}, {Name: "m", KeyEnv: "KEY"}} {
				got, err := ModelKey(at, m, "/sett.yml")
				if c.want == "" {
					if err != nil || strings.Trim(got, "\ufeff\r\n ") != got || got != strings.Trim(c.text, "\ufeff\r\n") {
						t.Errorf("%q, %v", got, err)
					}
					continue
				}
				if err == nil || got != "" {
					t.Fatalf("%q is a key", got)
				}
				if said := err.Error(); !strings.Contains(said, c.want) || strings.Contains(said, "sk-01") || strings.Contains(said, "6789") {
					t.Errorf("%s", said)
				}
			}
		})
	}
	at := instance.New(&term.Terminal{Env: role.Env{Lookup: func(string) (string, bool) { return "", false }}}, instance.Flags{})
	if _, err := ModelKey(at, config.Model{Name: "m", KeyEnv: "KEY"}, "/sett.yml"); err == nil || !strings.Contains(err.Error(), "KEY is not set") {
		t.Error(err)
	}
}

// TestOddHeader: a header's value of this machine is mended or refused as a key is, though it may have a space.
func TestOddHeader(t *testing.T) {
	for value, want := range map[string]string{"a b\n": "", "\xef\xbb\xbfab\r\n": "", "a\r\nX: y": "models.m.headers.X-Token: its value here has the end of a line, which"} {
		at := instance.New(&term.Terminal{Env: role.Env{Lookup: func(string) (string, bool) { return value, true }}}, instance.Flags{})
		got, err := modelHeaders(at, config.Model{Name: "m", Headers: []config.EnvVar{{Name: "X-Token", Value: "${TOKEN}"}}})
		if want == "" && (err != nil || got["X-Token"] != strings.Trim(value, "\ufeff\r\n")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}
