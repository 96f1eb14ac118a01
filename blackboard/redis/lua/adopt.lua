-- An agent sets out to restore the tree that a dead writer left. The writer's own agent
-- may do so at once, another one after a while; one at a time.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent of the dead writer, 3 agent that sets out, 4 its incarnation,
-- 5 bound of the wait for the own agent, and of an attempt, in microseconds.
-- Replies ok | refused why.
local field = 'hold:' .. ARGV[1] .. ':' .. ARGV[2]
local s = call('HGET', workspace_key, field)
local w = s and cjson.decode(s)
if not w or w.state ~= 'restore' then
  return { 'refused', 'there is nothing to put back' }
end
local now, patience = tonumber(clock()), tonumber(ARGV[5])
if w.by and w.by ~= ARGV[4] and w.by_agent ~= ARGV[3] and now < tonumber(w.by_at) + patience then
  return { 'refused', 'somebody is at it' }
end
if ARGV[2] ~= ARGV[3] then
  local _, deadline = string.match(call('GET', alive_key(ARGV[2])) or '', '^(%S+) (%d+)$')
  if now < tonumber(w.died_at or 0) + patience or now < (tonumber(deadline) or 0) then
    return { 'refused', 'its own agent may come' }
  end
end
w.by, w.by_agent, w.by_at = ARGV[4], ARGV[3], string.format('%.0f', now)
call('HSET', workspace_key, field, cjson.encode(w))
return { 'ok' }
