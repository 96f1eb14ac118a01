package orchestrator

import (
	"fmt"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/container"
	"sett/runtime"
)

// Notifier describes the notifier's unit.
func (u specs) Notifier(wanted config.Notify) (runtime.Spec, error) {
	n := env.Notifier{
		Instance: u.settings.Instance, Redis: u.settings.Redis, Command: wanted.Command, Timeout: wanted.Timeout,
		Workspace: u.settings.Workspace, PeoplesPath: u.settings.Workspace, Run: u.settings.Run, Incarnation: u.env.NewID(),
	}
	s := runtime.Spec{
		Name: runtime.ComponentNotifier, Args: []string{"notifier"}, Dir: u.settings.Workspace,
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: runtime.ComponentNotifier,
			runtime.LabelRun: u.settings.Run, runtime.LabelIncarnation: n.Incarnation, runtime.LabelConfig: wanted.Digest(),
		},
	}
	if u.settings.containers() {
		if err := u.encloseNotifier(&s, &n, wanted); err != nil {
			return s, err
		}
	}
	var err error
	if n.Pin, _, err = u.pinned(&s, wanted.Resolved); err != nil {
		return s, fmt.Errorf("describe notifier: %w", err)
	}
	n.Command = wanted.Resolved.Pinned(n.Command, n.Pin)
	s.Env, err = u.environ(wanted.Environment)
	s.Env = append(s.Env, n.Environ()...)
	return s, err
}

// encloseNotifier makes a container of it, like that of an agent with full network. It
// reads the person's working tree.
func (u specs) encloseNotifier(s *runtime.Spec, n *env.Notifier, wanted config.Notify) error {
	r := wanted.Resolved
	if r == nil {
		return fmt.Errorf("describe notifier: no image was found for it")
	}
	at, err := u.settings.notifierURL()
	if err != nil {
		return fmt.Errorf("describe notifier: %w", err)
	}
	n.Redis.URL, n.Workspace, s.Dir = at, container.Workspace, container.Workspace
	s.Container = runtime.Container{
		Image: r.Image, Binary: r.Binary, User: u.settings.AgentsUser, Mounts: u.settings.workspaceMounts(),
		Network: runtime.NetworkFull, CPUs: container.CPUs, Memory: container.Memory, Pids: container.Pids, Tmp: container.Tmp,
	}
	u.trust(s, &n.Redis)
	return nil
}
