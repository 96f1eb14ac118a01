--!volatile: the next one comes in a moment.
-- A worker registers, or says that it is alive. An assignment stands, also when the
-- worker names another claim; one without an assignment may name its claim itself.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation, 3 claim (empty: it waits for one, or was assigned one),
-- 4 attempt of it (0: the grant's), 5 time to live in microseconds,
-- 6 the mark that the caller knows (empty: none).
-- Replies ok, mark | lost, how, mark.
local now = sight()
local how = loss_since(ARGV[6], now)
if how then
  return { 'lost', how, now }
end
local agent, claim, attempt = ARGV[1], ARGV[3], ARGV[4]
local known = call('HGET', workers_key(agent), ARGV[2])
local w = worker_of(known)
if w and w.claim ~= '-' and w.claim ~= claim then
  claim, attempt = w.claim, w.attempt
elseif w and w.claim == claim and attempt == '0' then
  attempt = w.attempt
elseif claim == '' then
  claim, attempt = '-', '0'
elseif attempt == '0' then
  local g = grant_of(claim, agent)
  attempt = g and tostring(g.attempt) or '0'
end
local alive = string.format('%.0f', tonumber(clock()) + tonumber(ARGV[5]))
call('HSET', workers_key(agent), ARGV[2], alive .. ' ' .. claim .. ' ' .. attempt)
if not known and claim == '-' then
  publish(orchestrator_events, '') -- there may be work that waits for a worker
end
return { 'ok', now }
