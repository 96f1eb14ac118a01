package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// errNoAddress: the agent has not reported its address yet, or its container is gone.
var errNoAddress = errors.New("its address is not known")

// Presences is the registry of agents.
type Presences interface {
	Agents(ctx context.Context) (map[string]blackboard.Presence, error)
}

// Units lists the units of the place where agents run.
type Units interface {
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
}

// Cubs asks agents' cubs over HTTP. It goes to the address of the agent's container
// and nowhere else: through no proxy, and to no place that an answer names.
type Cubs struct {
	presences Presences
	units     Units
	anchor    func(config.Agent) string
	client    *http.Client

	mu    sync.Mutex
	known map[string]spot // by agent
}

// spot is the address of an incarnation's container.
type spot struct{ incarnation, address string }

// NewCubs returns a client of the cubs. Units is nil where agents are not
// containers. Anchor returns the name of the anchor that an agent joins; empty: it
// joins none.
func NewCubs(p Presences, u Units, anchor func(config.Agent) string) *Cubs {
	return &Cubs{presences: p, units: u, anchor: anchor, known: map[string]spot{}, client: &http.Client{
		Transport: &http.Transport{
			DialContext:        (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			DisableCompression: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Probe asks an agent's cub for its health; nil: it is well. A known address of its
// container saves a look for it. Without an address to ask, asked is false.
func (c *Cubs) Probe(ctx context.Context, agent config.Agent, address string) (asked bool, err error) {
	at, err := c.find(ctx, agent, address)
	if err != nil {
		return !errors.Is(err, errNoAddress), err
	}
	ctx, cancel := context.WithTimeout(ctx, agent.HealthCheck.Timeout)
	defer cancel()
	status, body, err := c.fetch(ctx, at, healthPath, mostHealth)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("it says %d %s: %.300s", status, http.StatusText(status), strings.TrimSpace(string(body)))
	}
	return true, err
}

// get fetches a page of an agent's cub.
func (c *Cubs) get(ctx context.Context, agent config.Agent, path string, most int) (status int, body []byte, err error) {
	at, err := c.find(ctx, agent, "")
	if err != nil {
		return 0, nil, err
	}
	status, body, err = c.fetch(ctx, at, path, most)
	if err != nil {
		c.set(agent.Name, spot{}) // it may have moved
	}
	return status, body, err
}

// find returns the address where an agent's present incarnation serves its health.
func (c *Cubs) find(ctx context.Context, agent config.Agent, container string) (string, error) {
	present, err := c.presences.Agents(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAddress, err)
	}
	p := present[agent.Name]
	if container == "" {
		if container, err = c.container(ctx, agent, p.Incarnation); err != nil {
			return "", err
		}
	}
	return healthAddress(p, container)
}

// healthAddress joins the port that an agent reports with the address of its
// container, which the engine reports; container is empty for a process of this
// machine. Anybody could write a presence in the agent's name, so nothing else in it
// counts: no other host, and no other part of a URL.
func healthAddress(p blackboard.Presence, container string) (string, error) {
	said, err := netip.ParseAddrPort(p.Health)
	if err != nil || said.Port() == 0 {
		return "", errNoAddress
	}
	ip := said.Addr()
	switch {
	case container != "":
		ip, err = netip.ParseAddr(container)
	case !ip.IsLoopback():
		err = errNoAddress
	}
	if err != nil {
		return "", errNoAddress
	}
	return netip.AddrPortFrom(ip.WithZone(""), said.Port()).String(), nil
}

// container returns the address of the container of an agent's incarnation; empty
// where agents are not containers. A container that joined its anchor's network has
// the anchor's address.
func (c *Cubs) container(ctx context.Context, agent config.Agent, incarnation string) (string, error) {
	switch known := c.last(agent.Name); {
	case incarnation == "":
		return "", errNoAddress
	case c.units == nil:
		return "", nil
	case known.incarnation == incarnation:
		return known.address, nil
	}
	units, err := c.units.List(ctx, runtime.Labels{runtime.LabelAgent: agent.Name})
	if err != nil {
		return "", fmt.Errorf("find its container: %w", err)
	}
	address, anchor, runs := "", "", false
	for _, u := range units {
		switch l := u.Labels; {
		case !u.Running:
		case l[runtime.LabelComponent] == runtime.ComponentAgent && l[runtime.LabelIncarnation] == incarnation:
			runs, address = true, u.Address
		case l[runtime.LabelComponent] == runtime.ComponentAnchor && u.Name == c.anchor(agent):
			anchor = u.Address
		}
	}
	if address == "" {
		address = anchor
	}
	if !runs || address == "" {
		return "", fmt.Errorf("%w: its container does not run", errNoAddress)
	}
	c.set(agent.Name, spot{incarnation, address})
	return address, nil
}

func (c *Cubs) last(agent string) spot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[agent]
}

func (c *Cubs) set(agent string, s spot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[agent] = s
}

// part gets a page of a part that serves at its address, or at that port of its container.
func (c *Cubs) part(ctx context.Context, p servedPart, path string, most int) (status int, body []byte, err error) {
	address := p.address
	if c.units != nil {
		_, port, _ := net.SplitHostPort(address)
		units, err := c.units.List(ctx, runtime.Labels{runtime.LabelComponent: p.component})
		if err != nil {
			return 0, nil, fmt.Errorf("find its container: %w", err)
		}
		if len(units) == 0 || !units[0].Running || units[0].Address == "" {
			return 0, nil, fmt.Errorf("%w: its container does not run", errNoAddress)
		}
		address = net.JoinHostPort(units[0].Address, port)
	}
	return c.fetch(ctx, address, path, most)
}

// fetch gets a page of a cub. A page longer than the bound is an error.
func (c *Cubs) fetch(ctx context.Context, address, path string, most int) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := c.client.Do(req)
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
