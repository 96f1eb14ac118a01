-- A worker's unit is gone: nothing is to be kept about it. What it was assigned
-- or worked on is not touched; whether that goes on is another move.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation.
-- Replies ok | already.
if call('HDEL', workers_key(ARGV[1]), ARGV[2]) == 0 then
  return { 'already' }
end
return { 'ok' }
