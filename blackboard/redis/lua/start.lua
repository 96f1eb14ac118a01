-- An agent begins to work on a grant: queued to running.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 holder, 4 to 8 what it runs: the image's
-- id, the digests of the program and of the settings, sett's version, the digest of the pinned files (empty: not known).
-- Replies ok, claim (flat), artefact (flat) | refused why | stopping.
local claim, agent, holder = ARGV[1], ARGV[2], ARGV[3]
local g, artefact, workflow, revision = grant_of(claim, agent, 'artefact_id', 'workflow_id', 'revision')
if not g then
  call('ZREM', agent_grants_key(agent), claim)
  return { 'refused', 'no such grant' }
end
local key = claim_key(claim)
if not artefact or not workflow then
  return { 'refused', 'the claim is corrupt' }
end
if g.state == 'running' and g.holder == holder then
  return { 'ok', call('HGETALL', key), call('HGETALL', artifact_key(artefact)) }
end
if g.conflict and g.state == 'queued' then
  return { 'refused', 'the grant waits for Conflict ' .. g.conflict }
end
if g.state ~= 'queued' then
  return { 'refused', 'the grant is ' .. g.state }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
local at = clock()
call('HSET', running_key, run_field(claim, agent),
  cjson.encode({ claim = claim, agent = agent, holder = holder, attempt = g.attempt, since = at }))
g.state, g.holder, g.started_at = 'running', holder, at
save_grant(claim, agent, g, 'revision', (tonumber(revision) or 0) + 1)
local ran = {}
for i, name in ipairs({ 'image', 'program', 'config', 'sett', 'pin' }) do
  if (ARGV[3 + i] or '') ~= '' then
    ran[#ran + 1] = name
    ran[#ran + 1] = ARGV[3 + i]
  end
end
emit('start', 'workflow', workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt, 'holder', holder,
  unpack(ran))
return { 'ok', call('HGETALL', key), call('HGETALL', artifact_key(artefact)) }
