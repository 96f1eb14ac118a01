package image

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// Want describes a wanted image.
type Want struct {
	Name   string // of its user, for messages: "agent coder", "redis"
	Ref    string // the image's name; with Build, its new tag
	Build  *Build // nil: a missing image is pulled
	Labels runtime.Labels
	Before string // the Inputs of its last build, for a preview; empty: unknown
}

// Build describes a build.
type Build struct {
	Root       string // of the repository, absolute: no link leads out of it; empty: that is Context
	Context    string // absolute path of a directory
	Dockerfile string // relative to Context, in it or outside; empty: Dockerfile
	Args       map[string]string
}

// Missing is an image that could not be pulled or built.
type Missing struct {
	Name, Ref string
	Reason    string // one line, and below it the end of a failed build's output
	Fault     Fault
}

// MissingError lists every missing image.
type MissingError struct{ Images []Missing }

func (e *MissingError) Error() string {
	lines := []string{"get images: 1 image is missing and could not be pulled or built"}
	type fault struct{ ref, reason string }
	users := map[fault][]string{}
	var faults []fault // one line for all that share an image
	for _, m := range e.Images {
		f := fault{m.Ref, m.Reason}
		if users[f] == nil {
			faults = append(faults, f)
		}
		users[f] = append(users[f], m.Name)
	}
	if n := len(faults); n > 1 {
		lines[0] = fmt.Sprintf("get images: %d images are missing and could not be pulled or built", n)
	}
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", strings.Join(users[f], ", "), f.ref, f.reason))
	}
	return strings.Join(lines, "\n")
}

// gatherers is how many images are pulled or built at once.
const gatherers = 4

// Images returns the wanted images, by the wants' names. It pulls missing images and
// builds images with Build, several at once; the engine's cache skips unchanged steps.
// The error is a MissingError that lists every image it could not provide, or an
// engine.ErrEngine.
func (s *Store) Images(ctx context.Context, wants []Want, p Progress) (map[string]Image, error) {
	say := p.talk()
	jobs := jobsOf(wants)
	slots := make(chan struct{}, gatherers)
	var building bases
	var wg sync.WaitGroup
	for _, j := range jobs {
		if j.err != nil {
			continue
		}
		wg.Go(func() {
			defer building.lock(j.want)()
			slots <- struct{}{}
			defer func() { <-slots }()
			j.image, j.err = s.get(ctx, j.want, j.refs, say)
		})
	}
	wg.Wait()
	g := gathered{images: map[string]Image{}}
	for _, w := range wants {
		ref, _ := normalReference(w.Ref) // else the job has the error
		j := jobOf(jobs, &w)
		image := j.image
		image.Ref = ref
		if err := g.add(ctx, w, image, j.err); err != nil {
			return nil, err
		}
	}
	return g.result()
}

// job provides an image once for all its users.
type job struct {
	want  Want
	asked string   // the first name, as it was asked for
	refs  []string // all names that a build gets
	users []string
	image Image
	err   error
}

// jobsOf are the jobs of the wants. Builds with the same inputs are one job: at once, each
// would make an image of its own, since the engine's cache does not have the others' yet.
func jobsOf(wants []Want) []*job {
	var jobs []*job
	byKey := map[string]*job{}
	for _, w := range wants {
		asked := w.Ref
		ref, err := normalReference(w.Ref)
		if err == nil {
			w.Ref = ref
		}
		key := w.Ref
		if w.Build != nil && err == nil {
			key = w.sameBuild()
		}
		j := byKey[key]
		if j == nil {
			j = &job{want: w, asked: asked, err: err}
			byKey[key] = j
			jobs = append(jobs, j)
		}
		j.users = append(j.users, w.Name)
		if !slices.Contains(j.refs, w.Ref) {
			j.refs = append(j.refs, w.Ref)
		}
		if w.Build != nil {
			j.want.Name = strings.Join(j.users, ", ") // for progress
		}
	}
	return jobs
}

