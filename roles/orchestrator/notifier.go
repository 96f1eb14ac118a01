package orchestrator

import (
	"fmt"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// notifierGrace is more than the notifier gives its command.
const notifierGrace = 10 * time.Second

// notifierSpec describes the notifier's unit.
func (l *leadership) notifierSpec(wanted config.Notify) (runtime.Spec, error) {
	n := env.Notifier{
		Instance: l.settings.Instance, Redis: l.settings.Redis, Command: wanted.Command, Timeout: wanted.Timeout,
		Workspace: l.settings.Workspace, PeoplesPath: l.settings.Workspace, Run: l.settings.Run, Incarnation: l.env.NewID(),
	}
	s := runtime.Spec{
		Name: runtime.ComponentNotifier, Args: []string{"notifier"}, Dir: l.settings.Workspace,
		Labels: runtime.Labels{
			runtime.LabelInstance: l.settings.Instance, runtime.LabelComponent: runtime.ComponentNotifier,
			runtime.LabelRun: l.settings.Run, runtime.LabelIncarnation: n.Incarnation, runtime.LabelConfig: wanted.Digest(),
		},
	}
	if l.settings.containers() {
		if err := l.encloseNotifier(&s, &n, wanted); err != nil {
			return s, err
		}
	}
	s.Env = append(l.environ(wanted.Environment), n.Environ()...)
	return s, nil
}

// encloseNotifier makes a container of it, like that of an agent that may only read
// the workspace, and reach whom it is to tell.
func (l *leadership) encloseNotifier(s *runtime.Spec, n *env.Notifier, wanted config.Notify) error {
	r := wanted.Resolved
	if r == nil {
		return fmt.Errorf("describe notifier: no image was found for it")
	}
	at, err := l.settings.unitURL(redis.NotifierURL)
	if err != nil {
		return fmt.Errorf("describe notifier: %w", err)
	}
	n.Redis.URL, n.Workspace, s.Dir = at, workspaceDir, workspaceDir
	s.Container = runtime.Container{
		Image: r.Image, Binary: r.Binary, Entrypoint: r.Program, User: l.settings.AgentsUser, Mounts: l.settings.workspaceMounts(true),
		Network: runtime.NetworkFull, CPUs: defaultCPUs, Memory: defaultMemory, Pids: defaultPids, Tmp: tmpSize,
	}
	return nil
}
