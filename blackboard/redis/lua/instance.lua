-- The instance starts or stops. While it is stopping no agent takes new work and
-- no exit counts as a crash.
-- KEYS[1] the ledger. ARGV: 1 running or stopping, 2 the person or role, 3 schema version.
-- Replies ok | already | refused why.
local known = call('HGET', instance_key, 'schema')
if known and known ~= ARGV[3] then
  return { 'refused', 'its records have schema ' .. known .. ', this sett writes ' .. ARGV[3] }
end
if call('HGET', instance_key, 'state') == ARGV[1] then
  return { 'already' }
end
call('HSET', instance_key, 'state', ARGV[1], 'since', clock(), 'schema', ARGV[3])
emit('instance', 'to', ARGV[1], 'by', ARGV[2])
publish(orchestrator_events, '')
return { 'ok' }
