package deploy

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"sett/roles/role"
)

// LinuxBinary names the sett binary for containers, where this one is for another
// system.
const LinuxBinary = "SETT_LINUX_BINARY"

// LinuxExecutable returns this version's sett binary for Linux on an architecture,
// in Go's words: the one that SETT_LINUX_BINARY names, else the running one, else
// sett-linux-ARCH beside it.
func LinuxExecutable(env role.Env, arch string) (executable, error) { //nolint:revive // doctor hands it on only
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return executable{}, role.Fail(role.Environment, fmt.Errorf("find the sett binary: %w", err), "")
	}
	beside := filepath.Join(filepath.Dir(own), "sett-linux-"+arch)
	candidates := []struct{ path, what string }{
		{env.Getenv(LinuxBinary), LinuxBinary}, {own, "this program"}, {beside, "beside it"},
	}
	var tried []string
	for _, c := range candidates {
		if c.path == "" {
			tried = append(tried, c.what+": not set")
			continue
		}
		why := FitsContainer(c.path, arch)
		if why == nil {
			return executable{Path: c.path, Version: env.Build.Version}, nil
		}
		tried = append(tried, fmt.Sprintf("%s, %s: %v", c.what, c.path, why))
		if c.what == LinuxBinary {
			break // a named one is used or nothing
		}
	}
	return executable{}, role.Fail(role.Environment,
		fmt.Errorf("no sett binary for containers of linux/%s:\n%s", arch, strings.Join(tried, "\n")),
		"GOOS=linux GOARCH=%s CGO_ENABLED=0 go build -o %s sett, or the release's archive has it", arch, beside)
}

// FitsContainer says why a file is no program that a container of this
// architecture can run without any library; nil: it is.
func FitsContainer(path, arch string) error {
	f, err := elf.Open(path)
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &unreadable):
		return unreadable.Err
	case err != nil:
		return fmt.Errorf("not a program for Linux (this is %s/%s)", runtime.GOOS, runtime.GOARCH)
	}
	defer f.Close()
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386,
		"riscv64": elf.EM_RISCV, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390}[arch]
	if machine != elf.EM_NONE && f.Machine != machine {
		return fmt.Errorf("for another architecture (%s)", f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("linked dynamically, so it needs libraries that a container has not; make build links it statically")
		}
	}
	return nil
}
