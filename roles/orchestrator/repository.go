package orchestrator

import (
	"fmt"
	"net/url"

	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// Repository describes the unit that prepares the agents' trees.
func (u specs) Repository(c *config.Config) (runtime.Spec, error) {
	at, err := url.Parse(u.settings.RepositoryURL)
	if err != nil {
		return runtime.Spec{}, fmt.Errorf("describe repository: %w", err)
	}
	r := env.Repository{
		Instance: u.settings.Instance, Addr: at.Host, Key: u.settings.RepositoryKey, Store: u.settings.Store, Trees: u.settings.Trees,
		HealthAddr: "127.0.0.1:0",
	}
	return runtime.Spec{
		Name: runtime.ComponentRepository, Args: []string{"repository"}, Dir: u.settings.Trees,
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: runtime.ComponentRepository,
			runtime.LabelRun: u.settings.Run, runtime.LabelIncarnation: u.env.NewID(), runtime.LabelConfig: c.RepositoryDigest(),
		},
		Env: append(u.environ(nil), r.Environ()...),
	}, nil
}
