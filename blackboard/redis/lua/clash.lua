-- The commits that a running grant begins with do not merge. The grant goes back to its queue and
-- waits; the Conflict that says so is stored once, and is claimed like any other artefact.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 Conflict (JSON), 6 payload, 7 size, 8 hash.
-- Replies ok | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local a = cjson.decode(ARGV[5])
local g = grant_of(claim, agent)
if not g then
  return { 'refused', 'no such grant' }
end
if g.state == 'queued' and g.conflict == a.id and tostring(g.attempt - 1) == ARGV[3] then
  return { 'already' }
end
if g.state ~= 'running' or tostring(g.attempt) ~= ARGV[3] or g.holder ~= ARGV[4] then
  return { 'refused', 'the grant is ' .. g.state .. ' (attempt ' .. g.attempt .. ')' }
end
local at, gate, made = clock(), '', {} -- for the ledger, where readers count it
call('HSET', workflow_key(a.workflow), 'conflicts', '1')
if call('EXISTS', artifact_key(a.id)) == 0 then
  local _, held = put_artefact(a, ARGV[6], at)
  gate, made = held, { 'result', a.id, 'result_type', a.type, 'size', ARGV[7], 'sha256', ARGV[8], 'commit', a.commit or '' }
end
block_grant(claim, agent, g, a.id, at)
weigh(claim, a.workflow)
call('HINCRBY', claim_key(claim), 'revision', 1)
emit('conflict', 'workflow', a.workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt, 'to', 'waits',
  'conflict', a.id, 'reason', a.summary, 'gate', gate, 'waits_for', waits_for(a.workflow), unpack(made))
publish(orchestrator_events, claim)
return { 'ok' }
