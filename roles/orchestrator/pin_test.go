package orchestrator

import (
	"slices"
	"testing"

	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// TestPinned: units run their pinned programs, which containers see read-only at a fixed
// place. An agent that uses none sees nothing of them.
func TestPinned(t *testing.T) {
	t.Parallel()
	const digest = "5a0e"
	for _, c := range []struct {
		name   string
		docker bool
		dir    string
	}{{"containers", true, "/.sett-pin"}, {"processes", false, "/state/pins/5a0e"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := newSett(t, "a", "b"), newPlace()
			o := inPlace(p)
			if c.docker {
				s.resolve()
				o = inContainers(p, "redis://sett-test-redis:6379/0")
			} else {
				s.agent("a").Resolved = &config.Resolved{}
			}
			a := s.agent("a")
			a.Command, a.BidScript, a.Bids = []string{"sh", "agents/x.sh", "agents/x.sh"}, []string{"./bids"}, nil
			a.Resolved.Pin, a.Resolved.Programs = digest, map[string]string{"agents/x.sh": "agents/x.sh", "./bids": "bids"}
			s.notifies("bin/notify", "x")
			if s.cfg.Notify.Resolved == nil {
				s.cfg.Notify.Resolved = &config.Resolved{}
			}
			s.cfg.Notify.Resolved.Pin, s.cfg.Notify.Resolved.Programs = digest, map[string]string{"bin/notify": "bin/notify"}
			s.write()
			vars := map[string]string{env.Pins: "/state/pins"}
			for name, value := range o.vars {
				vars[name] = value
			}
			o.vars = vars
			s.lead(o)
			for _, unit := range []string{"agent-a", "agent-b", "notifier"} {
				s.incarnation(p, unit)
			}
			spec := p.spec("agent-a")
			got := environ(spec)
			cub, err := env.ParseCub(func(name string) (string, bool) { v, ok := got[name]; return v, ok })
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(cub.Command, []string{"sh", c.dir + "/agents/x.sh", "agents/x.sh"}) || !slices.Equal(cub.BidScript, []string{c.dir + "/bids"}) ||
				cub.Pin != c.dir || cub.PinDigest != digest || spec.Labels[runtime.LabelPin] != digest {
				t.Errorf("%+v, labels %v", cub, spec.Labels)
			}
			if n := parsed(t, p.spec("notifier")); !slices.Equal(n.Command, []string{c.dir + "/bin/notify", "x"}) || n.Pin != c.dir {
				t.Errorf("%+v", n)
			}
			mount := runtime.Mount{Source: "/state/pins/5a0e", Target: "/.sett-pin", ReadOnly: true}
			for unit, want := range map[string]bool{"agent-a": c.docker, "notifier": c.docker, "agent-b": false} {
				if has := slices.Contains(p.spec(unit).Container.Mounts, mount); has != want {
					t.Errorf("%s: mounts %v", unit, p.spec(unit).Container.Mounts)
				}
			}
			if other := p.spec("agent-b"); other.Labels[runtime.LabelPin] != "" || environ(other)[env.Pin] != "" {
				t.Errorf("b has pinned files: %v %v", other.Labels, other.Env)
			}
		})
	}
}

// TestPinnedNowhere: without the directory of pinned files an agent does not start with
// the working tree's.
func TestPinnedNowhere(t *testing.T) {
	t.Parallel()
	u := specs{settings: settings{Workspace: "/repo"}}
	s := runtime.Spec{Labels: runtime.Labels{}}
	if _, _, err := u.pinned(&s, &config.Resolved{Pin: "5a0e"}); err == nil {
		t.Error("no error")
	}
	if dir, digest, err := u.pinned(&s, &config.Resolved{}); dir+digest != "" || err != nil {
		t.Errorf("nothing pinned: %q %q %v", dir, digest, err)
	}
}
