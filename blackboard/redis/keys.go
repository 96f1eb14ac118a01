package redis

// Every key and channel name is made here, once for Go and once for the scripts;
// a test holds the two together. All start with the instance as a Redis Cluster
// hash tag, so that an instance lives in one slot.

// keys makes the names of one instance.
type keys struct{ p string }

func keysOf(instance string) keys { return keys{"sett:{" + instance + "}:"} }

func (k keys) events() string                      { return k.p + "events" }
func (k keys) artifact(id string) string           { return k.p + "artifact:" + id }
func (k keys) children(id string) string           { return k.p + "artifact:" + id + ":children" }
func (k keys) thread(logical string) string        { return k.p + "thread:" + logical }
func (k keys) claim(id string) string              { return k.p + "claim:" + id }
func (k keys) bids(claim string) string            { return k.p + "claim:" + claim + ":bids" }
func (k keys) bidOrder(claim string) string        { return k.p + "claim:" + claim + ":bid_order" }
func (k keys) grants(claim string) string          { return k.p + "claim:" + claim + ":grants" }
func (k keys) artefacts() string                   { return k.p + "artefacts" }
func (k keys) artefactsByType(t string) string     { return k.p + "artefacts:type:" + t }
func (k keys) artefactsByAgent(a string) string    { return k.p + "artefacts:agent:" + a }
func (k keys) artefactsByWorkflow(w string) string { return k.p + "artefacts:workflow:" + w }
func (k keys) unclaimed() string                   { return k.p + "artefacts:unclaimed" }
func (k keys) claims() string                      { return k.p + "claims" }
func (k keys) claimsByWorkflow(w string) string    { return k.p + "claims:workflow:" + w }
func (k keys) openClaims() string                  { return k.p + "claims:open" }
func (k keys) questions() string                   { return k.p + "questions:open" }
func (k keys) gates() string                       { return k.p + "gates:open" }
func (k keys) ids(bucket string) string            { return k.p + "ids:" + bucket }
func (k keys) workflow(id string) string           { return k.p + "workflow:" + id }
func (k keys) activeWorkflows() string             { return k.p + "workflows:active" }
func (k keys) workspace() string                   { return k.p + "workspace" }
func (k keys) agents() string                      { return k.p + "agents" }
func (k keys) alive(agent string) string           { return k.p + "agent:" + agent + ":alive" }
func (k keys) agentDue(agent string) string        { return k.p + "agent:" + agent + ":due" }
func (k keys) agentGrants(agent string) string     { return k.p + "agent:" + agent + ":grants" }
func (k keys) workers(agent string) string         { return k.p + "agent:" + agent + ":workers" }
func (k keys) leader() string                      { return k.p + "leader" }
func (k keys) epoch() string                       { return k.p + "epoch" }
func (k keys) instance() string                    { return k.p + "instance" }
func (k keys) staging(name string) string          { return k.p + "import:" + name } // of what is being imported
func (k keys) notified() string                    { return k.p + "notified" }

// Channels.
func (k keys) artefactEvents() string            { return k.p + "artefact_events" }
func (k keys) claimEvents() string               { return k.p + "claim_events" }
func (k keys) claimTargets() string              { return k.p + "claim_targets" }
func (k keys) agentEvents(agent string) string   { return k.p + "agent:" + agent + ":events" }
func (k keys) standbyEvents(agent string) string { return k.p + "agent:" + agent + ":standby" }
func (k keys) orchestratorEvents() string        { return k.p + "orchestrator_events" }

// luaKeys names the same keys for the scripts. KEYS[1] is always the ledger,
// from which the prefix is taken: it is what places a script in its slot.
const luaKeys = `
local P = string.sub(KEYS[1], 1, #KEYS[1] - 6)
local events_key = P .. 'events'
local function artifact_key(id) return P .. 'artifact:' .. id end
local function children_key(id) return P .. 'artifact:' .. id .. ':children' end
local function thread_key(id) return P .. 'thread:' .. id end
local function claim_key(id) return P .. 'claim:' .. id end
local function bids_key(id) return P .. 'claim:' .. id .. ':bids' end
local function bid_order_key(id) return P .. 'claim:' .. id .. ':bid_order' end
local function grants_key(id) return P .. 'claim:' .. id .. ':grants' end
local artefacts_key = P .. 'artefacts'
local function artefacts_by_type_key(id) return P .. 'artefacts:type:' .. id end
local function artefacts_by_agent_key(id) return P .. 'artefacts:agent:' .. id end
local function artefacts_by_workflow_key(id) return P .. 'artefacts:workflow:' .. id end
local unclaimed_key = P .. 'artefacts:unclaimed'
local claims_key = P .. 'claims'
local function claims_by_workflow_key(id) return P .. 'claims:workflow:' .. id end
local open_claims_key = P .. 'claims:open'
local questions_key = P .. 'questions:open'
local gates_key = P .. 'gates:open'
local function ids_key(id) return P .. 'ids:' .. id end
local function workflow_key(id) return P .. 'workflow:' .. id end
local active_workflows_key = P .. 'workflows:active'
local workspace_key = P .. 'workspace'
local agents_key = P .. 'agents'
local function alive_key(id) return P .. 'agent:' .. id .. ':alive' end
local function agent_due_key(id) return P .. 'agent:' .. id .. ':due' end
local function agent_grants_key(id) return P .. 'agent:' .. id .. ':grants' end
local function workers_key(id) return P .. 'agent:' .. id .. ':workers' end
local leader_key = P .. 'leader'
local epoch_key = P .. 'epoch'
local instance_key = P .. 'instance'
local function staging_key(id) return P .. 'import:' .. id end
local notified_key = P .. 'notified'
local artefact_events = P .. 'artefact_events'
local claim_events = P .. 'claim_events'
local claim_targets = P .. 'claim_targets'
local function agent_events(id) return P .. 'agent:' .. id .. ':events' end
local function standby_events(id) return P .. 'agent:' .. id .. ':standby' end
local orchestrator_events = P .. 'orchestrator_events'
-- Ids are indexed by their ending, in small buckets: a small sorted set costs a
-- quarter of a large one's memory per member.
local function index_id(id)
  redis.call('ZADD', ids_key(string.sub(id, -2)), 0, string.reverse(id))
end
`
