package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Level returns the version of Landlock that this kernel has; 0: none, or it is off.
var Level = sync.OnceValue(func() int {
	n, _, code := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if code != 0 {
		return 0
	}
	return int(n)
})

// The rights of files, and those that only directories have.
const (
	ofFiles       = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	ofDirectories = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// rights are the rights that a kernel lets a program give up.
type rights struct{ files, directories, read, scopes uint64 }

func rightsOf(level int, hides bool) rights {
	r := rights{files: ofFiles, directories: ofDirectories}
	if hides {
		r.read = unix.LANDLOCK_ACCESS_FS_READ_FILE
	}
	if level >= movesLevel {
		r.directories |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if level >= truncateLevel {
		r.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if level >= deviceLevel {
		r.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if level >= signalLevel {
		r.scopes = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return r
}

// Thread confines the calling thread, and every thread and program that it starts from
// now on. The caller has locked it, and lets it end: nothing gives the rights back.
// Programs with the set-user-ID bit, such as sudo, gain nothing any more.
func (r Rules) Thread() error {
	level := Level()
	if level == 0 {
		return ErrUnsupported
	}
	set, err := r.set(level)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(set.fd) }()
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no-new-privileges: %w", err)
	}
	if _, _, code := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set.fd), 0, 0); code != 0 {
		return fmt.Errorf("confine to files: %w", code)
	}
	return nil
}

// around are capabilities of root that lead around the rules: other processes' memory, the
// kernel's, raw devices, and namespaces of others.
var around = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO,
	unix.CAP_SYS_BOOT, unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH,
}

// dropCapabilities keeps the capabilities around the rules from programs that this thread
// starts. Only root has them.
func dropCapabilities() error {
	for _, c := range around {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EPERM): // it may drop none
			return nil
		case err != nil && !errors.Is(err, unix.EINVAL): // an older kernel has fewer
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}

// ruleset is a set of rules in the kernel.
type ruleset struct {
	fd int
	rights
}

// set makes the kernel's set of the rules.
func (r Rules) set(level int) (set ruleset, err error) {
	set.rights = rightsOf(level, r.Hide != "")
	asked := unix.LandlockRulesetAttr{Handled_access_fs: set.files | set.directories | set.read, Scoped: set.scopes}
	size := unsafe.Offsetof(asked.Quiet_access_fs)
	if level < signalLevel { // an older kernel knows a shorter structure
		size = unsafe.Offsetof(asked.Handled_access_net)
	}
	fd, _, code := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&asked)), size, 0)
	if code != 0 {
		return set, fmt.Errorf("make rules for files: %w", code)
	}
	set.fd = int(fd)
	defer func() {
		if err != nil {
			_ = unix.Close(set.fd)
		}
	}()
	for _, path := range r.Write {
		if err := set.allow(path, set.files|set.directories|set.read); err != nil {
			return set, err
		}
	}
	if r.Hide == "" {
		return set, nil
	}
	for _, path := range r.Read {
		if err := set.allow(path, set.read); err != nil {
			return set, err
		}
	}
	return set, set.allBut(r.Hide)
}

// allow adds a rule for a file, or a directory and everything below it. A missing one, and
// one behind a link, is left out.
func (s ruleset) allow(path string, access uint64) error {
	if access == 0 {
		return nil
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil
	case err != nil:
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= s.files | s.read
	}
	if access == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, code := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); code != 0 && !refusesRules(code) {
		return fmt.Errorf("allow %s: %w", path, code)
	}
	return nil
}

// refusesRules says whether the error means a file of a kind that Landlock never confines.
func refusesRules(code unix.Errno) bool { return code == unix.EBADFD }

// allBut allows reading everything that is not below a directory. Links are left out:
// their target counts.
func (s ruleset) allBut(hidden string) error {
	hidden, err := resolved(hidden)
	if err != nil {
		return err
	}
	for dir, rest := "/", strings.TrimPrefix(hidden, "/"); rest != ""; {
		next, below, _ := strings.Cut(rest, "/")
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		for _, e := range entries {
			if e.Name() == next || e.Type()&fs.ModeSymlink != 0 {
				continue
			}
			if err := s.allow(filepath.Join(dir, e.Name()), s.read); err != nil {
				return err
			}
		}
		dir, rest = filepath.Join(dir, next), below
	}
	return nil
}

// resolved returns a path without links, as far as it exists.
func resolved(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("hide %s: not an absolute path", path)
	}
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		parent, err := resolved(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return found, err
}
