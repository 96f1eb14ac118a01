package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"sett/blackboard/redis"
)

// newAsker returns what asks cubs how they are. It goes where it is told and
// nowhere else: through no proxy, and to no other place that an answer names.
func newAsker() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:        (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			DisableCompression: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errNotAsked: the agent has not said yet where to ask.
var errNotAsked = errors.New("nobody to ask")

// healthAddress is where an agent's cub serves its health: at the port that it
// says, of its container, whose address is the engine's word; empty: it is no
// container, but on this machine. What it says besides counts for nothing, since
// others could say so in its name: neither where it is, nor what would make another
// URL of it.
func healthAddress(p redis.Presence, container string) (string, error) {
	said, err := netip.ParseAddrPort(p.Health)
	if err != nil || said.Port() == 0 {
		return "", errNotAsked
	}
	ip := said.Addr()
	switch {
	case container != "":
		ip, err = netip.ParseAddr(container)
	case !ip.IsLoopback():
		err = errNotAsked
	}
	if err != nil {
		return "", errNotAsked
	}
	return netip.AddrPortFrom(ip.WithZone(""), said.Port()).String(), nil
}

// fetch gets a page of a cub's. One that is longer than the bound is an error.
func (o *orchestrator) fetch(ctx context.Context, address, path string, most int) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := o.asker.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > most {
		return 0, nil, fmt.Errorf("its answer is longer than %d bytes", most)
	}
	return res.StatusCode, body, nil
}
