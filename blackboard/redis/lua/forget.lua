-- A worker's unit is gone: its entry is removed. Its grant is not touched.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation.
-- Replies ok | already.
if call('HDEL', workers_key(ARGV[1]), ARGV[2]) == 0 then
  return { 'already' }
end
return { 'ok' }
