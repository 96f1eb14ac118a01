package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sett/blackboard"
)

// stage collects what an import writes and sends it in parts. Records go where
// they belong; nothing leads to them. Whatever does, the indexes and the ledger,
// is written under names of its own until the import is complete.
type stage struct {
	b     *Board
	token string
	most  int             // records in a part
	part  int             // that was sent last, from 1
	names map[string]bool // of what is to be renamed, that are written already

	underWay chan error     // of the part that was sent last; nil: it has arrived
	commands [][]string     // of one key each
	grown    map[string]int // where among them the ones are that take more: by command and key
	records  int
	size     int // bytes
}

const (
	stageRecords = 1000 // a command's words are unpacked in Lua, which holds 5,000; a record adds two at most
	stageBytes   = 4 << 20
)

func newStage(b *Board, token string, most int) *stage {
	return &stage{b: b, token: token, most: most, names: map[string]bool{}, grown: map[string]int{}}
}

// do adds a command.
func (s *stage) do(command, key string, args ...string) {
	s.commands = append(s.commands, append([]string{command, key}, args...))
	for _, a := range args {
		s.size += len(a)
	}
}

// grow adds to a list or a set; what is added to the same one goes together.
func (s *stage) grow(command, key string, args ...string) {
	if at, ok := s.grown[command+key]; ok {
		s.commands[at] = append(s.commands[at], args...)
		return
	}
	s.grown[command+key] = len(s.commands)
	s.do(command, key, args...)
}

// staged returns the name under which something waits that is going to be key.
func (s *stage) staged(key string) string {
	name := strings.TrimPrefix(key, s.b.keys.p)
	if !s.names[name] {
		s.names[name] = true
		s.grow("SADD", s.b.keys.staging("names"), name)
	}
	return s.b.keys.staging(name)
}

// record notes what is to be removed if the import fails.
func (s *stage) record(kind, id string) {
	s.records++
	if id == "" {
		return
	}
	s.grow("RPUSH", s.b.keys.staging("records"), kind+" "+id)
}

func (s *stage) hash(key string, stored map[string]string) {
	if len(stored) > 0 {
		s.do("HSET", key, pairs(nil, stored)...)
	}
}

// pairs adds the fields and their values to arguments, in a fixed order.
func pairs(args []string, stored map[string]string) []string {
	for _, field := range slices.Sorted(maps.Keys(stored)) {
		args = append(args, field, stored[field])
	}
	return args
}

func (s *stage) indexID(id string) {
	s.grow("ZADD", s.staged(s.b.keys.ids(id[len(id)-2:])), "0", blackboard.ReverseID(id))
}

// artefact does what put_artefact does in _lib.lua, but for what is open.
func (s *stage) artefact(id string, stored map[string]string) error {
	k := s.b.keys
	s.record("artefact", id)
	s.hash(k.artifact(id), stored)
	s.do("ZADD", k.thread(stored["logical_id"]), stored["version"], id)
	var sources []string
	if err := json.Unmarshal([]byte(stored["source_artefacts"]), &sources); err != nil {
		return fmt.Errorf("artefact %s: read sources: %w", id, err)
	}
	for _, source := range sources {
		s.grow("ZADD", k.children(source), stored["created_at"], id)
	}
	s.list(id, stored["type"], stored["produced_by_agent"], stored["workflow_id"])
	return nil
}

// list makes an artefact be found by what is known of it.
func (s *stage) list(id, kind, agent, workflow string) {
	k := s.b.keys
	s.grow("RPUSH", s.staged(k.artefacts()), id)
	if kind != "" {
		s.grow("RPUSH", s.staged(k.artefactsByType(kind)), id)
	}
	if agent != "" {
		s.grow("RPUSH", s.staged(k.artefactsByAgent(agent)), id)
	}
	if workflow != "" {
		s.grow("RPUSH", k.artefactsByWorkflow(workflow), id)
	}
	s.indexID(id)
}

// lost is artefact for one of which there is no record, or a broken one.
func (s *stage) lost(l lostLine) {
	s.record("artefact", l.ID)
	s.record("workflow", l.Workflow) // its list is all that there may be of it
	s.hash(s.b.keys.artifact(l.ID), textOf(l.Stored))
	s.list(l.ID, l.Type, string(l.Stored["produced_by_agent"]), l.Workflow)
}

