-- Records that a script without an end was ended on the server.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 id of this report, 3 agent (empty: unknown), 4 client, 5 its user,
-- 6 reason.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
if call('HGET', instance_key, 'overrun') == ARGV[2] then
  return { 'already' }
end
call('HSET', instance_key, 'overrun', ARGV[2])
local entry = emit('overrun', 'agent', ARGV[3], 'client', ARGV[4], 'user', ARGV[5], 'reason', ARGV[6])
return { 'ok', entry }
