package deploy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/runtime/repofile"
)

// mostCopied bounds the files that one agent's trees get copies of, in bytes together.
const mostCopied = 16 << 20

// care is how agents' trees are cared for: workspace.keep, copy and sparse of sett.yml.
type care struct {
	of    map[string]store.Care   // by agent; agents without any are absent
	files map[string]store.Copied // by path
}

// lookAtCare reads the files that trees get copies of. No link leads it out of the repository,
// and no pipe holds it up.
func lookAtCare(c *config.Config, root string) (care, error) {
	all := care{map[string]store.Care{}, map[string]store.Copied{}}
	for _, a := range c.Agents {
		w, left := a.Workspace, int64(mostCopied)
		if len(w.Keep)+len(w.Copy)+len(w.Sparse) == 0 {
			continue
		}
		all.of[a.Name] = store.Care{Keep: w.Keep, Copy: w.Copy, Sparse: w.Sparse}
		for _, p := range w.Copy {
			f, err := copied(root, p, left)
			if err != nil {
				return all, role.Fail(role.Usage, fmt.Errorf("agents.%s.workspace.copy: %s: %w", a.Name, p, err),
					"make the file, which sett up copies, or take it out of workspace.copy")
			}
			left -= int64(len(f.Text))
			all.files[p] = f
		}
	}
	return all, nil
}

func copied(root, path string, most int64) (store.Copied, error) {
	f, err := repofile.OpenIn(root, filepath.Join(root, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such file")
	}
	if err != nil {
		return store.Copied{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return store.Copied{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("an agent's files are more than %d MiB", mostCopied>>20)
	}
	return store.Copied{Text: text, Executable: info.Mode()&0o100 != 0}, err
}
