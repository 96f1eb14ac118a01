package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/runtime"
)

// onEngine lists what the engine has of the instance.
func (in *instance) onEngine() []string {
	var all []string
	label := "label=" + runtime.LabelInstance + "=" + in.name
	for what, list := range map[string][]string{
		"container": {"ps", "--all", "--format", "{{.Names}} {{.Status}}"},
		"network":   {"network", "ls", "--format", "{{.Name}}"},
		"volume":    {"volume", "ls", "--format", "{{.Name}}"},
		"image":     {"image", "ls", "--format", "{{.Repository}}:{{.Tag}}"},
	} {
		out, err := dockerSays(append(list, "--filter", label)...)
		if err != nil {
			in.t.Error(err)
		}
		for line := range strings.Lines(out) {
			all = append(all, what+" "+strings.TrimSpace(line))
		}
	}
	slices.Sort(all)
	return all
}

// leftOnEngine lists what the engine has of the instance and could be without: an engine that
// counts a removed container on a network, which happens, keeps that network until it restarts.
func (in *instance) leftOnEngine() []string {
	return slices.DeleteFunc(in.onEngine(), func(what string) bool {
		kind, name, _ := strings.Cut(what, " ")
		if kind != "network" {
			return false
		}
		on, err := dockerSays("network", "inspect", "--format", "{{len .Containers}}", name)
		if err != nil || strings.TrimSpace(on) != "0" {
			return false
		}
		said, err := dockerSays("network", "rm", name)
		stuck := err != nil && strings.Contains(said+err.Error(), "active endpoints")
		if stuck {
			in.t.Logf("the engine keeps %s: %s", what, said)
		}
		return stuck
	})
}

// nothingOnEngine checks that the engine has nothing of the instance.
func (in *instance) nothingOnEngine() {
	in.t.Helper()
	if left := in.leftOnEngine(); len(left) > 0 {
		in.t.Errorf("left on the engine by %s: %s", in.name, strings.Join(left, "; "))
		in.wipe(left)
	}
}

// wipe removes what a failed test left, so that it is not in the way of others.
func (in *instance) wipe(left []string) {
	remove := map[string][]string{
		"container": {"rm", "--force", "--volumes"}, "network": {"network", "rm"}, "volume": {"volume", "rm"}, "image": {"image", "rm"},
	}
	for _, what := range []string{"container", "network", "volume", "image"} {
		for _, l := range left {
			if kind, name, _ := strings.Cut(l, " "); kind == what {
				_, err := dockerSays(append(remove[kind], strings.Fields(name)[0])...)
				in.t.Logf("removed %s: %v", l, err)
			}
		}
	}
}

// fetchLogs writes what the containers logged to where processes' logs are.
func (in *instance) fetchLogs() {
	dir := filepath.Join(in.root, "logs")
	out, err := dockerSays("ps", "--all", "--format", "{{.Names}}", "--filter", "label="+runtime.LabelInstance+"="+in.name)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		in.t.Error(err)
	}
	for _, name := range strings.Fields(out) {
		if logs, err := dockerSays("logs", "--timestamps", name); err == nil { // else it is just gone
			file(in.t, filepath.Join(dir, name+".log"), logs, 0o644)
		}
	}
	// What was removed is with the orchestrator.
	_, _ = dockerSays("cp", in.container("orchestrator")+":/control/logs", filepath.Join(dir, "removed"))
}

// logFiles are all logs that there are of the instance.
func (in *instance) logFiles() []string {
	var all []string
	for _, pattern := range []string{in.stateDir() + "/logs/*", in.root + "/logs/*.log", in.root + "/logs/removed/*"} {
		files, _ := filepath.Glob(pattern)
		all = append(all, files...)
	}
	return all
}
