package deploy

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/provider"
	"sett/runtime"
)

// A proxy of the shell's variables is settled here, for each model, and goes to the model gateway beside the keys: its URL
// may hold a password. No part has the variables themselves.

// proxyVariables are the variables with the proxy for URLs of a scheme. The first one that is not empty holds, as for Go's programs.
var proxyVariables = map[string][]string{"https": {"HTTPS_PROXY", "https_proxy"}, "http": {"HTTP_PROXY", "http_proxy"}}

// Proxy is the proxy to the provider of a model by the environment of this process; nil: there is none. A provider on this
// machine is asked without it.
func Proxy(at *instance.Locator, m config.Model) (*url.URL, error) {
	to, err := url.Parse(m.BaseURL)
	if err != nil || m.Replay != "" || config.Loopback(to.Hostname()) {
		return nil, nil
	}
	for _, name := range proxyVariables[to.Scheme] {
		value := at.Getenv(name)
		if value == "" {
			continue
		}
		if err := checkProxy(value); err != nil {
			return nil, role.Fail(role.Usage, fmt.Errorf("the proxy in %s: %w", name, err), "its form is http://USER:PASSWORD@HOST:PORT; %%40 is an @ in a password, %%23 a #, %%2F a /")
		}
		break
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to}) // NO_PROXY is its part
	if err != nil {
		return nil, role.Fail(role.Usage, fmt.Errorf("models.%s: its proxy cannot be found out", m.Name), "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY") // the cause might show a password
	}
	return proxy, nil
}

// proxySchemes are the kinds of proxy that are known.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// checkProxy says whether a value names a proxy: Go takes another one for none, or for another host. The error shows
// nothing of it.
func checkProxy(value string) error {
	text := value
	if !strings.Contains(value, "://") {
		text = "http://" + value
	}
	at, err := url.Parse(text)
	switch {
	case err != nil, at.Hostname() == "", strings.Contains(at.Path+at.RawQuery+at.Fragment, "@"): // the password ended too early
		return errors.New("it is no URL")
	case !slices.Contains(proxySchemes, at.Scheme):
		return errors.New("its scheme is none of http, https and socks5")
	}
	return nil
}

// proxiesForContainer names the proxies among the keys as a container reaches them.
func proxiesForContainer(keys map[string]string) {
	for name, value := range keys {
		if !env.IsProxyKey(name) {
			continue
		}
		if proxy, err := url.Parse(value); err == nil {
			keys[name] = forContainer(proxy).String()
		}
	}
}

// forContainer is a proxy as a container reaches it, which has another name for this machine.
func forContainer(proxy *url.URL) *url.URL {
	if !config.Loopback(proxy.Hostname()) {
		return proxy
	}
	there := *proxy
	there.Host = runtime.HostName
	if proxy.Port() != "" {
		there.Host = net.JoinHostPort(runtime.HostName, proxy.Port())
	}
	return &there
}

// noteProxies tells of proxies on this machine that a container is to reach.
func noteProxies(f *facts, keys map[string]string) {
	f.proxies = nil
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		proxy, err := url.Parse(keys[name])
		if !env.IsProxyKey(name) || err != nil || !config.Loopback(proxy.Hostname()) {
			continue
		}
		text := fmt.Sprintf("warning: the model gateway is a container, and reaches no proxy that listens on 127.0.0.1 alone, as %s may; sett doctor names the address on which it has to listen", provider.Show(proxy))
		if !slices.Contains(f.proxies, text) {
			f.proxies = append(f.proxies, text)
		}
	}
}
