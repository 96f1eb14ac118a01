package store

// Every name of a key or a channel is made here. The names of the scripts,
// lua/_keys.lua, are made of these methods by a test. All start with the instance as a Redis Cluster
// hash tag, so that an instance lives in one slot.

// Keys makes the names of one instance.
type Keys struct{ Prefix string }

// KeysOf returns the names of an instance.
func KeysOf(instance string) Keys { return Keys{"sett:{" + instance + "}:"} }

// Events is the key events.
func (k Keys) Events() string { return k.Prefix + "events" }

// Artifact is the key artifact:ID.
func (k Keys) Artifact(id string) string { return k.Prefix + "artifact:" + id }

// Children is the key artifact:ID:children.
func (k Keys) Children(id string) string { return k.Prefix + "artifact:" + id + ":children" }

// Thread is the key thread:LOGICAL.
func (k Keys) Thread(logical string) string { return k.Prefix + "thread:" + logical }

// Claim is the key claim:ID.
func (k Keys) Claim(id string) string { return k.Prefix + "claim:" + id }

// Bids is the key claim:CLAIM:bids.
func (k Keys) Bids(claim string) string { return k.Prefix + "claim:" + claim + ":bids" }

// Artefacts is the key artefacts.
func (k Keys) Artefacts() string { return k.Prefix + "artefacts" }

// ArtefactsByType is the key artefacts:type:T.
func (k Keys) ArtefactsByType(t string) string { return k.Prefix + "artefacts:type:" + t }

// ArtefactsByAgent is the key artefacts:agent:A.
func (k Keys) ArtefactsByAgent(a string) string { return k.Prefix + "artefacts:agent:" + a }

// ArtefactsByWorkflow is the key artefacts:workflow:W.
func (k Keys) ArtefactsByWorkflow(w string) string { return k.Prefix + "artefacts:workflow:" + w }

// Unclaimed is the key artefacts:unclaimed.
func (k Keys) Unclaimed() string { return k.Prefix + "artefacts:unclaimed" }

// Claims is the key claims.
func (k Keys) Claims() string { return k.Prefix + "claims" }

// ClaimsByWorkflow is the key claims:workflow:W.
func (k Keys) ClaimsByWorkflow(w string) string { return k.Prefix + "claims:workflow:" + w }

// OpenClaims is the key claims:open.
func (k Keys) OpenClaims() string { return k.Prefix + "claims:open" }

// SuspendedClaims is the key claims:suspended. A plus is before the claims that are blocked.
func (k Keys) SuspendedClaims() string { return k.Prefix + "claims:suspended" }

// Questions is the key questions:open.
func (k Keys) Questions() string { return k.Prefix + "questions:open" }

// Gates is the key gates:open.
func (k Keys) Gates() string { return k.Prefix + "gates:open" }

// Landings is the key landings:open.
func (k Keys) Landings() string { return k.Prefix + "landings:open" }

// Endings is the key endings:XY, which has the beginnings of the ids that end with XY.
func (k Keys) Endings(ending string) string { return k.Prefix + "endings:" + ending }

// Workflow is the key workflow:ID.
func (k Keys) Workflow(id string) string { return k.Prefix + "workflow:" + id }

// ActiveWorkflows is the key workflows:active.
func (k Keys) ActiveWorkflows() string { return k.Prefix + "workflows:active" }

// Running is the key running.
func (k Keys) Running() string { return k.Prefix + "running" }

// Workspace is the key workspace, in which a Sett of before had the running grants.
func (k Keys) Workspace() string { return k.Prefix + "workspace" }

// Spending is the key spending:WORKFLOW; spending:WORKFLOW:settled has the calls that ended, and
// spending:models the sums by model.
func (k Keys) Spending(w string) string { return k.Prefix + "spending:" + w }

// PendingCalls is the key spending, which has the calls of models under way.
func (k Keys) PendingCalls() string { return k.Prefix + "spending" }

// Agents is the key agents.
func (k Keys) Agents() string { return k.Prefix + "agents" }

// Alive is the key agent:AGENT:alive.
func (k Keys) Alive(agent string) string { return k.Prefix + "agent:" + agent + ":alive" }

// AgentDue is the key agent:AGENT:due.
func (k Keys) AgentDue(agent string) string { return k.Prefix + "agent:" + agent + ":due" }

// AgentGrants is the key agent:AGENT:grants.
func (k Keys) AgentGrants(agent string) string { return k.Prefix + "agent:" + agent + ":grants" }

// Workers is the key agent:AGENT:workers.
func (k Keys) Workers(agent string) string { return k.Prefix + "agent:" + agent + ":workers" }

// Leader is the key leader.
func (k Keys) Leader() string { return k.Prefix + "leader" }

// Epoch is the key epoch.
func (k Keys) Epoch() string { return k.Prefix + "epoch" }

// Instance is the key instance.
func (k Keys) Instance() string { return k.Prefix + "instance" }

// Courses is the key courses.
func (k Keys) Courses() string { return k.Prefix + "courses" }

// Staging is the key import:NAME.
func (k Keys) Staging(name string) string { return k.Prefix + "import:" + name } // of an import under way

// Absent is the key absent, which never exists.
func (k Keys) Absent() string { return k.Prefix + "absent" }

// confirmedKey is the key confirmed, which is written to see replicas follow. No script uses it.
func confirmedKey(k Keys) string { return k.Prefix + "confirmed" }

// Notified is the key notified.
func (k Keys) Notified() string { return k.Prefix + "notified" }

// ArtefactEvents is the channel artefact_events.
func (k Keys) ArtefactEvents() string { return k.Prefix + "artefact_events" }

// ClaimEvents is the channel claim_events.
func (k Keys) ClaimEvents() string { return k.Prefix + "claim_events" }

// ClaimTargets is the channel claim_targets.
func (k Keys) ClaimTargets() string { return k.Prefix + "claim_targets" }

// AgentEvents is the channel agent:AGENT:events.
func (k Keys) AgentEvents(agent string) string { return k.Prefix + "agent:" + agent + ":events" }

// StandbyEvents is the channel agent:AGENT:standby.
func (k Keys) StandbyEvents(agent string) string { return k.Prefix + "agent:" + agent + ":standby" }

// OrchestratorEvents is the channel orchestrator_events.
func (k Keys) OrchestratorEvents() string { return k.Prefix + "orchestrator_events" }
