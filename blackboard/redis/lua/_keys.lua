-- The names of keys and channels, made of keys.go: go test ./blackboard/redis/internal/store -update
-- KEYS[1] is always the ledger. Its name has the prefix of the others, and places a
-- script in their slot of a cluster.
local P = string.sub(KEYS[1], 1, #KEYS[1] - 6)
local absent_key = P .. 'absent'
local active_workflows_key = P .. 'workflows:active'
local function agent_due_key(id) return P .. 'agent:' .. id .. ':due' end
local function agent_events(id) return P .. 'agent:' .. id .. ':events' end
local function agent_grants_key(id) return P .. 'agent:' .. id .. ':grants' end
local agents_key = P .. 'agents'
local function alive_key(id) return P .. 'agent:' .. id .. ':alive' end
local artefact_events = P .. 'artefact_events'
local artefacts_key = P .. 'artefacts'
local function artefacts_by_agent_key(id) return P .. 'artefacts:agent:' .. id end
local function artefacts_by_type_key(id) return P .. 'artefacts:type:' .. id end
local function artefacts_by_workflow_key(id) return P .. 'artefacts:workflow:' .. id end
local function artifact_key(id) return P .. 'artifact:' .. id end
local function bids_key(id) return P .. 'claim:' .. id .. ':bids' end
local function children_key(id) return P .. 'artifact:' .. id .. ':children' end
local function claim_key(id) return P .. 'claim:' .. id end
local claim_events = P .. 'claim_events'
local claim_targets = P .. 'claim_targets'
local claims_key = P .. 'claims'
local function claims_by_workflow_key(id) return P .. 'claims:workflow:' .. id end
local courses_key = P .. 'courses'
local function endings_key(id) return P .. 'endings:' .. id end
local epoch_key = P .. 'epoch'
local events_key = P .. 'events'
local gates_key = P .. 'gates:open'
local instance_key = P .. 'instance'
local landings_key = P .. 'landings:open'
local leader_key = P .. 'leader'
local notified_key = P .. 'notified'
local open_claims_key = P .. 'claims:open'
local orchestrator_events = P .. 'orchestrator_events'
local pending_calls_key = P .. 'spending'
local questions_key = P .. 'questions:open'
local running_key = P .. 'running'
local function spending_key(id) return P .. 'spending:' .. id end
local function staging_key(id) return P .. 'import:' .. id end
local function standby_events(id) return P .. 'agent:' .. id .. ':standby' end
local suspended_claims_key = P .. 'claims:suspended'
local function thread_key(id) return P .. 'thread:' .. id end
local unclaimed_key = P .. 'artefacts:unclaimed'
local function workers_key(id) return P .. 'agent:' .. id .. ':workers' end
local function workflow_key(id) return P .. 'workflow:' .. id end
local workspace_key = P .. 'workspace'
