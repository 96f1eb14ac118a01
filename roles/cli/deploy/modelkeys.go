package deploy

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime/repofile"
)

// The keys of models go from this machine's variables and files to the model gateway. A process
// gets them through pipes: from sett up to the keeper, which keeps them in its memory as the
// orchestrator does, and from there to each new gateway. A container gets them in one file
// of the instance's directory, which it alone mounts, and which goes with sett down.
// No other file, label or variable has them: a keyed digest tells the next up that they changed.

// The longest key, and file of certificates, in bytes.
const (
	mostKey          = 64 << 10
	mostCertificates = 1 << 20
)

// readKeys reads the keys of the models, the headers that have values of this machine, and the proxies.
// A model that only replays needs no key.
func readKeys(at *instance.Locator, c *config.Config, configFile string) (map[string]string, error) {
	keys := map[string]string{}
	for _, m := range c.Models {
		if m.Replay != "" {
			continue
		}
		key, err := ModelKey(at, m, configFile)
		if err != nil {
			return nil, err
		}
		if key != "" {
			keys[m.Name] = key
		}
		headers, err := modelHeaders(at, m)
		if err != nil {
			return nil, err
		}
		for name, value := range headers {
			keys[m.Name+"/"+name] = value
		}
		proxy, err := Proxy(at, m)
		if err != nil {
			return nil, err
		}
		if proxy != nil {
			keys[env.ProxyKey(m.Name)] = proxy.String()
		}
	}
	return keys, nil
}

// ModelKey reads the key of a model; empty: it has none.
func ModelKey(at *instance.Locator, m config.Model, configFile string) (string, error) {
	key, from := "", ""
	switch {
	case m.KeyEnv != "":
		value, set := at.Lookup(m.KeyEnv)
		if key, from = alone(value), "the variable "+m.KeyEnv; key == "" {
			state := "is not set"
			if set {
				state = "is empty"
			}
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s has no key: %s %s", m.Name, m.KeyEnv, state), "export %s=… before sett up", m.KeyEnv)
		}
	case m.KeyFile != "":
		text, err := readNamed(at, HostPath(at, configFile, m.KeyFile), mostKey)
		if err != nil {
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s: read its key in %s: %w", m.Name, role.Clean(m.KeyFile), err), "api_key_file in %s names a file with the key alone", instance.ConfigName)
		}
		if key, from = alone(string(text)), "the file "+m.KeyFile; key == "" {
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s has no key: %s is empty", m.Name, from), "write the key into it, and nothing else")
		}
	}
	if odd, do := oddKey(key); odd != "" {
		return "", role.Fail(role.Usage, fmt.Errorf("models.%s: the key in %s %s", m.Name, role.Clean(from), odd), "%s", do)
	}
	return key, nil
}

// alone is a text without the byte order mark that editors of Windows begin a file with, and without space around it.
func alone(text string) string { return strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) }

// oddKey says why a text is no key, and the remedy; empty: it may be one. A provider reads headers as another encoding than
// Sett writes, and so would tell of a key with characters outside ASCII in a form that nothing masks.
func oddKey(key string) (odd, do string) {
	const itAlone = "it holds the key alone, without quotation marks, and nothing else"
	if strings.HasPrefix(key, "\xff\xfe") || strings.HasPrefix(key, "\xfe\xff") {
		return "is written in UTF-16", "save the file as UTF-8 or as plain text"
	}
	n := 0
	for i, r := range key {
		n++
		if r > ' ' && r < 0x7f {
			continue
		}
		return fmt.Sprintf("has %s as character %d", nameOf(r, key[i]), n), itAlone
	}
	for _, mark := range []string{`"`, "'", "`"} {
		if len(key) > 1 && strings.HasPrefix(key, mark) && strings.HasSuffix(key, mark) {
			return "is within quotation marks (" + mark + ")", itAlone
		}
	}
	return "", ""
}

// nameOf names a character that no key has. At the place of bytes that are no UTF-8 it names the first one.
func nameOf(r rune, first byte) string {
	code := fmt.Sprintf("U+%04X", r)
	switch {
	case r == utf8.RuneError && first != "\ufffd"[0]:
		return fmt.Sprintf("the byte 0x%02X", first)
	case r == ' ':
		return "a space"
	case r == '\t':
		return "a tab"
	case r == '\r', r == '\n':
		return "the end of a line"
	case r < ' ', r == 0x7f:
		return "the control character " + code
	case unicode.Is(unicode.Quotation_Mark, r):
		return "the quotation mark " + string(r) + " (" + code + ")"
	case !unicode.IsPrint(r):
		return "the invisible character " + code
	}
	return "the character " + code + ", which is not ASCII,"
}

