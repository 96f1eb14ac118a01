package doctor

import (
	"cmp"
	"context"
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
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/provider"
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
	return append(slices.Concat(each...), x.modelsAsStarted(ctx)...)
}

// modelsAsStarted says whether the running gateway has the keys and proxies with which the models were just asked.
func (x *exam) modelsAsStarted(ctx context.Context) []Finding {
	if x.meant == nil {
		return nil
	}
	if asks, err := x.unagreed("models."); err != nil || len(asks) > 0 {
		return nil
	}
	same, err := deploy.SameKeys(x.at, x.meant, x.sheet.config, x.sheet.path)
	if err == nil && same || status.Inspect(ctx, x.at, x.meant, false).State == status.Stopped {
		return nil
	}
	return []Finding{otherKeys(x.meant.Name, err)}
}

// otherKeys is the finding about a gateway whose keys are not those of now, or, with an error, not known to be: the
// findings about its models are of the keys of now.
func otherKeys(instance string, err error) Finding {
	if err != nil {
		return warning(instance, "mend that, and ask again", "whether its model gateway has the keys that the models were asked with here cannot be told: %s", role.Clean(err.Error()))
	}
	return warning(instance, "sett up, and sett retry for goals that failed by it", "its model gateway was started with another key, proxy or certificate than this shell and sett.yml have now")
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
	proxy, err := deploy.Proxy(x.at, m)
	if err != nil {
		return append(all, wrong(m.Name, err))
	}
	if proxy != nil && config.Loopback(proxy.Hostname()) {
		if containers, _ := x.inContainers(); containers {
			all = append(all, inReach(ctx, m.Name, proxy))
		}
	}
	way := provider.Way{Proxy: proxy, Trusted: trusted}
	names, err := listModels(ctx, m, key, way)
	shown := role.Clean(m.BaseURL)
	if proxy != nil {
		shown += " through the proxy " + role.Clean(provider.Show(proxy))
	}
	var unsent *provider.Unsent
	switch {
	case errors.As(err, &unsent):
		return append(all, problem(m.Name, cmp.Or(unsent.Remedy, "check base_url of models."+m.Name), "%s does not answer: %s", role.Clean(m.BaseURL), role.Clean(unsent.Cause())))
	case err != nil:
		return append(all, problem(m.Name, "check base_url and the key of models."+m.Name, "%v", err))
	case len(names) == 0:
		return append(all, fine(m.Name, "%s answers, and lists no models", shown))
	case !slices.Contains(names, m.Model):
		return append(all, warning(m.Name, "model: in models."+m.Name+" is the name as the provider has it", "%s does not list %s; it has %s", shown, role.Clean(m.Model), someOf(names)))
	}
	return append(all, fine(m.Name, "%s has %s", shown, role.Clean(m.Model)))
}

// usualPorts are the ports of proxies that name none.
var usualPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// inReach says whether containers reach a proxy that this machine reaches by its loopback address.
func inReach(ctx context.Context, subject string, proxy *url.URL) Finding {
	at := role.Clean(provider.Show(proxy))
	const do = "have it listen there, too, or export another proxy before sett up"
	there, port := bridgeAddress(), cmp.Or(proxy.Port(), usualPorts[proxy.Scheme])
	if there == "" {
		return warning(subject, do, "containers reach no proxy on 127.0.0.1: %s must listen on %s, too", at, bridge(port))
	}
	if !listens(ctx, net.JoinHostPort(there, port)) {
		return warning(subject, do, "containers do not reach the proxy %s: it listens on 127.0.0.1, and not on %s", at, bridge(port))
	}
	return fine(subject, "containers reach the proxy %s as this machine, on %s", at, bridge(port))
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

// bridge is the address of this machine that containers reach by the engine's gateway, in words.
func bridge(port string) string {
	host := cmp.Or(bridgeAddress(), "0.0.0.0 or the engine's bridge")
	if port == "" {
		return host
	}
	return host + ", port " + port
}

// bridgeAddress is that address; empty: it is not known.
func bridgeAddress() (host string) {
	if docker, err := net.InterfaceByName("docker0"); err == nil {
		addrs, _ := docker.Addrs()
		for _, a := range addrs {
			if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil {
				host = ip.String()
			}
		}
	}
	return host
}

func someOf(names []string) string {
	text := role.Clean(strings.Join(names[:min(len(names), mostNamed)], ", "))
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// listModels asks for GET /v1/models. A provider without that page has no names.
func listModels(ctx context.Context, m config.Model, key string, way provider.Way) ([]string, error) {
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
	client := way.Client()
	defer client.CloseIdleConnections()
	res, err := way.Do(client, req)
	var unsent *provider.Unsent
	switch {
	case errors.As(err, &unsent):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s does not answer: %w", role.Clean(m.BaseURL), err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return nil, nil
	case http.StatusProxyAuthRequired:
		if way.Proxy != nil {
			return nil, &provider.Unsent{Err: fmt.Errorf("the proxy answers %d", res.StatusCode), Remedy: provider.NeedsUser, Proxy: way.Proxy}
		}
		return nil, fmt.Errorf("%s answers %d", role.Clean(m.BaseURL), res.StatusCode)
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
