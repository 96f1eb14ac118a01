package cli

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"sett/roles/role"
	"sett/runtime/docker"
)

// engine is the container engine, which is opened when it is first needed: most
// commands, and all about instances of processes, never pay for it.
type engine struct {
	mu     sync.Mutex
	opened bool
	e      *docker.Engine
	err    error
}

// engine returns the container engine. Its error is the environment's.
func (a *app) engine(ctx context.Context) (*docker.Engine, error) {
	a.engines.mu.Lock()
	defer a.engines.mu.Unlock()
	if !a.engines.opened {
		a.engines.e, a.engines.err = openEngine(ctx, a.Lookup)
		a.engines.opened = ctx.Err() == nil
	}
	return a.engines.e, a.engines.err
}

func openEngine(ctx context.Context, lookup func(string) (string, bool)) (*docker.Engine, error) {
	at, err := docker.Find(lookup)
	if err != nil {
		return nil, noEngine(err)
	}
	e, err := docker.Open(ctx, at)
	if err != nil {
		return nil, noEngine(err)
	}
	return e, nil
}

// noEngine is the error of an engine that is not there, with what to do about it.
func noEngine(err error) error {
	hint := docker.Hint(err)
	if hint == "" {
		hint = "is the container engine running?"
	}
	return role.Fail(role.Environment, errors.New(cleanText(err.Error())), "%s", hint)
}

// closeEngine gives up what engine has opened.
func (a *app) closeEngine() {
	a.engines.mu.Lock()
	defer a.engines.mu.Unlock()
	if a.engines.e != nil {
		_ = a.engines.e.Close()
	}
}

// linuxBinary names the sett binary for containers, where this one is for another
// system.
const linuxBinary = "SETT_LINUX_BINARY"

// linuxExecutable returns this version's sett binary for Linux on an architecture,
// in Go's words: the one that SETT_LINUX_BINARY names, else the running one, else
// sett-linux-ARCH beside it.
func (a *app) linuxExecutable(arch string) (docker.Executable, error) {
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return docker.Executable{}, role.Fail(role.Environment, fmt.Errorf("find the sett binary: %w", err), "")
	}
	beside := filepath.Join(filepath.Dir(own), "sett-linux-"+arch)
	candidates := []struct{ path, what string }{
		{a.Getenv(linuxBinary), linuxBinary}, {own, "this program"}, {beside, "beside it"},
	}
	var tried []string
	for _, c := range candidates {
		if c.path == "" {
			tried = append(tried, c.what+": not set")
			continue
		}
		why := fitsContainer(c.path, arch)
		if why == nil {
			return docker.Executable{Path: c.path, Version: a.Build.Version}, nil
		}
		tried = append(tried, fmt.Sprintf("%s, %s: %v", c.what, c.path, why))
		if c.what == linuxBinary {
			break // who names one wants that one
		}
	}
	return docker.Executable{}, role.Fail(role.Environment,
		fmt.Errorf("no sett binary for containers of linux/%s:\n%s", arch, strings.Join(tried, "\n")),
		"GOOS=linux GOARCH=%s CGO_ENABLED=0 go build -o %s sett, or the release's archive has it", arch, beside)
}

// fitsContainer says why a file is no program that a container of this
// architecture can run without any library; nil: it is.
func fitsContainer(path, arch string) error {
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
