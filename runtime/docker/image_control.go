package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// Executable is the sett binary for Linux.
type Executable struct{ Path, Version string }

// The labels and names of control images: images that hold the sett binary and
// nothing else.
const (
	labelControl      = "sett.control" // digest of the binary in it
	labelVersion      = "sett.version"
	controlRepository = "sett" // with the tag latest what `COPY --from=sett` means
	controlProgram    = "/sett"
)

// Control returns the image that holds the executable, made from it unless the
// engine has it already: FROM scratch, one layer, tagged with version and digest.
// Where it is for the engine's own platform it gets the name sett:latest, too.
// Any number of calls at once end with the same image.
//
// The image is loaded, not imported: a loaded image's id follows from its content,
// an imported one's from the moment as well, so that of two made at the same time
// one would be left over without a name.
func (e *Engine) Control(ctx context.Context, x Executable) (Image, error) {
	i, err := e.control(ctx, x)
	if err != nil {
		return Image{}, fmt.Errorf("make control image: %w", err)
	}
	return i, nil
}

func (e *Engine) control(ctx context.Context, x Executable) (Image, error) {
	b, err := readBinary(x)
	if err != nil {
		return Image{}, err
	}
	i, tags, err := e.findControl(ctx, b)
	if err != nil {
		return Image{}, err
	}
	if i.ID == "" {
		if i, err = e.loadControl(ctx, b, i.Ref); err != nil {
			return Image{}, err
		}
	}
	if b.arch == e.facts.Arch && !slices.ContainsFunc(tags, e.isLatestControl) {
		if err := e.api.ImageTag(ctx, i.ID, e.repository+":latest"); err != nil {
			return Image{}, plain(err)
		}
	}
	return i, nil
}

// findControl returns the image of a binary, with its tags; without an id it has yet
// to be made.
func (e *Engine) findControl(ctx context.Context, b binary) (i Image, tags []string, err error) {
	ref := e.repository + ":" + tagOf(b.Version) + "-" + b.digest[:12]
	i, got, err := e.image(ctx, ref)
	switch {
	case err != nil && !errdefs.IsNotFound(err):
		return Image{}, nil, plain(err)
	case err != nil || imageLabels(got)[labelControl] != b.digest:
		return Image{Ref: ref, OS: "linux", Arch: b.arch}, nil, nil
	}
	return i, got.RepoTags, nil
}

// isControlName says whether a tag is one that control images get here. Podman
// puts a host before it.
func (e *Engine) isControlName(tag string) bool {
	return strings.HasPrefix(tag, e.repository+":") || strings.Contains(tag, "/"+e.repository+":")
}

func (e *Engine) isLatestControl(tag string) bool {
	return e.isControlName(tag) && strings.HasSuffix(tag, ":latest")
}

// tagOf makes a version fit for a tag with a digest behind it.
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
func (e *Engine) loadControl(ctx context.Context, b binary, ref string) (Image, error) {
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
	resp, err := e.api.ImageLoad(ctx, r, client.ImageLoadWithQuiet(true))
	if err != nil {
		return Image{}, plain(err)
	}
	defer resp.Body.Close()
	if err := readMessages(resp.Body, func(message) {}); err != nil {
		return Image{}, plain(err)
	}
	i, _, err := e.image(ctx, ref)
	if errdefs.IsNotFound(err) { // an engine with its own idea of short names
		id := sha256.Sum256(config)
		if err := e.api.ImageTag(ctx, "sha256:"+hex.EncodeToString(id[:]), ref); err != nil {
			return Image{}, plain(err)
		}
		i, _, err = e.image(ctx, ref)
	}
	return i, plain(err)
}
