-- A person stops all calls of models of the instance, or lets them go on.
-- KEYS[1] the ledger. ARGV: 1 paused or running, 2 the person, 3 why (may be empty).
-- Replies ok | already.
if (call('HGET', instance_key, 'models') or 'running') == ARGV[1] then
  return { 'already' }
end
call('HSET', instance_key, 'models', ARGV[1], 'models_by', ARGV[2], 'models_why', ARGV[3], 'models_at', clock())
emit('models', 'to', ARGV[1], 'by', ARGV[2], 'reason', ARGV[3])
return { 'ok' }
