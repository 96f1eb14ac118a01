-- An agent's incarnation reports for work, reports trouble, or leaves.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation, 3 description (JSON), 4 ready, unhealthy or gone, 5 time to live in microseconds,
-- 6 reason, 7 the mark that the caller knows (empty: none).
-- Replies ok, mark | already, mark | lost, how, mark.
local now = sight()
local how = loss_since(ARGV[7], now)
if how then
  drop_courses_of(how)
  return { 'lost', how, now }
end
if ARGV[4] ~= 'gone' then
  local s = call('GET', alive_key(ARGV[1]))
  if s and string.match(s, '^%S+') == ARGV[2] and call('HGET', agents_key, ARGV[1]) == ARGV[3] then
    return { 'already', now }
  end
  call('HSET', agents_key, ARGV[1], ARGV[3])
  call('SET', alive_key(ARGV[1]), ARGV[2] .. ' ' .. string.format('%.0f', tonumber(clock()) + tonumber(ARGV[5])))
else
  local s = call('GET', alive_key(ARGV[1]))
  if not s or string.match(s, '^%S+') ~= ARGV[2] then
    return { 'already', now }
  end
  call('DEL', alive_key(ARGV[1]))
end
emit('agent', 'agent', ARGV[1], 'to', ARGV[4], 'holder', ARGV[2], 'reason', ARGV[6])
publish(orchestrator_events, '')
return { 'ok', sight() }
