package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// build has the engine make an image from a Dockerfile. It reports nothing about a step
// that the engine's cache has. The image gets all the names. Its error is the reason for people, or an
// engine.ErrEngine, or the context's.
//
// It uses the engine's classic builder: the other builder needs a session with the
// client, which would have to contain most of BuildKit.
func (s *Store) build(ctx context.Context, w Want, refs []string, say Progress) (Image, error) {
	src, err := readSources(*w.Build)
	if err != nil {
		return Image{}, faulty(FaultFiles, err)
	}
	labels, instance := lasting(w.Labels), w.Labels[runtime.LabelInstance]
	label := stageLabel(instance)
	d := labelStages(src.dockerfile, label)
	if len(d.inserted) > 0 {
		delete(labels, runtime.LabelInstance) // the stages have that label
	}
	var old []string
	for _, ref := range refs {
		i, _, err := s.image(ctx, ref)
		if err != nil && !errdefs.IsNotFound(err) {
			return Image{}, engine.Plain(err)
		}
		if i.ID != "" && !slices.Contains(old, i.ID) {
			old = append(old, i.ID)
		}
	}
	log := buildLog{want: w, refs: refs, say: say, ours: len(d.inserted), label: "LABEL " + label, added: len(labels), file: d}
	files := sha256.New()
	if err := s.runBuild(ctx, src, d, labels, files, &log); err != nil {
		switch {
		case ctx.Err() != nil:
			return Image{}, ctx.Err()
		case errors.Is(engine.Plain(err), engine.ErrEngine):
			return Image{}, engine.Plain(err)
		case faultOf(err) == FaultFiles:
			return Image{}, faulty(FaultFiles, buildFailure("", err.Error(), nil))
		}
		return Image{}, log.failure(s, d.original(engine.Short(err)))
	}
	log.done()
	i, _, err := s.image(ctx, w.Ref)
	if err != nil {
		return Image{}, engine.Plain(err)
	}
	i.Inputs = s.inputs(ctx, w, src, files, i.ID)
	for _, id := range old {
		if id != i.ID {
			s.removeReplaced(ctx, id, instance)
		}
	}
	return i, nil
}

// runBuild sends the context and reads the build's messages.
func (s *Store) runBuild(ctx context.Context, src sources, d dockerfile, labels map[string]string, files hash.Hash, log *buildLog) error {
	r, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := src.write(ctx, pw, d.text, files)
		pw.CloseWithError(err)
		sent <- err
	}()
	args := map[string]*string{}
	for k, v := range log.want.Build.Args {
		args[k] = &v
	}
	var hosts []string
	for _, base := range d.from {
		if host := registryOf(d.resolve(base, log.want.Build.Args)); host != "" { // else the name depends on an argument
			hosts = append(hosts, host)
		}
	}
	resp, err := s.api.ImageBuild(ctx, r, build.ImageBuildOptions{
		Version: build.BuilderV1, Tags: log.refs, Dockerfile: sentDockerfile, BuildArgs: args, Labels: labels,
		Remove: true, ForceRemove: true, AuthConfigs: s.at.LoginsFor(ctx, hosts),
	})
	if err == nil {
		err = readMessages(resp.Body, log.see)
		_ = resp.Body.Close()
	}
	_ = r.Close()
	// A file that could not be read here causes the engine's error.
	if sendErr := <-sent; err != nil && sendErr != nil && !errors.Is(sendErr, io.ErrClosedPipe) {
		return faulty(FaultFiles, sendErr)
	}
	return err
}

// lasting are the labels of an image: only labels that are the same with every
// `sett up`, since the builder's cache compares them.
func lasting(l runtime.Labels) map[string]string {
	labels := maps.Clone(map[string]string(l))
	for _, passing := range []string{runtime.LabelRun, runtime.LabelStarted, runtime.LabelConfig, runtime.LabelPin, runtime.LabelIncarnation} {
		delete(labels, passing)
	}
	return labels
}

// stageLabel is the label by which Purge finds the remains of a build, in the syntax of
// a Dockerfile. Instances' names need no more quoting.
func stageLabel(instance string) string {
	if instance == "" || strings.ContainsAny(instance, "\"\\`$\n ") {
		return ""
	}
	return runtime.LabelInstance + `="` + instance + `"`
}

// removeReplaced removes an image that lost its name to a newer one, and the images that
// only it was based on. It spares an image without the instance's label, which is
// somebody else's, and an image in use, which Purge finds later.
func (s *Store) removeReplaced(ctx context.Context, id, instance string) {
	if instance == "" {
		return
	}
	ours, err := s.api.ImageList(ctx, image.ListOptions{
		All: true, Filters: engine.Labelled(runtime.LabelInstance + "=" + instance),
	})
	if err != nil {
		return
	}
	for {
		i := slices.IndexFunc(ours, func(i image.Summary) bool { return i.ID == id })
		if i < 0 || len(namesOf(ours[i])) > 0 {
			return
		}
		if removed, err := s.removeImage(ctx, id); err != nil || !removed {
			return
		}
		id = ours[i].ParentID
	}
}

// namesOf are the names of an image.
func namesOf(i image.Summary) []string {
	return slices.DeleteFunc(slices.Clone(i.RepoTags), func(t string) bool { return t == "<none>:<none>" })
}

// buildFailure describes a failed build.
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
