-- A waiting worker is told its one claim. It starts the grant itself; until then
-- the grant stays queued, and is anybody's of the agent.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 agent, 3 incarnation, 4 claim, 5 attempt.
-- Replies ok, entry | already | stale | refused why.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local agent, me, claim, attempt = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local key = workers_key(agent)
local w = worker_of(call('HGET', key, me))
if not w then
  return { 'refused', 'there is no such worker' }
end
if w.claim == claim and w.attempt == attempt then
  return { 'already' }
end
if w.claim ~= '-' then
  return { 'refused', 'the worker has claim ' .. w.claim }
end
local now = tonumber(clock())
if w.alive <= now then
  return { 'refused', 'the worker is silent' }
end
local g = grant_of(claim, agent)
if not g or g.state ~= 'queued' or tostring(g.attempt) ~= attempt then
  return { 'refused', 'the grant is not queued at this attempt' }
end
local all = call('HGETALL', key)
for i = 1, #all, 2 do
  local other = worker_of(all[i + 1])
  if other and other.claim == claim and other.attempt == attempt and other.alive > now then
    return { 'refused', 'worker ' .. all[i] .. ' has this claim' }
  end
end
call('HSET', key, me, string.format('%.0f', w.alive) .. ' ' .. claim .. ' ' .. attempt)
local entry = emit('assign', 'workflow', call('HGET', claim_key(claim), 'workflow_id') or '', 'claim', claim, 'agent', agent,
  'phase', g.phase, 'attempt', attempt, 'holder', me)
publish(standby_events(agent), me .. ' ' .. claim)
return { 'ok', entry }
