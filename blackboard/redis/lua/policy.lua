-- Sets the types of artefacts that wait for approval from now on. Artefacts that wait
-- already go on waiting.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 the types (JSON array, each an array of its parts
-- between the wildcards), 3 the types as sett.yml has them, for the ledger.
-- Replies ok | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
if (call('HGET', instance_key, 'approve') or '[]') == ARGV[2] then
  return { 'already' }
end
call('HSET', instance_key, 'approve', ARGV[2])
emit('policy', 'approve', ARGV[3])
return { 'ok' }
