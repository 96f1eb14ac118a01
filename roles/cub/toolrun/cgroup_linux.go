package toolrun

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// ownGroup returns the possible places of a file of this process's control group; in
// a container, of the container's group.
func ownGroup(controller, v1, v2 string) []string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	return groupFiles(string(b), controller, v1, v2)
}

// groupFiles is ownGroup, given /proc/self/cgroup and the file's names in the two
// versions of control groups. In a container that path may be the host's, while the
// mount has only the container's own group; so the root of the mount counts, too.
func groupFiles(groups, controller, v1, v2 string) []string {
	const mount = "/sys/fs/cgroup"
	var unified []string
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		group := path.Clean("/" + fields[2]) // one outside the namespace begins with /..
		for name := range strings.SplitSeq(fields[1], ",") {
			if name == controller {
				root := mount + "/" + controller
				return []string{path.Join(root, group, v1), path.Join(root, v1)}
			}
		}
		if fields[1] == "" {
			unified = []string{path.Join(mount, group, v2), path.Join(mount, v2)}
		}
	}
	return unified
}

// limitOf returns the limit of this process's control group; 0 when there is none, or
// the kernel does not tell.
func limitOf(controller, v1, v2 string) int64 {
	for _, file := range ownGroup(controller, v1, v2) {
		if n := readLimit(file); n > 0 {
			return n
		}
	}
	return 0
}

func readLimit(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 || n > 1<<50 { // version 1 writes a huge number for none
		return 0
	}
	return n
}
