package instance

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
	"slices"
	"strconv"
	"time"

	"sett/roles/role"
	"sett/runtime"
)

// The parts of an instance that listen have ports that follow from its directory: they stay the same,
// because monitoring is set up with one of them once. They are below the range that systems
// hand out by themselves, so that no program takes one by chance between its choice and its
// use, or while the part is down.
const (
	firstPort     = 20000
	portRange     = 10000
	portTries     = 50
	healthTime    = 500 * time.Millisecond // for an answer from this machine
	HealthInside  = 8080                   // in the orchestrator's container
	mostHealthSay = 1 << 20
)

// FreeHealth returns a free address for health and metrics. It never returns the address
// but, which another program has although it seems free.
func (in *Instance) FreeHealth(but string) (string, error) {
	return FreeAddress(in.Health, in.Dir, in.Repository, in.ModelGateway, but, boardHost(in))
}

// FreeRepository returns a free address for the role that prepares the trees, in local
// mode.
func (in *Instance) FreeRepository() (string, error) {
	return FreeAddress(in.Repository, in.TreesDir(), in.Health, in.ModelGateway, boardHost(in))
}

// FreeGateway returns a free address for the model gateway, in local mode.
func FreeGateway(in *Instance) (string, error) {
	return FreeAddress(in.ModelGateway, ModelAnswersDir(in), in.Health, in.Repository, boardHost(in))
}

// boardHost is the address of the instance's blackboard: chosen, and perhaps not taken yet.
func boardHost(in *Instance) string {
	at, err := url.Parse(in.URL)
	if err != nil {
		return ""
	}
	return at.Host
}

// FreeAddress returns a free address of this machine: the present one, else one computed from a
// text that is the user's own, else any, and none of but.
func FreeAddress(present, from string, but ...string) (string, error) {
	wanted := []string{present}
	h := fnv.New32a()
	_, _ = h.Write([]byte(from))
	for i := range uint32(portTries) {
		port := firstPort + int((h.Sum32()+i)%portRange)
		wanted = append(wanted, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	wanted = append(wanted, "127.0.0.1:0")
	var err error
	for _, addr := range wanted {
		if addr == "" || slices.Contains(but, addr) {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			addr = l.Addr().String()
			return addr, l.Close()
		}
	}
	return "", role.Fail(role.Environment, fmt.Errorf("find a free port: %w", err), "")
}

// HealthAddr is the address at which a process serves the health of an instance. An
// instance without one, started by an older sett, takes any port.
func (in *Instance) HealthAddr() string {
	if in.Health == "" {
		return "127.0.0.1:0"
	}
	return in.Health
}

// HealthURL is the base address of health and metrics; GET / lists what is there. Empty:
// unknown.
func (in *Instance) HealthURL() string {
	if in.Health == "" {
		return ""
	}
	return "http://" + in.Health
}

// PublishHealth is the port that the orchestrator's container publishes for health
// checks.
func (in *Instance) PublishHealth() runtime.Publish {
	_, port, err := net.SplitHostPort(in.Health)
	if err != nil {
		return runtime.Publish{}
	}
	host, err := strconv.Atoi(port)
	if err != nil || host == 0 {
		return runtime.Publish{}
	}
	return runtime.Publish{Port: HealthInside, Host: host}
}

// AskHealth checks that the instance's own orchestrator answers at its health address.
func (in *Instance) AskHealth(ctx context.Context) error {
	said, err := ask(ctx, "http://"+in.Health+"/agents")
	if err == nil && (said.Instance != in.Name || said.Run != in.Run) {
		err = errors.New("another program has the port; sett logs orchestrator says when it is served")
	}
	return err
}

// identity is the answer of a part of an instance about itself.
type identity struct {
	Instance string `json:"instance"`
	Run      string `json:"run"`
}

// ask asks a part of this machine who it is; nobody, where another program answers.
func ask(ctx context.Context, url string) (said identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return said, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	res, err := client.Do(req)
	if err != nil {
		return said, fmt.Errorf("nobody answers there: %w", err)
	}
	defer res.Body.Close()
	if json.NewDecoder(io.LimitReader(res.Body, mostHealthSay)).Decode(&said) != nil {
		said = identity{}
	}
	return said, nil
}

// RepositoryAnswers says whether the role that prepares the trees serves. One in a container
// is reached from the agents' network alone: the orchestrator asks it. Where nobody reaches
// the orchestrator either, it is enough that the container runs.
func (in *Instance) RepositoryAnswers(ctx context.Context) bool {
	return partAnswers(ctx, in, in.Repository, "/repository")
}

// GatewayAnswers is RepositoryAnswers for the model gateway.
func GatewayAnswers(ctx context.Context, in *Instance) bool {
	return partAnswers(ctx, in, in.ModelGateway, "/model-gateway")
}

func partAnswers(ctx context.Context, in *Instance, at, below string) bool {
	if at == "" {
		if in.AskHealth(ctx) != nil {
			return true
		}
		at = in.Health + below
	}
	said, err := ask(ctx, "http://"+at+"/healthz")
	return err == nil && said.Instance == in.Name
}

// MoveHealth chooses another port in place of one that is taken. The state has it only
// after SettleHealth: other code may read and write the state at the same time.
func (in *Instance) MoveHealth(taken runtime.Publish) (runtime.Publish, error) {
	now := Instance{Dir: in.Dir}
	at, err := now.FreeHealth(net.JoinHostPort("127.0.0.1", strconv.Itoa(taken.Host)))
	now.Health, in.moved = at, at
	return now.PublishHealth(), err
}

// SettleHealth puts the address that MoveHealth chose into the state, and says whether
// the address changed.
func (in *Instance) SettleHealth() (elsewhere bool) {
	at := in.moved
	in.moved = ""
	if at == "" || at == in.Health {
		return false
	}
	in.Health = at
	return true
}
