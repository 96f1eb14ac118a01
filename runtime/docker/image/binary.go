package image

import (
	"archive/tar"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// binary is an examined executable.
type binary struct {
	Executable
	arch   string
	digest string // SHA-256 in hexadecimal
	size   int64
	mtime  time.Time // in whole seconds, as in archives
}

// machines are the known architectures of executables.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x", elf.EM_ARM: "arm", elf.EM_386: "386"}

// readBinary examines an executable. It refuses one that cannot run alone in an image.
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

// imageConfig is the image's configuration, which determines its id.
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

// writeArchive writes the image in the form of `docker save`.
func (b binary) writeArchive(w io.Writer, config []byte, ref string, layerSize int64) error {
	const configName, layerName = "config.json", "layer.tar"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{ref}, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := errors.Join(putFile(t, "manifest.json", manifest), putFile(t, configName, config)); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: layerName, Mode: 0o644, Size: layerSize}); err != nil {
		return err
	}
	if err := b.writeLayer(t); err != nil {
		return err
	}
	return t.Close()
}

// writeLayer writes the image's file system. The engine copies the binary's second name
// into a volume that is mounted there (see BinaryVolume).
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

// counter counts the bytes written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
