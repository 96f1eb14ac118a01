package store

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

// A disk without room is no fault of the tool's commit, whatever its file system calls it; a file's name
// is not taken for it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	ended := exec.Command("false").Run()
	for said, full := range map[string]bool{
		"fatal: sha1 file '.git/objects/pack/tmp_pack_x' write error: No space left on device": true,
		"fatal: write error: Disk quota exceeded":                                              true,
		"error: object of tree quota: contains duplicate file entries":                         false,
	} {
		err := error(&gitError{command: "index-pack", said: said, cause: ended})
		if errors.Is(err, syscall.ENOSPC) != full || ToolsFault(refusal(err)) == full {
			t.Errorf("%q: full: %v, the tool's fault: %v", said, errors.Is(err, syscall.ENOSPC), ToolsFault(refusal(err)))
		}
	}
}
