package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Give gives directories, with everything below them, to another user, whose containers
// work there. Only root can. Each directory itself comes last: one that is that user's
// is done. A file that has a second name stays with its owner: the store shares objects
// with a person's repository.
func Give(uid, gid int, dirs ...string) error {
	for _, dir := range dirs {
		var is unix.Stat_t
		if err := unix.Lstat(dir, &is); err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		if int(is.Uid) == uid && int(is.Gid) == gid {
			continue
		}
		err := giveBelow(dir, uid, gid)
		if err == nil {
			err = os.Lchown(dir, uid, gid)
		}
		if err != nil {
			return fmt.Errorf("give %s to user %d: %w", dir, uid, err)
		}
	}
	return nil
}

// giveBelow gives everything below a directory. A tool that works there meanwhile cannot
// lead it elsewhere by a link.
func giveBelow(dir string, uid, gid int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && !d.IsDir() && s.Nlink > 1 {
			return nil
		}
		return root.Lchown(path, uid, gid)
	})
}

// ownerOf is the owner of a file or directory where this process is root and the owner is
// not; nil: anyone else writes as themselves.
func ownerOf(path string) *syscall.Credential {
	var is unix.Stat_t
	if os.Geteuid() != 0 || unix.Stat(path, &is) != nil || is.Uid == 0 {
		return nil
	}
	return &syscall.Credential{Uid: is.Uid, Gid: is.Gid}
}

// inherit gives new files of root's the owner of another one.
func inherit(from string, paths ...string) error {
	owner := ownerOf(from)
	if owner == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return nil
}
