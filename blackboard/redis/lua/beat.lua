--!volatile: the next one comes in a moment.
-- An agent's heartbeat. It is refused where another incarnation is registered: a board
-- that went back to an earlier state has forgotten this one.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation, 3 time to live in microseconds,
-- 4 the mark that the caller knows (empty: none).
-- Replies ok, mark | refused, why | lost, how, mark.
local now = sight()
local how = loss_since(ARGV[4], now)
if how then
  return { 'lost', how, now }
end
if string.match(call('HGET', agents_key, ARGV[1]) or '', '"incarnation":"([^"]*)"') ~= ARGV[2] then
  return { 'refused', 'agent ' .. ARGV[1] .. ' is not registered with incarnation ' .. ARGV[2] }
end
call('SET', alive_key(ARGV[1]), ARGV[2] .. ' ' .. string.format('%.0f', tonumber(clock()) + tonumber(ARGV[3])))
return { 'ok', now }
