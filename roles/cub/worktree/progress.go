package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role/git"
	"sett/runtime/repofile"
)

// The files in git's directory during a merge, rebase, cherry-pick or revert. Any of
// operations shows that one is in progress; remains are its other files; tips are the
// files with hashes of commits, among them changes that git put aside.
var (
	operations = []string{
		"MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer",
	}
	remains = []string{"MERGE_MSG", "MERGE_MODE", "SQUASH_MSG", "AUTO_MERGE", "REBASE_HEAD"}
	tips    = []string{
		"MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"rebase-merge/orig-head", "rebase-merge/autostash", "rebase-apply/orig-head", "rebase-apply/autostash",
	}
)

// mostTips bounds a file with hashes, in bytes.
const mostTips = 1 << 20

// operating says whether an operation is in progress.
func operating(gitDir string) (bool, error) {
	for _, name := range operations {
		_, err := os.Lstat(filepath.Join(gitDir, name))
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("look for %s: %w", name, err)
		}
	}
	return false, nil
}

// operationTips returns the hashes in the state of an operation.
func operationTips(gitDir string) []string {
	var out []string
	for _, name := range tips {
		text, err := repofile.Read(gitDir, filepath.Join(gitDir, name), mostTips)
		if err != nil {
			continue // most do not exist
		}
		for _, word := range strings.Fields(string(text)) {
			if git.IsHash(word) {
				out = append(out, word)
			}
		}
	}
	return out
}

// dropOperation forgets the operation in progress. Git's own ways to end one
// would move branches, run hooks, or put a stash on the user's list.
func dropOperation(gitDir string) error {
	for _, names := range [][]string{remains, operations} {
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(gitDir, name)); err != nil {
				return fmt.Errorf("end operation in progress: %w", err)
			}
		}
	}
	return nil
}