// readNamed reads a file that sett.yml names. In the workspace, no link leads out of it; a
// file elsewhere is the one that the person agreed to.
func readNamed(at *instance.Locator, name string, most int64) ([]byte, error) {
	root, err := at.Workspace()
	if err != nil || !instance.Within(name, root) {
		root = ""
	}
	return repofile.Read(root, name, most)
}

// readCertificates reads the file of a model's certificates, as it is, where there are any
// in it.
func readCertificates(at *instance.Locator, m config.Model) ([]byte, error) {
	text, err := readNamed(at, m.CAFile, mostCertificates)
	if err == nil {
		_, err = role.Certificates(text)
	}
	if err != nil {
		return nil, role.Fail(role.Usage, fmt.Errorf("models.%s.ca_file: %w", m.Name, err), "it names a PEM file with the certificate of a CA")
	}
	return text, nil
}

// Certificates are those that a model's server is checked with; nil: the usual ones alone.
func Certificates(at *instance.Locator, m config.Model, configFile string) (*x509.CertPool, error) {
	if m.CAFile == "" {
		return nil, nil
	}
	m.CAFile = HostPath(at, configFile, m.CAFile)
	text, err := readCertificates(at, m)
	if err != nil {
		return nil, err
	}
	return role.Certificates(text)
}

// modelHeaders are the headers of a model that have values of this machine.
func modelHeaders(at *instance.Locator, m config.Model) (map[string]string, error) {
	out := map[string]string{}
	for _, h := range m.Headers {
		if len(h.Uses()) == 0 {
			continue
		}
		values, unset, err := config.Environ([]config.EnvVar{h}, at.Lookup)
		if err != nil {
			return nil, role.Fail(role.Usage, fmt.Errorf("models.%s.headers: %w", m.Name, err), "export it, or give it a default in %s", instance.ConfigName)
		}
		if len(unset) > 0 {
			return nil, role.Fail(role.Usage, fmt.Errorf("models.%s.headers.%s: a variable of this machine is not set", m.Name, h.Name), "export it, or give it a default in %s", instance.ConfigName)
		}
		_, value, _ := strings.Cut(values[0], "=")
		value = alone(value)
		for i, r := range value {
			if unicode.IsControl(r) && r != '\t' {
				return nil, role.Fail(role.Usage, fmt.Errorf("models.%s.headers.%s: its value here has %s, which no header may have", m.Name, h.Name, nameOf(r, value[i])), "export its variable without it")
			}
		}
		out[h.Name] = value
	}
	return out, nil
}

// keysDigest is the keyed digest of the keys, and of the certificates of the models.
func keysDigest(at *instance.Locator, key string, models []config.Model, configFile string, keys map[string]string) (string, error) {
	text, err := json.Marshal(keys) // sorted by name
	if err != nil {
		return "", fmt.Errorf("encode keys: %w", err)
	}
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write(text) // cannot fail
	for _, m := range models {
		if m.CAFile == "" || m.Replay != "" {
			continue
		}
		m.CAFile = HostPath(at, configFile, m.CAFile)
		certificates, err := readCertificates(at, m)
		if err != nil {
			return "", err
		}
		_, _ = h.Write(certificates)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SameKeys says whether a sett up would hand the instance's model gateway the same keys, proxies and certificates as the last one did.
func SameKeys(at *instance.Locator, in *instance.Instance, c *config.Config, configFile string) (bool, error) {
	before, err := in.Config()
	if err != nil {
		return false, err
	}
	r := before.Services.ModelGateway.Resolved
	if r == nil || r.Values == "" {
		return true, nil
	}
	keys, err := readKeys(at, c, configFile)
	if err != nil {
		return false, err
	}
	if in.Runtime == config.RuntimeDocker {
		proxiesForContainer(keys)
	}
	digest, err := keysDigest(at, in.ValuesKey, c.Models, configFile, keys)
	return digest == r.Values, err
}

// giveKeys writes the file with the keys, for a container, and returns it. A process has none.
func giveKeys(u *upRun) (files []string, err error) {
	if u.c.Runtime != config.RuntimeDocker {
		return nil, instance.DropModelKeys(u.in) // an older sett wrote one
	}
	path := instance.ModelKeysPath(u.in)
	return []string{path}, instance.WriteFile(path, u.keys)
}

// keysEnviron hands the keys to the processes of local mode that keep them.
func keysEnviron(j *job) []string {
	if len(j.keys) == 0 {
		return nil
	}
	text, err := json.Marshal(j.keys)
	if err != nil {
		panic("deploy: encode texts: " + err.Error()) // a map of texts cannot fail
	}
	return []string{env.ModelSecrets + "=" + string(text)}
}
