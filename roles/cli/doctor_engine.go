package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime/docker"
)

// withoutEngine is what to do without an engine where one is wanted.
const withoutEngine = "sett up --runtime process needs none"

// engine looks at the container engine.
func (x *exam) engine(ctx context.Context) []finding {
	e, err := x.engineAnswer(ctx)
	if err != nil {
		return []finding{x.noEngine(err)}
	}
	f := e.Facts()
	out := []finding{fine("", "%s", describeEngine(e))}
	if f.Name == "Podman" {
		out = append(out, warning("Podman", "", "Sett is made to work with Podman, and was not tested with it"))
	}
	if _, err := x.a.linuxExecutable(f.Arch); err != nil {
		out = append(out, wrong("binary", err))
	} else if f.Arch != runtime.GOARCH {
		out = append(out, warning("architecture", "", "it runs linux/%s, this machine is %s: images of another architecture are emulated, if at all", f.Arch, runtime.GOARCH))
	}
	return append(out, x.workspaceThere(ctx, e)...)
}

// describeEngine says on a line what an engine is.
func describeEngine(e *docker.Engine) string {
	f, at := e.Facts(), e.Endpoint()
	kind := "with root's rights"
	if f.Rootless {
		kind = "rootless"
	}
	words := []string{fmt.Sprintf("%s %s (API %s) at %s (%s)", f.Name, f.Version, f.APIVersion, at.Host, at.From), kind, f.OS + "/" + f.Arch}
	if f.CgroupVersion != "" {
		words = append(words, "cgroup v"+f.CgroupVersion)
	}
	words = append(words, f.StorageDriver, count(f.CPUs, "CPU"), gibibytes(uint64(max(f.Memory, 0))))
	if f.Desktop {
		words = append(words, "in a virtual machine")
	}
	return strings.Join(words, ", ")
}

// noEngine says how bad it is that there is none.
func (x *exam) noEngine(err error) finding {
	containers, sure := x.inContainers()
	if x.engines.late {
		where := "the container engine"
		if at, err := docker.Find(x.a.Lookup); err == nil {
			where = fmt.Sprintf("container engine at %s (%s)", at.Host, at.From)
		}
		err = role.Fail(role.Environment, fmt.Errorf("%s does not answer: nothing within %s", where, engineTime), "restart it")
	}
	f := wrong("", err)
	switch {
	case !containers:
		f.Status, f.Do = findSkipped, ""
		f.Finding = "none is needed with runtime process; " + f.Finding
	case !sure:
		f.Status = findWarning
	}
	if containers {
		f.Do = strings.TrimPrefix(f.Do+" — or "+withoutEngine, " — or ")
	}
	return f
}

// workspaceThere looks at the workspace as containers would have it, with the code of
// sett up.
func (x *exam) workspaceThere(ctx context.Context, e *docker.Engine) []finding {
	if containers, _ := x.inContainers(); x.root == "" || !containers {
		return nil
	}
	var out []finding
	if l := x.launcher(e); l != nil {
		if err := l.reachable(); err != nil {
			out = append(out, wrong("reach", err))
		}
	}
	ground, err := x.a.survey(ctx, e, x.root)
	if err != nil {
		return append(out, wrong("workspace", err))
	}
	for _, note := range ground.notes {
		out = append(out, warning("workspace", "", "%s", note))
	}
	return out
}

// launcher is that of an up with this sett.yml; nil where it is not for containers.
func (x *exam) launcher(e *docker.Engine) *containerLauncher {
	c := x.sheet.config
	if c == nil || c.Runtime != config.RuntimeDocker || x.root == "" {
		return nil
	}
	in := &instance{State: State{Name: config.MakeInstanceName(filepath.Base(x.root)), Workspace: x.root, ConfigFile: x.sheet.path}}
	if x.meant != nil {
		in.Name = x.meant.Name
	}
	return &containerLauncher{upping: &upping{a: x.a, c: c, in: in}, engine: e}
}

// asked returns the engine for a check that has nothing to say without it.
func (x *exam) asked(ctx context.Context) (*docker.Engine, []finding) {
	e, err := x.engineAnswer(ctx)
	if err != nil {
		return nil, []finding{skipped("no container engine to ask")}
	}
	return e, nil
}

