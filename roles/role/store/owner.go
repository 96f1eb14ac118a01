package store

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
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

// owners are the users whose files a tree of local mode may have: the store's, and this process's. nil: any, since a tool
// in a container has the one user that it was given.
func owners(t *Tree) []int {
	var is unix.Stat_t
	if !local(t) || unix.Stat(t.store.Dir, &is) != nil {
		return nil
	}
	return []int{int(is.Uid), os.Geteuid()}
}

// foreign says whether a file belongs to none of these users.
func foreign(info fs.FileInfo, users []int) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && len(users) > 0 && !slices.Contains(users, int(s.Uid))
}

// foreignEntry is foreign of an entry of a directory.
func foreignEntry(d fs.DirEntry, users []int) bool {
	if len(users) == 0 {
		return false
	}
	info, err := d.Info()
	return err == nil && foreign(info, users)
}

// reclaim makes the directories of the place the store's owner's again, where a tool gave them away: git works in none of
// another user. Root takes them back; for anyone else they are set aside.
func reclaim(t *Tree) error {
	users := owners(t)
	for _, dir := range []string{t.dir, t.Dir(), t.GitDir()} {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !foreign(info, users) {
			continue
		}
		if err = os.Lchown(dir, users[0], -1); err != nil && dir != t.dir {
			if err = setAside(t, dir, fmt.Errorf("%s belongs to another user: %w", dir, err)); err == nil {
				err = os.Mkdir(dir, 0o700)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
