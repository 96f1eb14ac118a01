package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"sett/contract/config"
	"sett/runtime"
)

// processes launches an instance as processes of this machine. What there is to
// start keeps itself running: the keeper the blackboard and the orchestrator, and
// this one the agents.
type processes struct{ *upping }

func (*processes) taken(context.Context, string) (string, error) { return "", nil }

func (p *processes) provide(context.Context) error {
	for _, missing := range missingTools(p.c, p.in.Workspace) {
		p.a.sayf("sett: warning: %s\n", missing)
	}
	return nil
}

func (*processes) user() string { return "default" }

// startBlackboard starts the embedded blackboard before the keeper adopts it, so
// that nobody sees what its records said of the last run.
func (p *processes) startBlackboard(ctx context.Context) (runtime.Unit, error) {
	return p.place.Start(ctx, p.spec(runtime.ComponentBlackboard))
}

// startOrchestrator leaves that to the keeper.
func (p *processes) startOrchestrator(ctx context.Context) error {
	if _, err := p.place.Start(ctx, p.spec(runtime.ComponentKeeper)); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	return nil
}

func (p *processes) update(ctx context.Context) (position string, err error) {
	return "", p.startOrchestrator(ctx)
}

func (*processes) clear(context.Context) error { return nil }

func (p *processes) blackboardDetail() string { return "embedded, " + p.board.Addr() }

func (*processes) notes() []string {
	return []string{"local mode isolates nothing: agents run as you, with your files and your network"}
}

// missingTools says which agents' programs cannot be run as things stand. That is
// no error: another agent may yet make them.
func missingTools(c *config.Config, root string) []string {
	var missing []string
	for _, agent := range c.Agents {
		for _, command := range [][]string{agent.Command, agent.BidScript} {
			if len(command) == 0 {
				continue
			}
			file := command[0]
			if strings.Contains(file, "/") && !filepath.IsAbs(file) {
				file = filepath.Join(root, file)
			}
			if _, err := exec.LookPath(file); err != nil {
				missing = append(missing, fmt.Sprintf("agent %s: %s cannot be run: %v; its claims will fail",
					agent.Name, clean(command[0]), errors.Unwrap(err)))
			}
		}
	}
	return missing
}
