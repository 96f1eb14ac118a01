package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// withoutEngine is the remedy where an engine is wanted and there is none.
const withoutEngine = "sett up --runtime process needs none"

// engine looks at the container engine.
func (x *exam) engine(ctx context.Context) []Finding {
	e, err := x.engineAnswer(ctx)
	if err != nil {
		return []Finding{x.noEngine(err)}
	}
	f := e.Facts()
	out := []Finding{fine("", "%s", describeEngine(e))}
	if f.Name == "Podman" {
		out = append(out, warning("Podman", "", "Sett is made to work with Podman, and was not tested with it"))
	}
	if _, err := deploy.LinuxExecutable(x.at.Env, f.Arch); err != nil {
		out = append(out, wrong("binary", err))
	} else if f.Arch != runtime.GOARCH {
		out = append(out, warning("architecture", "", "it runs linux/%s, this machine is %s: images of another architecture are emulated, if at all", f.Arch, runtime.GOARCH))
	}
	return append(out, x.workspaceThere(ctx, e)...)
}

// describeEngine describes an engine on one line.
func describeEngine(e *containerEngine) string {
	f, at := e.Facts(), e.Endpoint()
	kind := "with root's rights"
	if f.Rootless {
		kind = "rootless"
	}
	facts := []string{fmt.Sprintf("%s %s (API %s) at %s (%s)", f.Name, f.Version, f.APIVersion, at.Host, at.From), kind, f.OS + "/" + f.Arch}
	if f.CgroupVersion != "" {
		facts = append(facts, "cgroup v"+f.CgroupVersion)
	}
	facts = append(facts, f.StorageDriver, words.Count(f.CPUs, "CPU"), gibibytes(uint64(max(f.Memory, 0))))
	if f.Desktop {
		facts = append(facts, "in a virtual machine")
	}
	return strings.Join(facts, ", ")
}

// noEngine says how bad it is that there is none.
func (x *exam) noEngine(err error) Finding {
	containers, sure := x.inContainers()
	if x.engines.late {
		where := "the container engine"
		if at, err := findEngine(x.at.Lookup); err == nil {
			where = fmt.Sprintf("container engine at %s (%s)", at.Host, at.From)
		}
		err = role.Fail(role.Environment, fmt.Errorf("%s does not answer: nothing within %s", where, engineTime), "restart it")
	}
	f := wrong("", err)
	switch {
	case !containers:
		f.Status, f.Do = Skipped, ""
		f.Finding = "none is needed with runtime process; " + f.Finding
	case !sure:
		f.Status = Warning
	}
	if containers {
		f.Do = strings.TrimPrefix(f.Do+" — or "+withoutEngine, " — or ")
	}
	return f
}

// workspaceThere looks at the workspace as containers would have it, with the code of
// sett up.
func (x *exam) workspaceThere(ctx context.Context, e *containerEngine) []Finding {
	if containers, _ := x.inContainers(); x.root == "" || !containers {
		return nil
	}
	var out []Finding
	if x.planned() != nil {
		if err := deploy.Reachable(e.Endpoint(), x.sheet.config); err != nil {
			out = append(out, wrong("reach", err))
		}
	}
	facts, err := deploy.Survey(ctx, x.at.Env, e, x.root, x.sheet.config != nil && x.sheet.config.Notify != nil)
	if err != nil {
		return append(out, wrong("workspace", err))
	}
	for _, note := range facts.Notes {
		out = append(out, warning("workspace", "", "%s", note))
	}
	return out
}

// planned is the instance that sett up would start with this sett.yml; nil: it would
// start no containers.
func (x *exam) planned() *instance.Instance {
	c := x.sheet.config
	if c == nil || c.Runtime != config.RuntimeDocker || x.root == "" {
		return nil
	}
	in := &instance.Instance{State: instance.State{Name: config.MakeInstanceName(filepath.Base(x.root)), Workspace: x.root, ConfigFile: x.sheet.path}}
	if x.meant != nil {
		in.Name = x.meant.Name
	}
	return in
}

// asked returns the engine for a check that has nothing to say without it.
func (x *exam) asked(ctx context.Context) (*containerEngine, []Finding) {
	e, err := x.engineAnswer(ctx)
	if err != nil {
		return nil, []Finding{skipped("no container engine to ask")}
	}
	return e, nil
}

// hardening warns of the protection that the engine cannot enforce.
func (x *exam) hardening(ctx context.Context) []Finding {
	e, none := x.asked(ctx)
	if e == nil {
		return none
	}
	var out []Finding
	for _, s := range e.Shortfalls() {
		out = append(out, warning("", s.Remedy, "%s", s.Sentence))
	}
	if len(out) == 0 {
		out = append(out, fine("", "this engine enforces all of it"))
	}
	return out
}

