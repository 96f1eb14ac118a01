package trial

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/cub/door"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	"sett/roles/role/gateway"
	"sett/roles/role/modelclient"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/runtime"
	"sett/runtime/credentials"
)

// Model is the way to the agent's model: what a model gateway of the trial's own is started with.
type Model struct {
	Gateway env.Gateway
	Keys    map[string]string // by the model's name; headers as NAME/HEADER
}

// gate is that gateway while it runs.
type gate struct {
	url, token string
	cmd        *osexec.Cmd
	life       io.Closer // it ends when this closes, also when this process is killed
	ended      chan struct{}
	how        error        // it ended; read it after ended
	account    bytes.Buffer // what it prints at its end
	said       bytes.Buffer
}

// The longest that a gateway takes to start, and to end with the calls under way.
const (
	gateStarts = 30 * time.Second
	gateEnds   = 15 * time.Second
)

// openGate starts the gateway, which gets the key through a pipe. The tool is started when it is
// ready.
func openGate(ctx context.Context, t *Trial) (shut func(), err error) {
	if t.Model == nil {
		return func() {}, nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("find the sett binary: %w", err), "")
	}
	at, err := instance.FreeAddress("", rand.Text())
	if err != nil {
		return nil, err
	}
	keys, err := json.Marshal(t.Model.Keys)
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("hand over the keys: %w", err), "")
	}
	s := t.Model.Gateway
	s.Instance, s.Addr, s.HealthAddr, s.Own, s.Key, s.Secrets = t.Instance, at, "off", true, rand.Text(), string(keys)
	g := &gate{url: "http://" + at, token: gateway.Token(s.Key, t.Agent.Name), cmd: osexec.Command(own, "model-gateway"), ended: make(chan struct{})}
	g.cmd.Stdout, g.cmd.Stderr = &g.account, &g.said
	closePipe, err := credentials.Pass(g.cmd, append(env.Inherited(t.Environ()), s.Environ()...))
	if err != nil {
		return nil, role.Fail(role.Environment, err, "")
	}
	defer closePipe()
	var spared func()
	if g.life, err = g.cmd.StdinPipe(); err == nil {
		spared, err = toolrun.Start(g.cmd)
	}
	if err != nil {
		return nil, role.Fail(role.Environment, fmt.Errorf("start the model gateway: %w", err), "")
	}
	go func() { g.how = g.cmd.Wait(); spared(); close(g.ended) }()
	if err := g.ready(ctx); err != nil {
		g.stop()
		return nil, err
	}
	t.gate = g
	return func() { noteModels(t, g.stop()) }, nil
}