// hardening says what the engine cannot enforce.
func (x *exam) hardening(ctx context.Context) []finding {
	e, none := x.asked(ctx)
	if e == nil {
		return none
	}
	var out []finding
	for _, s := range e.Shortfalls() {
		out = append(out, warning("", s.Remedy, "%s", s.Sentence))
	}
	if len(out) == 0 {
		out = append(out, fine("", "this engine enforces all of it"))
	}
	return out
}

// images says how sett up would have the images that sett.yml needs.
func (x *exam) images(ctx context.Context) []finding {
	e, none := x.asked(ctx)
	if e == nil {
		return none
	}
	if c := x.sheet.config; c != nil && c.Runtime != config.RuntimeDocker {
		return []finding{skipped("none are needed with runtime %s", c.Runtime)}
	}
	l := x.launcher(e)
	if l == nil {
		return []finding{skipped("no valid %s", configName)}
	}
	preview := e.Preview()
	_, err := preview.Images(ctx, l.wanted(), nil)
	var out []finding
	foreseen, _ := preview.Foreseen()
	for _, f := range foreseen {
		out = append(out, imageFinding(f))
	}
	var missing *docker.MissingError
	switch {
	case errors.As(err, &missing):
		for _, m := range missing.Images {
			out = append(out, problem(m.Name, "", "%s cannot be had: %s", m.Ref, m.Reason))
		}
	case err != nil:
		out = append(out, warning("", "", "%v", err))
	}
	if len(out) == 0 {
		out = append(out, skipped("%s needs none but sett's own", configName))
	}
	return out
}

func imageFinding(f docker.Foreseen) finding {
	lacks := func(b docker.Base) bool { return !b.Present }
	switch i := slices.IndexFunc(f.Base, lacks); {
	case i >= 0:
		return warning(f.Name, "docker pull "+role.ShellWord(f.Base[i].Ref), "%s: the base of its build, %s, is not here; sett up would have it pulled", f.Ref, f.Base[i].Ref)
	case f.Action == docker.ActionBuild:
		return fine(f.Name, "%s: sett up builds it, and what that is based on is here", f.Ref)
	case f.Action == docker.ActionPull:
		return warning(f.Name, "docker pull "+role.ShellWord(f.Ref), "%s is not here; sett up would pull it", f.Ref)
	}
	return fine(f.Name, "%s is here", f.Ref)
}

// maxSkew is how far clocks may differ before times in logs mislead.
const maxSkew = time.Second

// clock compares the engine's clock with this machine's.
func (x *exam) clock(ctx context.Context) []finding {
	var out []finding
	if e, err := x.engineAnswer(ctx); err == nil {
		out = append(out, skewed("engine", e.Facts().ClockSkew))
	}
	out = append(out, x.each(func(in *instance) []finding { return x.boardClock(ctx, in) })...)
	if len(out) == 0 {
		out = append(out, skipped("neither an engine nor a running blackboard to compare with"))
	}
	return out
}

// skewed judges how far a clock is ahead of ours.
func skewed(whose string, ahead time.Duration) finding {
	if ahead.Abs() <= maxSkew {
		return fine(whose, "its clock is right, as far as this machine's is")
	}
	return warning(whose, "synchronise the clocks (NTP); a virtual machine that slept may want a restart", "its clock is %s %s this machine's",
		ahead.Abs().Round(100*time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[ahead > 0])
}

// leftovers looks for what is left of instances.
func (x *exam) leftovers(ctx context.Context) []finding {
	var out []finding
	for _, in := range x.instances {
		if !exists(in.Workspace) {
			out = append(out, warning(in.Name, "sett down --purge --name "+in.Name, "its workspace %s is gone", in.Workspace))
		}
	}
	if e, err := x.engineAnswer(ctx); err == nil {
		all, err := e.Instances(ctx)
		if err != nil {
			return append(out, warning("", "", "%v", err))
		}
		for _, o := range all {
			if slices.ContainsFunc(x.instances, func(in *instance) bool { return in.Name == o.Name && in.Runtime == config.RuntimeDocker }) {
				continue
			}
			out = append(out, warning(o.Name, "look first whose it is: sett list --all shows its workspace",
				"the engine has %s of an instance that this state directory does not know; it may be another user's", count(len(o.Units), "container")))
		}
	}
	if len(out) == 0 {
		out = append(out, fine("", "none that is known of here"))
	}
	return out
}
