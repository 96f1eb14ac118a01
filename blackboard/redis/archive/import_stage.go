package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// stage collects the writes of an import and sends them in parts. Records go to their
// final keys, where nothing leads to them yet. The indexes and the ledger, which do,
// have staging names until the import is complete.
type stage struct {
	c     *store.Conn
	token string
	most  int                      // records in a part
	part  int                      // that was sent last, from 1
	names map[string]bool          // of staged keys that are written already
	first func(thread string) bool // there is an artefact of this id, the first version of its thread
	sums  store.Sums               // of the accounts

	headless map[string]bool // threads whose first version has not come yet

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

func newStage(c *store.Conn, token string, most int, first func(string) bool) *stage {
	return &stage{c: c, token: token, most: most, names: map[string]bool{}, first: first, sums: store.Sums{}, headless: map[string]bool{}, grown: map[string]int{}}
}

// do adds a command.
func (s *stage) do(command, key string, args ...string) {
	s.commands = append(s.commands, append([]string{command, key}, args...))
	for _, a := range args {
		s.size += len(a)
	}
}

// grow adds to a list or a set; additions to the same one go together.
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
	name := strings.TrimPrefix(key, s.c.Keys.Prefix)
	if !s.names[name] {
		s.names[name] = true
		s.grow("SADD", s.c.Keys.Staging("names"), name)
	}
	return s.c.Keys.Staging(name)
}

// record notes a record to remove if the import fails.
func (s *stage) record(kind, id string) {
	s.records++
	if id == "" {
		return
	}
	s.grow("RPUSH", s.c.Keys.Staging("records"), kind+" "+id)
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
	at := len(id) - 2
	s.grow("RPUSH", s.staged(s.c.Keys.Endings(id[at:])), id[:at])
}

// artefact writes the same keys as put_artefact in _artefact.lua, but for open work.
func (s *stage) artefact(id string, stored map[string]string) error {
	s.record("artefact", id)
	s.list(id, stored["type"], stored["produced_by_agent"], stored["workflow_id"])
	return s.whole(id, stored)
}

// whole writes the record of an artefact and relates it to others.
func (s *stage) whole(id string, stored map[string]string) error {
	k := s.c.Keys
	s.hash(k.Artifact(id), store.LeanArtefact(id, stored))
	if thread := stored["logical_id"]; thread != id {
		if s.first(thread) {
			s.grow("ZADD", k.Thread(thread), "1", thread)
		} else {
			s.headless[thread] = true
		}
		s.grow("ZADD", k.Thread(thread), stored["version"], id)
	} else if s.headless[id] { // the index of the export had lacked it
		s.grow("ZADD", k.Thread(id), "1", id)
	}
	var sources []string
	if err := json.Unmarshal([]byte(stored["source_artefacts"]), &sources); err != nil {
		return fmt.Errorf("artefact %s: read sources: %w", id, err)
	}
	for _, source := range sources {
		s.grow("ZADD", k.Children(source), stored["created_at"], id)
	}
	return nil
}

// list puts an artefact in the indexes of its known facts.
func (s *stage) list(id, kind, agent, workflow string) {
	k := s.c.Keys
	s.grow("RPUSH", s.staged(k.Artefacts()), id)
	if kind != "" {
		s.grow("RPUSH", s.staged(k.ArtefactsByType(kind)), id)
	}
	if agent != "" {
		s.grow("RPUSH", s.staged(k.ArtefactsByAgent(agent)), id)
	}
	if workflow != "" {
		s.grow("RPUSH", k.ArtefactsByWorkflow(workflow), id)
	}
	s.indexID(id)
}

// lost is artefact for one of which there is no record, or a broken one, or (readable) one that is not as it was.
func (s *stage) lost(l lostLine, readable bool) error {
	s.record("artefact", l.ID)
	s.record("workflow", l.Workflow) // its list is all that there may be of it
	s.list(l.ID, l.Type, string(l.Stored["produced_by_agent"]), l.Workflow)
	if readable {
		return s.whole(l.ID, textOf(l.Stored))
	}
	s.hash(s.c.Keys.Artifact(l.ID), textOf(l.Stored))
	return nil
}

