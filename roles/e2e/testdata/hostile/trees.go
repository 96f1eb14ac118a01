package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// objects is where the store's objects are.
const objects = "/.sett-objects"

// tryElsewhere looks for more than the tool's own tree. The first argument is the address
// of the repository role, the others are places of the host and of other containers.
func tryElsewhere(args []string) {
	for _, path := range args[1:] {
		_, err := os.Stat(path)
		note(attempt, "find "+path, err)
	}
	var file, dir string
	err := filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dir = path
		} else if err == nil {
			file = path
		}
		return err
	})
	note(control, "list the objects", err)
	_, err = os.ReadFile(file)
	note(control, "read an object", err)
	for _, path := range []string{objects + "/hostile", dir + "/hostile", objects + "/info/alternates", file} {
		note(attempt, "write "+path, os.WriteFile(path, []byte("/\n"), 0o644))
	}
	note(attempt, "remove an object", os.Remove(file))
	note(attempt, "rename an object", os.Rename(file, file+"x"))
	note(attempt, "chmod an object", os.Chmod(file, 0o644))
	note(attempt, "make a directory of objects", os.Mkdir(objects+"/zz", 0o755))
	note(attempt, "remount the objects", unix.Mount("", objects, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	note(attempt, "have git write into the store", exec.Command("git", "-c", "core.sharedRepository=0666", "--git-dir="+objects+"/..", "update-ref", "refs/sett/x", "HEAD").Run())
	for _, who := range []string{"hostile", "neighbour"} {
		for _, what := range []string{"prepare", "take", "keep", "settle"} {
			note(attempt, "have the repository "+what+" the tree of "+who, post("http://"+args[0]+"/agents/"+who+"/trees/"+who+"/"+what))
		}
	}
	refs, _ := exec.Command("git", "for-each-ref", "--format=%(refname)").Output()
	found("refs", strings.Fields(string(refs)))
	found("mounts", strings.Join(mounts(), "\n"))
	found("environment", strings.Join(os.Environ(), "\n"))
}

// post is nil when the server grants a request of nobody.
func post(url string) error {
	r, err := (&http.Client{Timeout: patience}).Post(url, "application/json", strings.NewReader(`{"claim":"c","attempt":1,"goal":"g"}`))
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", r.Status)
	}
	return nil
}

// mounts are the places of the host that we see: where each is, and where we see it.
func mounts() (all []string) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 {
			all = append(all, f[3]+" "+f[4])
		}
	}
	return all
}
