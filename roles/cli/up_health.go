package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
)

// Where health and metrics are served: at a port that stays, since whoever watches
// the instance is told of it once. It is below those that systems hand out by
// themselves, so that nothing takes it by chance while the orchestrator is away.
const (
	healthPorts   = 20000
	healthRange   = 10000
	healthTries   = 50
	healthTime    = 500 * time.Millisecond // for an answer from this machine
	healthInside  = 8080                   // in the orchestrator's container
	mostHealthSay = 1 << 20
)

// chooseHealth settles where the orchestrator of an instance that is to be started
// serves its health: where it did, if it can.
func (u *upping) chooseHealth() error {
	at, err := u.in.freeHealth("")
	if err != nil {
		return err
	}
	u.in.Health = at
	return nil
}

// freeHealth returns an address that is free: the one in use up to now, else one
// that follows from where the instance is kept. One can be ruled out: it is not as
// free as it seems.
func (in *instance) freeHealth(but string) (string, error) {
	wanted := []string{in.Health}
	h := fnv.New32a()
	_, _ = h.Write([]byte(in.dir))
	for i := range uint32(healthTries) {
		port := healthPorts + int((h.Sum32()+i)%healthRange)
		wanted = append(wanted, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	wanted = append(wanted, "127.0.0.1:0")
	board := ""
	if at, err := url.Parse(in.URL); err == nil {
		board = at.Host // chosen, and perhaps not taken yet
	}
	var err error
	for _, addr := range wanted {
		if addr == "" || addr == but || addr == board {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			addr = l.Addr().String()
			return addr, l.Close()
		}
	}
	return "", role.Fail(role.Environment, fmt.Errorf("find a free port for health checks: %w", err), "")
}

// healthAddr is where a process serves the health of an instance. One that was
// started by a sett that did not choose yet takes any port.
func (in *instance) healthAddr() string {
	if in.Health == "" {
		return "127.0.0.1:0"
	}
	return in.Health
}

// healthURL is where people and programs ask for it; empty: nobody knows.
func (in *instance) healthURL() string {
	if in.Health == "" {
		return ""
	}
	return "http://" + in.Health + "/healthz"
}

// publishHealth is the port of the orchestrator's container.
func (in *instance) publishHealth() runtime.Publish {
	_, port, err := net.SplitHostPort(in.Health)
	if err != nil {
		return runtime.Publish{}
	}
	host, err := strconv.Atoi(port)
	if err != nil || host == 0 {
		return runtime.Publish{}
	}
	return runtime.Publish{Port: healthInside, Host: host}
}

// healthDetail says where health and metrics are served; nothing where they are
// not, which then is said.
func (u *upping) healthDetail(ctx context.Context) string {
	if u.in.Health == "" {
		return ""
	}
	if err := u.in.askHealth(ctx); err != nil {
		u.a.sayf("sett: note: health and metrics are to be at http://%s, and %v\n", u.in.Health, err)
		return ""
	}
	return "health and metrics at http://" + u.in.Health
}

// askHealth makes sure that the instance's own orchestrator answers.
func (in *instance) askHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+in.Health+"/agents", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("nobody answers there: %w", err)
	}
	defer res.Body.Close()
	var said struct {
		Instance string `json:"instance"`
		Run      string `json:"run"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, mostHealthSay)).Decode(&said)
	if err != nil || said.Instance != in.Name || said.Run != in.Run {
		return errors.New("another program has the port; sett logs orchestrator says when it is served")
	}
	return nil
}

// startPublished starts the orchestrator's container, at another port of this
// machine when somebody was faster to take the one that was chosen. It may run beside
// what reads and writes the state, so that the state is told later.
func (l *containerLauncher) startPublished(ctx context.Context, spec runtime.Spec) error {
	for range portTries {
		_, err := l.place.Start(ctx, spec)
		if !errors.Is(err, docker.ErrPort) {
			return err
		}
		now := instance{dir: l.in.dir}
		taken := net.JoinHostPort("127.0.0.1", strconv.Itoa(spec.Container.Publish.Host))
		if now.Health, err = now.freeHealth(taken); err != nil {
			return err
		}
		l.in.moved, spec.Container.Publish = now.Health, now.publishHealth()
	}
	return role.Fail(role.Environment, errNoPort, "sett up again")
}

// settleHealth notes where health is served after all, and says whether that is
// elsewhere.
func (in *instance) settleHealth() (elsewhere bool) {
	at := in.moved
	in.moved = ""
	if at == "" || at == in.Health {
		return false
	}
	in.Health = at
	return true
}