func (s *stage) claim(l ClaimLine) error {
	k, stored := s.c.Keys, textOf(l.Fields)
	s.record("claim", l.ID)
	s.record("workflow", l.Workflow)
	record := store.ClaimRecord{Fields: stored, Grants: textOf(l.Grants)}
	for _, bid := range l.Bids {
		s.grow("HSET", k.Bids(l.ID), bid.Agent, string(bid.Type))
		record.Order = append(record.Order, bid.Agent)
	}
	s.hash(k.Claim(l.ID), store.WriteClaim(l.ID, record))
	s.grow("RPUSH", s.staged(k.Claims()), l.ID)
	if workflow := cmp.Or(l.Workflow, stored["workflow_id"]); workflow != "" {
		s.grow("RPUSH", k.ClaimsByWorkflow(workflow), l.ID)
	}
	s.indexID(l.ID)
	for _, agent := range slices.Sorted(maps.Keys(l.Grants)) {
		s.running(l.ID, agent, string(l.Grants[agent]))
	}
	return nil
}

// running brings a grant that was running into the index of them: the orchestrator finds
// there that its holder does not live.
func (s *stage) running(claim, agent, grant string) {
	var g store.StoredGrant
	if json.Unmarshal([]byte(grant), &g) != nil || g.State != blackboard.GrantRunning {
		return
	}
	s.grow("HSET", s.staged(s.c.Keys.Running()), claim+":"+agent, store.Encode(map[string]any{
		"claim": claim, "agent": agent, "since": g.StartedAt, "holder": g.Holder, "attempt": g.Attempt,
	}))
}

func (s *stage) workflow(l WorkflowLine) error {
	s.record("workflow", l.ID)
	s.hash(s.c.Keys.Workflow(l.ID), textOf(l.Fields))
	s.hash(s.c.Keys.Spending(l.ID), textOf(l.Spending))
	s.sums.Add(textOf(l.Spending))
	return nil
}

// call brings a call under way into the index of them.
func (s *stage) call(l callLine) {
	s.records++
	s.grow("HSET", s.staged(s.c.Keys.PendingCalls()), l.ID, store.Encode(textOf(l.Fields)))
}

// total writes the sums of all accounts, by model.
func (s *stage) total() {
	if len(s.sums) > 0 {
		s.hash(s.staged(s.c.Keys.Spending("models")), s.sums.Fields())
	}
}

// openIndexes are those of open work that belong to no agent, by their names in
// the export.
func openIndexes(k store.Keys) map[string]string {
	return map[string]string{
		"unclaimed": k.Unclaimed(), "claims": k.OpenClaims(), "questions": k.Questions(), "gates": k.Gates(), "landings": k.Landings(),
		"workflows": k.ActiveWorkflows(),
	}
}

func (s *stage) open(l openLine) error {
	key := openIndexes(s.c.Keys)[l.Index]
	switch {
	case l.Agent != "" && l.Index == "due":
		key = s.c.Keys.AgentDue(l.Agent)
	case l.Agent != "" && l.Index == "grants":
		key = s.c.Keys.AgentGrants(l.Agent)
	case key == "" || l.Agent != "":
		return fmt.Errorf("unknown index %q: the export is of a newer sett, or damaged", l.Index)
	}
	s.records++
	s.grow("ZADD", s.staged(key), l.Since, l.ID)
	return nil
}

func (s *stage) event(id string, stored map[string]string) error {
	s.records++
	s.do("XADD", s.staged(s.c.Keys.Events()), pairs([]string{id}, stored)...)
	if stored["kind"] == string(blackboard.EventCall) { // it ended: under this id there is no other
		s.grow("SADD", s.c.Keys.Spending(stored["workflow"]+":settled"), stored["call"])
	}
	return nil
}

// flush sends the collected commands when they fill a part, or in any case. A
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
	args := []string{s.token, strconv.Itoa(part), store.Micros(importLease)}
	for _, c := range commands {
		args = append(append(args, strconv.Itoa(len(c))), c...)
	}
	r, err := s.c.Do(ctx, "import_put", args...)
	if err == nil {
		err = store.Refused(r)
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