// jobOf is the job of a want. It gives the want the job's name, so that all users of a
// build that fails are one line.
func jobOf(jobs []*job, w *Want) *job {
	i := slices.IndexFunc(jobs, func(j *job) bool { return slices.Contains(j.users, w.Name) })
	w.Ref = jobs[i].asked
	return jobs[i]
}

// sameBuild is the same for builds of one image: all that it depends on, but for the
// content of its files.
func (w Want) sameBuild() string {
	b := *w.Build
	b.Context, b.Dockerfile = filepath.Clean(b.Context), filepath.Clean(b.dockerfile())
	return fmt.Sprintf("build %q", []any{b.Root, b.Context, b.Dockerfile, b.Args, lasting(w.Labels)})
}

// bases have one build at a time on each base. The cache gives a build the newest image
// that has its first steps. Two builds that ran these at the same time made two such
// images; the next build of one would be given the other's, and make another image
// though nothing changed.
type bases struct {
	mu   sync.Mutex
	busy map[string]*sync.Mutex
}

// lock waits for the bases of a build. It locks them in order, so that no two wait for
// each other.
func (b *bases) lock(w Want) (unlock func()) {
	if w.Build == nil {
		return func() {}
	}
	src, err := readSources(*w.Build)
	if err != nil {
		return func() {} // the build says it
	}
	var locks []*sync.Mutex
	b.mu.Lock()
	if b.busy == nil {
		b.busy = map[string]*sync.Mutex{}
	}
	for _, ref := range slices.Compact(slices.Sorted(slices.Values(labelStages(src.dockerfile, "").parents(w.Build.Args)))) {
		if b.busy[ref] == nil {
			b.busy[ref] = new(sync.Mutex)
		}
		locks = append(locks, b.busy[ref])
	}
	b.mu.Unlock()
	for _, l := range locks {
		l.Lock()
	}
	return func() {
		for _, l := range locks {
			l.Unlock()
		}
	}
}

// gathered collects images, and the reasons for missing ones.
type gathered struct {
	images  map[string]Image
	missing []Missing
}

// add returns the errors that concern more than this image.
func (g *gathered) add(ctx context.Context, w Want, i Image, err error) error {
	switch {
	case err == nil:
		g.images[w.Name] = i
	case ctx.Err() != nil, errors.Is(err, engine.ErrEngine):
		return fmt.Errorf("get image %s: %w", w.Ref, err)
	default:
		g.missing = append(g.missing, Missing{w.Name, w.Ref, err.Error(), faultOf(err)})
	}
	return nil
}

func (g *gathered) result() (map[string]Image, error) {
	if len(g.missing) > 0 {
		return nil, &MissingError{g.missing}
	}
	return g.images, nil
}

// get returns an image: it builds it, with these names, or pulls it if it is missing. Its
// error is for people, or an engine.ErrEngine.
func (s *Store) get(ctx context.Context, w Want, refs []string, say Progress) (Image, error) {
	if w.Build != nil {
		return s.build(ctx, w, refs, say)
	}
	i, err := s.present(ctx, w.Ref)
	if err != nil || i.ID != "" {
		return i, err
	}
	if err := s.pull(ctx, w, say); err != nil {
		return Image{}, err
	}
	i, _, err = s.image(ctx, w.Ref)
	return i, engine.Plain(err)
}

// present returns an image of the engine; without an id, it would have to be pulled. Its
// error is for people, or an engine.ErrEngine.
func (s *Store) present(ctx context.Context, ref string) (Image, error) {
	i, _, err := s.image(ctx, ref)
	switch {
	case err == nil:
		return i, nil
	case !errdefs.IsNotFound(err):
		return Image{}, engine.Plain(err)
	case strings.HasPrefix(ref, "sha256:"):
		return Image{}, errors.New("the engine has no image of this id, and ids cannot be pulled")
	}
	return Image{}, nil
}
