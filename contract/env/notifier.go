package env

import "time"

// The variables of the notifier, besides the variables of the instance, the
// blackboard and the workspace.
const (
	NotifyCommand   = "SETT_NOTIFY_COMMAND"   // JSON array
	NotifyTimeout   = "SETT_NOTIFY_TIMEOUT"   // of one run of the command; default 30s
	NotifyWorkspace = "SETT_NOTIFY_WORKSPACE" // the workspace's path outside the container; default: Workspace
)

// Notifier has the settings of the notifier.
type Notifier struct {
	Instance    string
	Redis       Redis
	Command     []string
	Timeout     time.Duration
	Workspace   string // the command's directory
	PeoplesPath string // of the workspace
	Run         string
	Pin         string // directory with the clan's pinned files; empty: the command uses none
	Incarnation string
}

// Environ writes the variables in a fixed order, without the empty ones.
func (n Notifier) Environ() []string {
	var out []string
	for _, v := range []struct{ name, value string }{
		{Instance, n.Instance}, {NotifyCommand, list(n.Command)}, {NotifyTimeout, span(n.Timeout)},
		{Workspace, n.Workspace}, {NotifyWorkspace, n.PeoplesPath}, {Run, n.Run}, {Pin, n.Pin}, {Incarnation, n.Incarnation},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	return append(out, n.Redis.Environ()...)
}

// ParseNotifier reads the settings of the notifier. The error lists every wrong
// variable.
func ParseNotifier(lookup func(string) (string, bool)) (Notifier, error) {
	r := &Reader{Lookup: lookup}
	n := Notifier{
		Instance:    r.Required(Instance, "the instance's name, such as my-sett"),
		Redis:       r.Redis(),
		Timeout:     r.Span(NotifyTimeout, 30*time.Second),
		Workspace:   r.Or(Workspace, "/workspace"),
		Run:         r.Or(Run, ""),
		Pin:         r.Or(Pin, ""),
		Incarnation: r.Or(Incarnation, ""),
	}
	n.PeoplesPath = r.Or(NotifyWorkspace, n.Workspace)
	const want = `a JSON array such as ["bin/notify"]`
	r.Required(NotifyCommand, want)
	before := len(r.problems)
	r.array(NotifyCommand, &n.Command, want)
	if v := r.Or(NotifyCommand, ""); v != "" && (len(n.Command) == 0 || n.Command[0] == "") && len(r.problems) == before {
		r.wrong(NotifyCommand, v, want)
	}
	return n, r.Err()
}
