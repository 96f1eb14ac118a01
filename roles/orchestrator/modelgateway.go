package orchestrator

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/container"
	"sett/roles/role/gateway"
	"sett/runtime"
)

// ModelGateway describes the unit that passes agents' calls of models on.
func (u specs) ModelGateway(c *config.Config) (runtime.Spec, error) {
	at, err := url.Parse(u.settings.GatewayURL)
	if err != nil || at.Host == "" {
		return runtime.Spec{}, errors.New("describe model-gateway: it has no address; sett up gives it one")
	}
	g := env.GatewayOf(c)
	g.Instance, g.Addr, g.Key, g.Answers = u.settings.Instance, at.Host, u.settings.GatewayKey, u.settings.ModelAnswers
	g.Keys, g.Secrets = u.settings.ModelKeys, u.settings.ModelSecrets
	g.HealthAddr = "off" // the address for cubs serves it, too
	g.Redis = u.settings.Redis
	g.Redis.Mark = u.known()
	s := runtime.Spec{
		Name: runtime.ComponentModelGateway, Args: []string{"model-gateway"}, Dir: cmp.Or(u.settings.StateDir, "/"),
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: runtime.ComponentModelGateway,
			runtime.LabelRun: u.settings.Run, runtime.LabelIncarnation: u.env.NewID(), runtime.LabelConfig: c.ModelsDigest(),
		},
	}
	if u.settings.containers() {
		if err := u.encloseGateway(&s, &g, c.Services.ModelGateway, at); err != nil {
			return s, err
		}
	}
	vars, err := u.environ(nil)
	s.Env = slices.Concat(vars, g.Environ())
	return s, err
}

// Places in the model gateway's container.
const (
	modelKeysFile   = "/.sett-models/keys.json"
	answersDir      = "/.sett-answers"
	recordsDir      = "/.sett-records"
	certificatesDir = "/.sett-certificates"
)

// The limits of the model gateway's container. Bodies of requests and answers wait in its memory.
const (
	gatewayMemory = 1 << 30
	gatewayPids   = 256
)

// encloseGateway makes a container of it: sett's own image, the keys and the records, and
// nothing else of this machine. It reaches everything, as providers may be anywhere.
func (u specs) encloseGateway(s *runtime.Spec, g *env.Gateway, wanted config.ModelGatewayService, at *url.URL) error {
	if wanted.Resolved == nil {
		return errors.New("describe model-gateway: no image was found for it")
	}
	board, err := u.settings.gatewayURL()
	if err != nil {
		return fmt.Errorf("describe model-gateway: %w", err)
	}
	g.Redis.URL, g.Addr, s.Dir = board, ":"+at.Port(), "/"
	var mounts []runtime.Mount
	if g.Keys != "" {
		mounts = append(mounts, runtime.Mount{Source: g.Keys, Target: modelKeysFile, ReadOnly: true})
		g.Keys = modelKeysFile
	}
	if g.Answers != "" {
		mounts = append(mounts, runtime.Mount{Source: g.Answers, Target: answersDir})
		g.Answers = answersDir
	}
	for i := range g.Models {
		m := &g.Models[i]
		for _, dir := range []*string{&m.Record, &m.Replay} {
			if *dir != "" {
				inside := recordsDir + "/" + m.Name
				mounts = append(mounts, runtime.Mount{Source: *dir, Target: inside, ReadOnly: dir == &m.Replay})
				*dir = inside
			}
		}
		if m.CAFile != "" {
			inside := certificatesDir + "/" + m.Name + ".pem"
			mounts = append(mounts, runtime.Mount{Source: m.CAFile, Target: inside, ReadOnly: true})
			m.CAFile = inside
		}
		m.BaseURL = throughHost(m.BaseURL)
	}
	s.Container = runtime.Container{
		Image: u.settings.ControlImage, User: u.settings.AgentsUser, Mounts: mounts,
		Network: runtime.NetworkFull, Aliases: []string{at.Hostname()}, ToHost: true,
		CPUs: container.CPUs, Memory: gatewayMemory, Pids: gatewayPids, Tmp: 16 << 20,
	}
	u.trust(s, &g.Redis)
	return nil
}

// throughHost replaces a loopback address, which in a container is the container itself,
// by the engine's host.
func throughHost(base string) string {
	at, err := url.Parse(base)
	if err != nil || !config.Loopback(at.Hostname()) {
		return base
	}
	host := runtime.HostName
	if at.Port() != "" {
		host = net.JoinHostPort(host, at.Port())
	}
	at.Host = host
	return at.String()
}

// ask gives a cub the way to its agent's model, and `sett llm` its settings.
func (u specs) ask(c *env.Cub, a config.Agent) {
	if a.LLM != nil {
		c.Asks = env.AsksOf(a, u.settings.GatewayURL, gateway.Token(u.settings.GatewayKey, a.Name))
	}
}
