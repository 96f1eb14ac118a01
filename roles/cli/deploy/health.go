package deploy

import (
	"context"
	"fmt"

	"sett/contract/config"
	"sett/runtime"
)

// chooseHealth settles where the orchestrator of an instance that is to be started
// serves its health: where it did, if it can.
func (j *job) chooseHealth() error {
	at, err := j.in.FreeHealth("")
	if err != nil {
		return err
	}
	j.in.Health = at
	return nil
}

// chooseRepository settles where processes reach the role that prepares the trees: where
// they did, if it can be: one that still runs serves no other address. Containers reach it
// on their network.
func chooseRepository(ctx context.Context, j *job) error {
	if j.c.Runtime == config.RuntimeDocker {
		j.in.Repository = ""
		return nil
	}
	units, err := j.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentRepository})
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if j.in.Repository != "" && len(units) > 0 && units[0].Running {
		return nil
	}
	at, err := j.in.FreeRepository()
	if err != nil {
		return err
	}
	j.in.Repository = at
	return nil
}

// healthDetail says where health and metrics are served; nothing where they are
// not, which then is said.
func (j *job) healthDetail(ctx context.Context) string {
	if j.in.Health == "" {
		return ""
	}
	if err := j.in.AskHealth(ctx); err != nil {
		j.at.Sayf("sett: note: health and metrics are to be at http://%s, and %v\n", j.in.Health, err)
		return ""
	}
	return "health and metrics at http://" + j.in.Health
}
