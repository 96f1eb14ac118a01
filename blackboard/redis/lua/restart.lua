-- A person restarts an agent or another part of the instance.
-- KEYS[1] the ledger. ARGV: 1 id of the restart, 2 the part, 3 its agent (empty: it is none), 4 the person.
-- Replies ok | already.
if call('HGET', instance_key, 'restart') == ARGV[1] then
  return { 'already' }
end
call('HSET', instance_key, 'restart', ARGV[1])
emit('instance', 'to', 'restart', 'part', ARGV[2], 'agent', ARGV[3], 'by', ARGV[4], 'with', 'sett restart')
return { 'ok' }
