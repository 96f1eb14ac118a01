package assemble

import (
	"strings"
	"sync"

	"sett/blackboard"
)

// Memory keeps the parts of artefacts that say where a tree starts. Artefacts never change, so a cub reads
// them once for all its grants: a goal without commits may be a long chain, and each of its grants
// looks for a commit back to the goal. The latest versions of threads do change, and are not kept.
type Memory struct {
	mu  sync.Mutex
	all map[string]*blackboard.Artefact
}

// mostKept is the most artefacts in a memory: some 10 MiB. A full one begins anew.
const mostKept = 20_000

// get returns an artefact without its texts; nil: it is not kept.
func (m *Memory) get(id string) *blackboard.Artefact {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id]
}

// keep keeps an artefact's parts. Its strings are copied, since they may share memory with its payload.
func (m *Memory) keep(a *blackboard.Artefact) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[a.ID] != nil {
		return
	}
	if m.all == nil || len(m.all) >= mostKept {
		m.all = map[string]*blackboard.Artefact{}
	}
	sources := make([]string, len(a.SourceArtefacts))
	for i, s := range a.SourceArtefacts {
		sources[i] = strings.Clone(s)
	}
	m.all[strings.Clone(a.ID)] = &blackboard.Artefact{
		ID: strings.Clone(a.ID), LogicalID: strings.Clone(a.LogicalID), Version: a.Version, StructuralType: a.StructuralType, Type: strings.Clone(a.Type),
		SourceArtefacts: sources, ProducedByRole: strings.Clone(a.ProducedByRole), ProducedByAgent: strings.Clone(a.ProducedByAgent),
		Commit: strings.Clone(a.CommitHash()), CreatedAt: a.CreatedAt,
	}
}