// images says how sett up would have the images that sett.yml needs.
func (x *exam) images(ctx context.Context) []Finding {
	e, none := x.asked(ctx)
	if e == nil {
		return none
	}
	if c := x.sheet.config; c != nil && c.Runtime != config.RuntimeDocker {
		return []Finding{skipped("none are needed with runtime %s", c.Runtime)}
	}
	in := x.planned()
	if in == nil {
		return []Finding{skipped("no valid %s", instance.ConfigName)}
	}
	images, missing, err := deploy.Foresee(ctx, e, x.sheet.config, in, x.at.Lookup)
	var out []Finding
	for _, i := range images {
		out = append(out, imageFinding(i))
	}
	for _, m := range missing {
		out = append(out, problem(m.Name, "", "%s is missing: %s", m.Ref, m.Reason))
	}
	if err != nil {
		out = append(out, warning("", "", "%v", err))
	}
	if len(out) == 0 {
		out = append(out, skipped("%s needs none but sett's own", instance.ConfigName))
	}
	return out
}

func imageFinding(i deploy.PlannedImage) Finding {
	switch {
	case len(i.Pulls) > 0:
		return warning(i.For, "docker pull "+role.ShellWord(i.Pulls[0]), "%s: the base of its build, %s, is not here; sett up would have it pulled", i.Image, i.Pulls[0])
	case i.Action == deploy.ThingBuild:
		return fine(i.For, "%s: sett up builds it, and what that is based on is here", i.Image)
	case i.Action == deploy.ThingPull:
		return warning(i.For, "docker pull "+role.ShellWord(i.Image), "%s is not here; sett up would pull it", i.Image)
	}
	return fine(i.For, "%s is here", i.Image)
}

// maxSkew is how far clocks may differ before times in logs mislead.
const maxSkew = time.Second

// clock compares the engine's clock with this machine's.
func (x *exam) clock(ctx context.Context) []Finding {
	var out []Finding
	if e, err := x.engineAnswer(ctx); err == nil {
		out = append(out, skewed("engine", e.Facts().ClockSkew))
	}
	out = append(out, x.each(func(in *instance.Instance) []Finding { return x.boardClock(ctx, in) })...)
	if len(out) == 0 {
		out = append(out, skipped("neither an engine nor a running blackboard to compare with"))
	}
	return out
}

// skewed judges how far a clock is ahead of ours.
func skewed(whose string, ahead time.Duration) Finding {
	if ahead.Abs() <= maxSkew {
		return fine(whose, "its clock is right, as far as this machine's is")
	}
	return warning(whose, "synchronise the clocks (NTP); a virtual machine that slept may want a restart", "its clock is %s %s this machine's",
		ahead.Abs().Round(100*time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[ahead > 0])
}

// leftovers looks for remains of instances.
func (x *exam) leftovers(ctx context.Context) []Finding {
	var out []Finding
	for _, in := range x.instances {
		if !instance.Exists(in.Workspace) {
			out = append(out, warning(in.Name, "sett down --purge --name "+in.Name, "its workspace %s is gone", in.Workspace))
		}
	}
	out = append(out, x.keptOfTools(ctx)...)
	for _, in := range x.instances {
		out = append(out, append(orphans(in), stuck(in)...)...)
	}
	lost, err := instance.Lost(x.at, x.instances)
	if err != nil {
		out = append(out, wrong("", err))
	}
	for _, in := range lost {
		out = append(out, problem(in.Name, in.LostCure(), "its state directory %s is gone, and processes of it run", in.Dir))
	}
	if e, err := x.engineAnswer(ctx); err == nil {
		all, err := instancesOn(ctx, e)
		if err != nil {
			return append(out, warning("", "", "%v", err))
		}
		for _, o := range all {
			if slices.ContainsFunc(x.instances, func(in *instance.Instance) bool { return instance.Has(in, o.Name, o.Workspace) }) {
				continue
			}
			out = append(out, warning(o.Name, "look first whose it is: sett list --all shows its workspace",
				"the engine has %s of an instance that this state directory does not know; it may be another user's", partsOf(len(o.Units), o.Ledger)))
		}
		if alone, err := instance.ImagesAlone(ctx, x.at); err == nil { // else the check of the engine says it
			for _, in := range alone {
				of := ""
				if in.Workspace != "" {
					of = " of " + in.Workspace
				}
				out = append(out, warning(in.Name, "where it is yours: sett down --purge --name "+in.Name,
					"the engine has %s that Sett built for an instance%s of which nothing else is known here, as after a first sett up that failed, or a sett try; it may be another user's, or of another state directory", words.Count(in.Images, "image"), of))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, fine("", "none that is known of here"))
	}
	return out
}

// partsOf names the parts of an instance that an engine has.
func partsOf(containers int, ledger bool) string {
	switch {
	case containers > 0:
		return words.Count(containers, "container")
	case ledger:
		return "the ledger, and no container,"
	}
	return "a network or a volume, and no container,"
}
