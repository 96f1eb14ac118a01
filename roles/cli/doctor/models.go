package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime/roots"
)

// Bounds of a provider's list of models.
const (
	modelsTime = 5 * time.Second
	mostList   = 4 << 20
	mostNamed  = 8 // models that a finding names
)

// models asks each provider for its models, where the key is at hand and a person agreed
// that the provider gets it.
func (x *exam) models(ctx context.Context) []Finding {
	c := x.sheet.config
	if c == nil || len(c.Models) == 0 {
		return nil
	}
	each := make([][]Finding, len(c.Models))
	var all sync.WaitGroup
	for i, m := range c.Models {
		all.Go(func() { each[i] = x.model(ctx, m) })
	}
	all.Wait()
	return slices.Concat(each...)
}

func (x *exam) model(ctx context.Context, m config.Model) []Finding {
	if m.Replay != "" {
		return []Finding{fine(m.Name, "answers come from the recording in %s", role.Clean(m.Replay))}
	}
	var all []Finding
	if at, err := url.Parse(m.BaseURL); err == nil && config.Loopback(at.Hostname()) {
		if containers, _ := x.inContainers(); containers {
			all = append(all, fine(m.Name, "containers reach %s as this machine: its server must listen on %s, not on 127.0.0.1 alone", role.Clean(m.BaseURL), bridge(at.Port())))
		}
	}
	if asks, err := x.unagreed("models." + m.Name + "."); err != nil || len(asks) > 0 {
		return append(all, Finding{Subject: m.Name, Status: Skipped, Finding: "not asked for its models: sett up asks you for its rights first"})
	}
	key, err := deploy.ModelKey(x.at, m, x.sheet.path)
	if err != nil {
		f := wrong(m.Name, err)
		f.Status = Warning
		return append(all, f)
	}
	roots.TrustKnown()
	trusted, err := deploy.Certificates(x.at, m, x.sheet.path)
	if err != nil {
		return append(all, wrong(m.Name, err))
	}
	names, err := listModels(ctx, m, key, trusted)
	switch {
	case err != nil:
		return append(all, problem(m.Name, "check base_url and the key of models."+m.Name, "%v", err))
	case len(names) == 0:
		return append(all, fine(m.Name, "%s answers, and lists no models", role.Clean(m.BaseURL)))
	case !slices.Contains(names, m.Model):
		return append(all, warning(m.Name, "model: in models."+m.Name+" is the name as the provider has it", "%s does not list %s; it has %s", role.Clean(m.BaseURL), role.Clean(m.Model), someOf(names)))
	}
	return append(all, fine(m.Name, "%s has %s", role.Clean(m.BaseURL), role.Clean(m.Model)))
}

// unagreed returns the rights below a key that nobody agreed to: anybody may have written
// the file that says which secret goes to which address.
func (x *exam) unagreed(below string) ([]config.Right, error) {
	rights, err := instance.Rights(x.at, x.sheet.config, x.sheet.runtime, x.sheet.path)
	if err != nil {
		return nil, err
	}
	agreed, err := instance.AgreedFor(x.at, x.sheet.path)
	if err != nil {
		return nil, err
	}
	return agreed.Growth(slices.DeleteFunc(rights, func(r config.Right) bool { return !strings.HasPrefix(r.Key, below) })), nil
}

// bridge is the address of this machine that containers reach by the engine's gateway.
func bridge(port string) string {
	host := "0.0.0.0 or the engine's bridge"
	if docker, err := net.InterfaceByName("docker0"); err == nil {
		addrs, _ := docker.Addrs()
		for _, a := range addrs {
			if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil {
				host = ip.String()
			}
		}
	}
	if port == "" {
		return host
	}
	return host + ", port " + port
}

func someOf(names []string) string {
	text := role.Clean(strings.Join(names[:min(len(names), mostNamed)], ", "))
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// listModels asks for GET /v1/models. A provider without that page has no names.
func listModels(ctx context.Context, m config.Model, key string, trusted *x509.CertPool) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.BaseURL+"/models", nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: not a URL", role.Clean(m.BaseURL))
	}
	if m.API == model.Messages {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case m.API == model.Messages:
		req.Header.Set("X-Api-Key", key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: trusted}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would get the key
	}
	res, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("%s does not answer: %w", role.Clean(m.BaseURL), err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return nil, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%s refuses the key (%d)", role.Clean(m.BaseURL), res.StatusCode)
	default:
		return nil, fmt.Errorf("%s answers %d", role.Clean(m.BaseURL), res.StatusCode)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(res.Body, mostList)).Decode(&list) != nil {
		return nil, fmt.Errorf("%s answers with no list of models: is its path right?", role.Clean(m.BaseURL))
	}
	var names []string
	for _, d := range list.Data {
		names = append(names, d.ID)
	}
	return names, nil
}
