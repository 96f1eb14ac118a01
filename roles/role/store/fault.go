package store

// This file tells a fault of a tool from a trouble of the machine, where a commit is not stored.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// ToolsFault says whether an error is about the things that a tool made, not about the store.
func ToolsFault(err error) bool {
	return !IsTrouble(err) && (isOneOf(err, certain) || isOneOf(err, doubtful))
}

// certain are faults of a tool that were counted or compared. doubtful are those that a machine in trouble
// could look like: git could not read an object, say.
var (
	certain  = []error{ErrTooLarge, ErrOwn, ErrUnsettled}
	doubtful = []error{ErrNoCommit, ErrElsewhere, ErrRefused, ErrUnreadable}
)

// troubles are the errors of a machine that lacks something for a while: another try may succeed.
var troubles = []error{unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EROFS, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.EINTR}

// IsTrouble says whether an error comes of a trouble of the machine, such as a full disk: no
// tool is to blame for it.
func IsTrouble(err error) bool { return isOneOf(err, troubles) }

// IsFull says whether an error comes of a disk, or a quota, without room.
func IsFull(err error) bool { return isOneOf(err, []error{unix.ENOSPC, unix.EDQUOT}) }

func isOneOf(err error, of []error) bool {
	return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) })
}

// settled is the error of a commit that is not stored. Before it blames the tool it looks whether these directories
// take files: git does not always say that they do not.
func settled(err error, dirs ...string) error {
	if !ToolsFault(err) || isOneOf(err, certain) {
		return err
	}
	if no := Writable(dirs...); no != nil {
		return fmt.Errorf("%w (before that: %s)", no, err.Error()) // not wrapped: nobody knows whether the tool is at fault
	}
	return err
}

// probeSize is the size of a probe, in bytes: more than a file system has room for in a directory's own entry.
const probeSize = 64 << 10

// Writable says whether directories take files: it writes a small one into each, on disk, and removes it.
func Writable(dirs ...string) error {
	for _, dir := range dirs {
		if err := probe(dir); err != nil {
			return fmt.Errorf("the store takes no files: %w", role.Cause(err))
		}
	}
	return nil
}

func probe(dir string) error {
	f, err := os.CreateTemp(dir, "taking-") // the next start of the role removes one that a crash left in the store
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(make([]byte, probeSize))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// blame tells an error of the tool's files from one of the store or the machine, after which
// another try may succeed.
func blame(t *Tree, err error) error {
	if lasts(err, t.Dir()) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return settled(refusal(err), t.store.Dir, t.store.Objects(), t.dir)
}

// lasts says whether an error is about a file below a directory, and will be the same next time.
func lasts(err error, dir string) bool {
	var at *fs.PathError
	return errors.As(err, &at) && strings.HasPrefix(at.Path, dir) && !IsTrouble(at)
}

// disk matches git's complaints about the store's own files.
var disk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)unable to (rename|create|write|open|fsync|stat|deflate)|could not open|cannot (store|close|open|mkstemp)|out of memory|insufficient permission for adding an object`)
})

// refusal tells git's answer about a commit from a failure of git itself. A ref names a commit that the store has
// already: a ref that git does not write is never the tool's fault.
func refusal(err error) error {
	var failed *gitError
	if exitCode(err) == 0 || !errors.As(err, &failed) || failed.command == "update-ref" || disk().MatchString(failed.said) || IsTrouble(err) || errors.Is(err, ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}