// ready waits until the gateway answers.
func (g *gate) ready(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for late := time.After(gateStarts); ; {
		if q, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/healthz", nil); err == nil {
			if r, err := http.DefaultClient.Do(q); err == nil {
				_ = r.Body.Close()
				if r.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
		select {
		case <-g.ended:
			return role.Fail(role.Environment, fmt.Errorf("the model gateway ended: %s", cmp.Or(words.FirstLine(errors.New(strings.TrimSpace(g.said.String()))), fmt.Sprint(g.how))), "")
		case <-ctx.Done():
			return role.Fail(role.Environment, ctx.Err(), "")
		case <-late:
			return role.Fail(role.Environment, fmt.Errorf("the model gateway is not ready within %s", gateStarts), "")
		case <-again.C:
		}
	}
}

// stop ends the gateway, and returns the calls that were made.
func (g *gate) stop() (all []view.Spent) {
	_ = g.life.Close()
	late := time.AfterFunc(gateEnds, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	<-g.ended
	_ = json.Unmarshal(g.account.Bytes(), &all) // nothing of one that was killed
	return all
}

// noteModels reports the calls.
func noteModels(t *Trial, all []view.Spent) {
	t.report.Models = all
	for _, s := range all {
		t.say("models", view.Calls(s.Spent))
	}
}

// bidByModel asks the model for the bid, as the cub does. If it gives none, the bid is ignore, or
// the claim would wait, as in a running instance; here the report names the fault as well.
func bidByModel(ctx context.Context, t *Trial) error {
	asks := env.AsksOf(t.Agent, t.gate.url, t.gate.token)
	q, _ := modelclient.BidRequest(t.Agent.Role, t.Agent.Prompts.Claim, tool.Input{Target: t.Target, ContextChain: t.Chain}, *asks.LLM)
	client := &modelclient.Client{
		API: asks.API, Model: asks.Model, Base: t.gate.url, HTTP: modelclient.NewHTTP(door.Patient(door.Patience)), Repeats: 2,
		Sign: func(h http.Header) {
			gateway.SetCall(h, t.gate.token, blackboard.Call{ID: t.NewID(), Claim: t.Claim, Agent: t.Agent.Name, Holder: "try"})
		},
	}
	limited, cancel := modelclient.LimitBid(ctx)
	defer cancel()
	bid, why, err := client.Bid(limited, q)
	if ctx.Err() != nil {
		return term.Interrupted("interrupted; nothing was recorded")
	}
	t.report.Bid, t.report.BidReason = bid, modelclient.OneReason("model: "+why)
	if err != nil {
		t.report.Bid, t.report.BidReason = blackboard.BidIgnore, modelclient.OneReason("the model gave no bid: "+err.Error())
		_, withheld := modelclient.Withheld(err)
		t.report.Problem = &Problem{noBid, err.Error(), withheld}
	}
	return nil
}

// openDoor opens the tool's way to its model. A refusal for want of a budget ends the tool, as in
// a cub.
func openDoor(t *Trial, stop context.CancelCauseFunc) (*door.Door, error) {
	if t.gate == nil || !t.Agent.LLM.Door {
		return nil, nil
	}
	dir := ""
	switch {
	case t.Image != nil: // the container's own, which goes with it
	case t.Walls != nil:
		dir = t.Walls.Tmp // the tool may go there
	default:
		dir = t.place.top // the next trial removes it, where this one is killed
	}
	return door.Open(door.Options{
		Dir: dir, Gateway: t.gate.url, Token: t.gate.token, NewID: t.NewID, Loopback: t.Image == nil && t.Agent.Network != config.NetworkNone, Log: slog.New(slog.DiscardHandler),
		Call:       blackboard.Call{Claim: t.Claim, Agent: t.Agent.Name, Attempt: t.attempt, Holder: "try"},
		OverBudget: func(over *gateway.OverBudget) { stop(over) },
	})
}

// runWithModel runs the agent's tool, which has the way to its model meanwhile. One that was ended for
// want of a budget gives a *gateway.OverBudget.
func runWithModel(ctx context.Context, t *Trial, c toolrun.Command, vars env.ToolVars) (toolrun.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d, err := openDoor(t, stop)
	if err != nil {
		return toolrun.Result{ExitCode: -1}, role.Fail(role.Environment, err, "")
	}
	if d == nil {
		return exec(ctx, t, c, vars, nil)
	}
	defer d.Close()
	c.Expired = func() { t.waited = d.Waits() } // a container's timeout is not seen here
	res, err := exec(ctx, t, c, vars, d)
	place, over := (*role.Error)(nil), d.Over()
	if interrupted := res.Cancelled && !errors.As(context.Cause(ctx), &over); !errors.As(err, &place) && over != nil && !interrupted {
		err = over
	}
	return res, err
}

// doorInside is where the tool of a container finds the door's socket.
const doorInside = "/.sett-door"

// lend mounts the door's socket into a container, and gives it to its user.
func lend(t *Trial, d *door.Door) (vars []string, mount []runtime.Mount, err error) {
	socket := ""
	for _, v := range d.Environ(nil) {
		name, value, _ := strings.Cut(v, "=")
		if name == env.ModelSocket {
			socket, value = value, filepath.Join(doorInside, filepath.Base(value))
		}
		vars = append(vars, name+"="+value)
	}
	if os.Geteuid() == 0 {
		uid, gid := t.Image.Owner()
		for _, name := range []string{socket, filepath.Dir(socket)} {
			err = errors.Join(err, os.Chown(name, uid, gid))
		}
	}
	return vars, []runtime.Mount{{Source: filepath.Dir(socket), Target: doorInside}}, err
}
