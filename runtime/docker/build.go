package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"

	"sett/runtime"
)

// build has the engine make an image from a Dockerfile. What did not change since
// the last time comes from its cache, and then nothing is said about it. Its error
// is the reason for people, or an ErrEngine, or the context's.
//
// It is the engine's classic builder: the other one needs a session with the
// client, and most of BuildKit in it.
func (e *Engine) build(ctx context.Context, w Want, say Progress) (Image, error) {
	s, err := readSources(*w.Build)
	if err != nil {
		return Image{}, err
	}
	labels, instance := lasting(w.Labels), w.Labels[runtime.LabelInstance]
	label := stageLabel(instance)
	d := labelStages(s.dockerfile, label)
	if len(d.inserted) > 0 {
		delete(labels, runtime.LabelInstance) // the stages have it
	}
	old, _, err := e.image(ctx, w.Ref)
	if err != nil && !errdefs.IsNotFound(err) {
		return Image{}, plain(err)
	}
	log := buildLog{want: w, say: say, ours: len(d.inserted), label: "LABEL " + label, added: len(labels), file: d}
	if err := e.runBuild(ctx, s, d, labels, &log); err != nil {
		switch {
		case ctx.Err() != nil:
			return Image{}, ctx.Err()
		case errors.Is(plain(err), ErrEngine):
			return Image{}, plain(err)
		}
		return Image{}, log.failure(e, d.original(short(err)))
	}
	log.done()
	i, _, err := e.image(ctx, w.Ref)
	if err != nil {
		return Image{}, plain(err)
	}
	if old.ID != "" && old.ID != i.ID {
		e.removeReplaced(ctx, old.ID, instance)
	}
	return i, nil
}

// runBuild sends the context and follows the build.
func (e *Engine) runBuild(ctx context.Context, s sources, d dockerfile, labels map[string]string, log *buildLog) error {
	r, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := s.write(pw, d.text)
		pw.CloseWithError(err)
		sent <- err
	}()
	args := map[string]*string{}
	for k, v := range log.want.Build.Args {
		args[k] = &v
	}
	var bases []string
	for _, base := range d.from {
		bases = append(bases, d.resolve(base, log.want.Build.Args))
	}
	resp, err := e.api.ImageBuild(ctx, r, build.ImageBuildOptions{
		Version: build.BuilderV1, Tags: []string{log.want.Ref}, Dockerfile: sentDockerfile, BuildArgs: args, Labels: labels,
		Remove: true, ForceRemove: true, AuthConfigs: e.at.loginsFor(ctx, bases),
	})
	if err == nil {
		err = readMessages(resp.Body, log.see)
		_ = resp.Body.Close()
	}
	_ = r.Close()
	// What could not be read here is the cause of what the engine says then.
	if sendErr := <-sent; err != nil && sendErr != nil && !errors.Is(sendErr, io.ErrClosedPipe) {
		return sendErr
	}
	return err
}

// loginsFor returns the logins that a build may need: those of the registries that
// its stages name, and all that are in the file.
func (ep Endpoint) loginsFor(ctx context.Context, bases []string) map[string]registry.AuthConfig {
	l := ep.logins()
	all := l.all()
	for _, base := range bases {
		host := registryOf(base)
		if host == "" {
			continue // it depends on an argument
		}
		if a, err := l.of(ctx, host); err == nil && a != (registry.AuthConfig{}) {
			all[loginKey(host)] = a
		}
	}
	return all
}

// lasting are the labels that an image gets: those that are the same with every
// `sett up`, since the builder's cache compares them.
func lasting(l runtime.Labels) map[string]string {
	labels := maps.Clone(map[string]string(l))
	for _, passing := range []string{runtime.LabelRun, runtime.LabelStarted, runtime.LabelConfig, runtime.LabelIncarnation} {
		delete(labels, passing)
	}
	return labels
}

// stageLabel is the label by which Purge finds what a build left, as a Dockerfile
// has it. Instances' names need no more quoting.
func stageLabel(instance string) string {
	if instance == "" || strings.ContainsAny(instance, "\"\\`$\n ") {
		return ""
	}
	return runtime.LabelInstance + `="` + instance + `"`
}

// removeReplaced removes an image that lost its name to a newer one, and what it
// alone was based on. An image without the instance's label was somebody else's,
// and one in use stays: Purge finds it.
func (e *Engine) removeReplaced(ctx context.Context, id, instance string) {
	if instance == "" {
		return
	}
	ours, err := e.api.ImageList(ctx, image.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", runtime.LabelInstance+"="+instance)),
	})
	if err != nil {
		return
	}
	for {
		i := slices.IndexFunc(ours, func(s image.Summary) bool { return s.ID == id })
		if i < 0 || len(namesOf(ours[i])) > 0 {
			return
		}
		if removed, err := e.removeImage(ctx, id); err != nil || !removed {
			return
		}
		id = ours[i].ParentID
	}
}

// namesOf are the names of an image.
func namesOf(i image.Summary) []string {
	return slices.DeleteFunc(slices.Clone(i.RepoTags), func(t string) bool { return t == "<none>:<none>" })
}

// buildFailure says where a build failed, and how.
func buildFailure(step, reason string, tail []string) error {
	lines := []string{"build failed"}
	if step != "" {
		lines[0] += " at " + step
	}
	lines[0] += ": " + reason
	for _, t := range tail {
		lines = append(lines, "  | "+t)
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
