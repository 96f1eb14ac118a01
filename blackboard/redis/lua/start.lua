-- An agent begins to work on a grant: queued to running, with the workspace.
-- The workspace has many readers or one writer; the longest wait goes first.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 holder, 4 mode (ro, rw, none), 5 to 9 what it runs: the image's
-- id, the digests of the program and of the settings, sett's version, the digest of the pinned files (empty: not known).
-- Replies ok, grant, claim (flat), artefact (flat) | refused why | stopping |
-- wait, grants in the way…
local claim, agent, holder, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local g = grant_of(claim, agent)
if not g then
  call('ZREM', agent_grants_key(agent), claim)
  return { 'refused', 'no such grant' }
end
local key = claim_key(claim)
local c = call('HMGET', key, 'artefact_id', 'workflow_id')
if not c[1] or not c[2] then
  return { 'refused', 'the claim is corrupt' }
end
if g.state == 'running' and g.holder == holder then
  return { 'ok', cjson.encode(g), call('HGETALL', key), call('HGETALL', artifact_key(c[1])) }
end
if g.state ~= 'queued' then
  return { 'refused', 'the grant is ' .. g.state }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
local at, who, way = clock(), claim .. ':' .. agent, {}
local taken = call('HGETALL', workspace_key)
local since, announced = at, false
for i = 1, #taken, 2 do
  if taken[i] == 'wait:' .. who then
    since, announced = cjson.decode(taken[i + 1]).since, true
  end
end
for i = 1, #taken, 2 do
  local w = cjson.decode(taken[i + 1])
  local holds = string.sub(taken[i], 1, 5) == 'hold:'
  local mine = string.sub(taken[i], 6) == who
  if mode ~= 'none' and w.mode ~= 'none' and (mode == 'rw' or w.mode == 'rw') and (holds or (not mine and w.since < since)) then
    way[#way + 1] = w.claim .. ':' .. w.agent
  end
end
if #way > 0 then
  table.sort(way)
  if not announced then
    call('HSET', workspace_key, 'wait:' .. who,
      cjson.encode({ claim = claim, agent = agent, mode = mode, since = since }))
    emit('wait', 'workflow', c[2], 'claim', claim, 'agent', agent, 'reason', 'workspace',
      'held_by', table.concat(way, ','))
  end
  return { 'wait', unpack(way) }
end
if announced then
  call('HDEL', workspace_key, 'wait:' .. who)
end
call('HSET', workspace_key, 'hold:' .. who, cjson.encode({ claim = claim, agent = agent, mode = mode,
  since = at, holder = holder, attempt = g.attempt, base = '', branch = '', state = 'held' }))
g.state, g.holder, g.started_at = 'running', holder, at
local saved = cjson.encode(g)
call('HSET', grants_key(claim), agent, saved)
call('HINCRBY', key, 'revision', 1)
local ran = {}
for i, name in ipairs({ 'image', 'program', 'config', 'sett', 'pin' }) do
  if (ARGV[4 + i] or '') ~= '' then
    ran[#ran + 1] = name
    ran[#ran + 1] = ARGV[4 + i]
  end
end
emit('start', 'workflow', c[2], 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt, 'holder', holder,
  unpack(ran))
if announced then
  wake_workspace()
end
return { 'ok', saved, call('HGETALL', key), call('HGETALL', artifact_key(c[1])) }
