package deploy

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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
		if key, from = strings.TrimSpace(value), "the variable "+m.KeyEnv; !set || key == "" {
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s has no key: %s is not set", m.Name, m.KeyEnv), "export %s=… before sett up", m.KeyEnv)
		}
	case m.KeyFile != "":
		text, err := readNamed(at, HostPath(at, configFile, m.KeyFile), mostKey)
		if err != nil {
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s: read its key in %s: %w", m.Name, role.Clean(m.KeyFile), err), "api_key_file in %s names a file with the key alone", instance.ConfigName)
		}
		if key, from = strings.TrimSpace(string(text)), "the file "+m.KeyFile; key == "" {
			return "", role.Fail(role.Usage, fmt.Errorf("models.%s has no key: %s is empty", m.Name, from), "write the key into it, and nothing else")
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", role.Fail(role.Usage, fmt.Errorf("models.%s: the key in %s has a space or a line's end within it", m.Name, role.Clean(from)), "it holds the key alone, and nothing else")
	}
	return key, nil
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
		_, out[h.Name], _ = strings.Cut(values[0], "=")
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