func (s *stage) claim(l claimLine) error {
	k, stored := s.b.keys, textOf(l.Fields)
	s.record("claim", l.ID)
	s.record("workflow", l.Workflow)
	s.hash(k.claim(l.ID), stored)
	for _, bid := range l.Bids {
		s.grow("HSET", k.bids(l.ID), bid.Agent, string(bid.Type))
		s.grow("RPUSH", k.bidOrder(l.ID), bid.Agent)
	}
	s.hash(k.grants(l.ID), textOf(l.Grants))
	s.grow("RPUSH", s.staged(k.claims()), l.ID)
	if workflow := orDefault(l.Workflow, stored["workflow_id"]); workflow != "" {
		s.grow("RPUSH", k.claimsByWorkflow(workflow), l.ID)
	}
	s.indexID(l.ID)
	for _, agent := range slices.Sorted(maps.Keys(l.Grants)) {
		s.running(l.ID, agent, string(l.Grants[agent]))
	}
	return nil
}

// running makes a grant that was running hold the workspace, as every one does:
// the orchestrator finds by its hold that its holder does not live. There is no
// tree to put back, so it holds it as a reader.
func (s *stage) running(claim, agent, grant string) {
	var g storedGrant
	if json.Unmarshal([]byte(grant), &g) != nil || g.State != blackboard.GrantRunning {
		return
	}
	s.grow("HSET", s.staged(s.b.keys.workspace()), "hold:"+claim+":"+agent, encode(map[string]any{
		"claim": claim, "agent": agent, "mode": blackboard.ReadOnly, "since": g.StartedAt, "holder": g.Holder,
		"attempt": g.Attempt, "base": "", "branch": "", "state": "held",
	}))
}

func (s *stage) workflow(l workflowLine) error {
	s.record("workflow", l.ID)
	s.hash(s.b.keys.workflow(l.ID), textOf(l.Fields))
	return nil
}

// openIndexes are those of open work that belong to no agent, by their names in
// the export.
func openIndexes(k keys) map[string]string {
	return map[string]string{
		"unclaimed": k.unclaimed(), "claims": k.openClaims(), "questions": k.questions(), "gates": k.gates(),
		"workflows": k.activeWorkflows(),
	}
}

func (s *stage) open(l openLine) error {
	key := openIndexes(s.b.keys)[l.Index]
	switch {
	case l.Agent != "" && l.Index == "due":
		key = s.b.keys.agentDue(l.Agent)
	case l.Agent != "" && l.Index == "grants":
		key = s.b.keys.agentGrants(l.Agent)
	case key == "" || l.Agent != "":
		return fmt.Errorf("unknown index %q: the export is of a newer sett, or damaged", l.Index)
	}
	s.records++
	s.grow("ZADD", s.staged(key), l.Since, l.ID)
	return nil
}

func (s *stage) event(id string, stored map[string]string) error {
	s.records++
	s.do("XADD", s.staged(s.b.keys.events()), pairs([]string{id}, stored)...)
	return nil
}

// flush sends what was collected, when that is enough for a part, or in any case. A
// part is under way while the next one is collected.
func (s *stage) flush(ctx context.Context, all bool) error {
	if !all && s.records < s.most && s.size < stageBytes {
		return nil
	}
	if err := s.arrived(); err != nil || len(s.commands) == 0 {
		return err
	}
	s.part++
	s.underWay = make(chan error, 1)
	go func(part int, commands [][]string, sent chan<- error) {
		sent <- s.send(ctx, part, commands)
	}(s.part, s.commands, s.underWay)
	s.commands, s.records, s.size = nil, 0, 0
	clear(s.grown)
	if all {
		return s.arrived()
	}
	return nil
}

func (s *stage) send(ctx context.Context, part int, commands [][]string) error {
	args := []string{s.token, strconv.Itoa(part), micros(importLease)}
	for _, c := range commands {
		args = append(append(args, strconv.Itoa(len(c))), c...)
	}
	r, err := s.b.do(ctx, "import_put", args...)
	if err == nil {
		err = refused(r)
	}
	return err
}

// arrived waits for the part that is under way, if there is one.
func (s *stage) arrived() error {
	if s.underWay == nil {
		return nil
	}
	err := <-s.underWay
	s.underWay = nil
	return err
}
