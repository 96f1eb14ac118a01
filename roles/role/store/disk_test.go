package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A trouble of the machine is no fault of the tool's commit, in the words of any C library; a file's name is not taken
// for one. A ref that git does not write is never the tool's fault.
func TestTroubleIsNotTheToolsFault(t *testing.T) {
	t.Parallel()
	ended := exec.Command("false").Run()
	const none = syscall.Errno(0)
	for said, want := range map[string]syscall.Errno{
		"fatal: sha1 file '.git/objects/pack/tmp_pack_x' write error: No space left on device":                          syscall.ENOSPC,
		"fatal: sha1 file 'x' write error. Out of diskspace":                                                            syscall.ENOSPC,
		"fatal: write error: Disk quota exceeded":                                                                       syscall.EDQUOT,
		"fatal: write error: Quota exceeded":                                                                            syscall.EDQUOT,
		"fatal: read error on input: Input/output error\nfatal: adding files failed":                                    syscall.EIO,
		"error: read error while indexing x: I/O error":                                                                 syscall.EIO,
		"error: failed to read object: Read-only file system":                                                           syscall.EROFS,
		"fatal: pack has junk: Too many open files":                                                                     syscall.EMFILE,
		"fatal: pack has junk: No file descriptors available":                                                           syscall.EMFILE,
		"fatal: pack has junk: Too many open files in system":                                                           syscall.ENFILE,
		"fatal: mmap failed: Cannot allocate memory":                                                                    syscall.ENOMEM,
		"error: object of tree quota: contains duplicate file entries":                                                  none,
		"error: invalid path 'x: No space left on device'\nfatal: adding files failed":                                  none,
		`error: open("x: Input/output error"): Permission denied` + "\nfatal: adding files failed":                      none,
		"fatal: failed to encode 'a: Read-only file system' from UTF-16 to UTF-8\nfatal: git cannot do it":              none,
		"error: object 4b825dc642cb6eb9a060e54bf8d69288fbee4904: hasDotgit: contains '.git'\nfatal: fsck error in pack": none,
	} {
		err := error(&gitError{command: "index-pack", said: said, cause: ended})
		if blamed := ToolsFault(refusal(err)); blamed != (want == none) || IsTrouble(err) == blamed || want != none && !errors.Is(err, want) {
			t.Errorf("%q: a trouble: %v, the tool's fault: %v", said, IsTrouble(err), blamed)
		}
		if err := error(&gitError{command: "update-ref", said: said, cause: ended}); ToolsFault(refusal(err)) {
			t.Errorf("update-ref says %q: the tool's fault", said)
		}
	}
}

// Writable finds directories that take no files, and leaves nothing in others.
func TestWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Writable(dir, filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if err := Writable(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v %v", left, err)
	}
}

// A look at a tree, or at a tool's object, that the machine hinders tells nothing about them.
func TestHinderedLooks(t *testing.T) {
	t.Parallel()
	for cause, trouble := range map[syscall.Errno]bool{syscall.EIO: true, syscall.EMFILE: true, syscall.ENOENT: false, syscall.EACCES: false} {
		err := &os.PathError{Op: "open", Path: "x", Err: cause}
		if got := standing(nil, err); errors.Is(got, ErrNoTree) == trouble {
			t.Errorf("a tree, %v: %v", cause, got)
		}
		var c copier
		if c.heed(err); (c.err != nil) != trouble {
			t.Errorf("an object, %v: %v", cause, c.err)
		}
	}
}
