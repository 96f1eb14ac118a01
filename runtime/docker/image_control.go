package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

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
	ref := e.repository + ":" + tagOf(x.Version) + "-" + b.digest[:12]
	i, got, err := e.image(ctx, ref)
	switch {
	case err != nil && !errdefs.IsNotFound(err):
		return Image{}, plain(err)
	case err != nil || imageLabels(got)[labelControl] != b.digest:
		if i, err = e.loadControl(ctx, b, ref); err != nil {
			return Image{}, err
		}
		got.RepoTags = nil
	}
	if b.arch == e.facts.Arch && !slices.ContainsFunc(got.RepoTags, e.isLatestControl) {
		if err := e.api.ImageTag(ctx, i.ID, e.repository+":latest"); err != nil {
			return Image{}, plain(err)
		}
	}
	return i, nil
}

// isControlName says whether a tag is one that control images get here. Podman
// puts a host before it.
func (e *Engine) isControlName(tag string) bool {
	return strings.HasPrefix(tag, e.repository+":") || strings.Contains(tag, "/"+e.repository+":")
}

func (e *Engine) isLatestControl(tag string) bool {
	return e.isControlName(tag) && strings.HasSuffix(tag, ":latest")
}

// binary is an executable that was looked at.
type binary struct {
	Executable
	arch   string
	digest string // SHA-256 in hexadecimal
	size   int64
	mtime  time.Time // in whole seconds, as archives have it
}

// machines are the architectures that an executable may be for.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x", elf.EM_ARM: "arm", elf.EM_386: "386"}

// readBinary refuses what could not run in an image that holds nothing else.
func readBinary(x Executable) (binary, error) {
	f, err := os.Open(x.Path)
	if err != nil {
		return binary{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return binary{}, err
	}
	b := binary{Executable: x, size: info.Size(), mtime: info.ModTime().UTC().Truncate(time.Second)}
	program, err := elf.NewFile(f)
	if err != nil {
		return binary{}, fmt.Errorf("%s is no executable for Linux", x.Path)
	}
	if b.arch = machines[program.Machine]; b.arch == "" {
		return binary{}, fmt.Errorf("%s is for an unknown machine, %s", x.Path, program.Machine)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return binary{}, fmt.Errorf("%s is not statically linked, an image that holds nothing else cannot run it: build it with CGO_ENABLED=0", x.Path)
		}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, b.size)); err != nil {
		return binary{}, err
	}
	b.digest = hex.EncodeToString(sum.Sum(nil))
	return b, nil
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

// imageConfig is the image's configuration, from which its id follows.
func (b binary) imageConfig(layer string) ([]byte, error) {
	type object = map[string]any
	return json.Marshal(object{
		"architecture": b.arch,
		"os":           "linux",
		"created":      b.mtime,
		"config": object{
			"Entrypoint": []string{controlProgram},
			"Labels":     map[string]string{labelControl: b.digest, labelVersion: b.Version},
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{layer}},
		"history": []object{{"created": b.mtime, "created_by": "sett " + b.Version}},
	})
}

// writeArchive writes the image as `docker save` would.
func (b binary) writeArchive(w io.Writer, config []byte, ref string, layerSize int64) error {
	const configName, layerName = "config.json", "layer.tar"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{ref}, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{{"manifest.json", manifest}, {configName, config}} {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))}); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(&tar.Header{Name: layerName, Mode: 0o644, Size: layerSize}); err != nil {
		return err
	}
	if err := b.writeLayer(t); err != nil {
		return err
	}
	return t.Close()
}

// writeLayer writes the image's file system. The second name of the binary is what
// the engine copies into a volume that is mounted there (see BinaryVolume).
func (b binary) writeLayer(w io.Writer) error {
	f, err := os.Open(b.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewWriter(w)
	program := strings.TrimPrefix(controlProgram, "/")
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: program, Mode: 0o755, Size: b.size},
		{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(BinaryDir, "/") + "/", Mode: 0o755},
		{Typeflag: tar.TypeLink, Name: strings.TrimPrefix(Binary, "/"), Linkname: program, Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
	} {
		h.ModTime, h.Format = b.mtime, tar.FormatPAX
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.CopyN(t, f, b.size); err != nil {
				return fmt.Errorf("read %s: %w", b.Path, err)
			}
		}
	}
	return t.Close()
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
