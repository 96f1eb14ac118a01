package docker

import (
	"maps"
	"strings"

	"sett/runtime"
)

// known are the labels that mean something. A container has every one of them,
// empty where it does not apply, since it would inherit them from its image, where
// whoever made that may have put them.
var known = []string{
	runtime.LabelInstance, runtime.LabelComponent, runtime.LabelAgent, runtime.LabelRole, runtime.LabelRun,
	runtime.LabelIncarnation, runtime.LabelClaim, runtime.LabelAttempt, runtime.LabelConfig,
	runtime.LabelWorkspace, runtime.LabelStarted,
}

// labels are those of a container: the instance's and the unit's own.
func (r *Runtime) labels(own runtime.Labels) map[string]string {
	all := map[string]string{}
	for _, k := range known {
		all[k] = ""
	}
	maps.Copy(all, r.o.Labels)
	maps.Copy(all, own)
	all[runtime.LabelInstance] = r.o.Instance
	return all
}

// ownLabels is the inverse: what of a container's labels are its unit's.
func ownLabels(all map[string]string) runtime.Labels {
	own := runtime.Labels{}
	for k, v := range all {
		if v != "" && strings.HasPrefix(k, "sett.") {
			own[k] = v
		}
	}
	return own
}

// volumeLabels are those of a volume that the engine makes because a unit is the
// first to need it. The instance's own go with it; one for the binary that was not
// made and filled before is good for nothing, but found by its label and removed.
func (r *Runtime) volumeLabels(name string) map[string]string {
	switch {
	case strings.HasPrefix(name, "sett-bin-"):
		return map[string]string{runtime.LabelComponent: componentBinary}
	case !strings.HasPrefix(name, "sett-"+r.o.Instance+"."):
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, r.o.Labels)
	all[runtime.LabelInstance] = r.o.Instance
	return all
}
