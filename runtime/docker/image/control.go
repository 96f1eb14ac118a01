package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"sett/runtime/docker/engine"
)

// Executable is the sett binary for Linux.
type Executable struct{ Path, Version string }

// The labels and names of control images: images that hold the sett binary and
// nothing else.
const (
	labelControl      = "sett.control" // digest of the binary in it
	labelVersion      = "sett.version"
	controlRepository = "sett" // `COPY --from=sett` means its tag latest
	controlProgram    = "/sett"
)

// Control returns the control image of the executable, and makes it unless the engine
// has it: FROM scratch, one layer, tagged with version and digest. An image for the
// engine's own platform is also named sett:latest. Concurrent calls return the same
// image.
//
// The image is loaded, not imported: the id of a loaded image depends on its content
// alone. The id of an imported one depends on the time as well, so two makers at the
// same time would leave one image without a name.
func (s *Store) Control(ctx context.Context, x Executable) (i Image, err error) {
	defer engine.Wrap(&err, "make control image")
	b, err := readBinary(x)
	if err != nil {
		return Image{}, err
	}
	i, tags, err := s.findControl(ctx, b)
	if err != nil {
		return Image{}, err
	}
	if i.ID == "" {
		if i, err = s.loadControl(ctx, b, i.Ref); err != nil {
			return Image{}, err
		}
	}
	if b.arch == s.facts.Arch && !slices.ContainsFunc(tags, s.isLatestControl) {
		if err := s.api.ImageTag(ctx, i.ID, s.repository+":latest"); err != nil {
			return Image{}, engine.Plain(err)
		}
	}
	return i, nil
}

// findControl returns the image of a binary, with its tags; an image without an id does
// not exist yet.
func (s *Store) findControl(ctx context.Context, b binary) (i Image, tags []string, err error) {
	ref := s.repository + ":" + tagOf(b.Version) + "-" + b.digest[:12]
	i, got, err := s.image(ctx, ref)
	switch {
	case err != nil && !errdefs.IsNotFound(err):
		return Image{}, nil, engine.Plain(err)
	case err != nil || imageLabels(got)[labelControl] != b.digest:
		return Image{Ref: ref, OS: "linux", Arch: b.arch}, nil, nil
	}
	return i, got.RepoTags, nil
}

// isControlName says whether a tag belongs to control images. Podman puts a host before
// it.
func (s *Store) isControlName(tag string) bool {
	return strings.HasPrefix(tag, s.repository+":") || strings.Contains(tag, "/"+s.repository+":")
}

func (s *Store) isLatestControl(tag string) bool {
	return s.isControlName(tag) && strings.HasSuffix(tag, ":latest")
}

// tagOf turns a version into a tag that has room for a digest.
func tagOf(version string) string {
	tag := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, version)
	tag = strings.Trim(tag, ".-")
	if tag == "" {
		return "dev"
	}
	return tag[:min(len(tag), 100)] // of 128
}

// loadControl sends the image to the engine.
func (s *Store) loadControl(ctx context.Context, b binary, ref string) (Image, error) {
	sum, size := sha256.New(), new(counter)
	if err := b.writeLayer(io.MultiWriter(sum, size)); err != nil {
		return Image{}, err
	}
	config, err := b.imageConfig("sha256:" + hex.EncodeToString(sum.Sum(nil)))
	if err != nil {
		return Image{}, err
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(b.writeArchive(w, config, ref, int64(*size))) }()
	resp, err := s.api.ImageLoad(ctx, r, client.ImageLoadWithQuiet(true))
	if err != nil {
		return Image{}, engine.Plain(err)
	}
	defer resp.Body.Close()
	if err := readMessages(resp.Body, func(message) {}); err != nil {
		return Image{}, engine.Plain(err)
	}
	i, _, err := s.image(ctx, ref)
	if errdefs.IsNotFound(err) { // an engine with its own idea of short names
		id := sha256.Sum256(config)
		if err := s.api.ImageTag(ctx, "sha256:"+hex.EncodeToString(id[:]), ref); err != nil {
			return Image{}, engine.Plain(err)
		}
		i, _, err = s.image(ctx, ref)
	}
	return i, engine.Plain(err)
}
