package status

import (
	"fmt"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/role/repository"
	"sett/roles/role/words"
)

// Disk is the room that an instance's store and its agents' trees take, as the repository
// measured it last. The names of its fields are part of the interface.
type Disk struct {
	At     time.Time        `json:"measured_at"`
	Store  int64            `json:"store_bytes"`
	Shared int64            `json:"store_shared_bytes"` // in files that the user's repository has, too: hard links
	Trees  int64            `json:"trees_bytes"`
	ByTree map[string]int64 `json:"tree_bytes"` // by agent, or worker
}

// diskOf reads the measurement; the zero value: there is none yet.
func diskOf(in *instance.Instance) Disk {
	s, err := repository.ReadSizes(in.StoreDir())
	if err != nil || s == nil {
		return Disk{}
	}
	d := Disk{At: s.At, Store: s.Store, Shared: s.Shared, ByTree: s.Trees}
	for _, size := range s.Trees {
		d.Trees += size
	}
	return d
}

// text names the sizes.
func (d Disk) text() string {
	text := fmt.Sprintf("disk: store %s", words.Size(int(d.Store)))
	if d.Shared > 0 {
		text += fmt.Sprintf(" and %s shared with your repository", words.Size(int(d.Shared)))
	}
	return text + fmt.Sprintf(", %s %s", words.Count(len(d.ByTree), "tree"), words.Size(int(d.Trees)))
}
