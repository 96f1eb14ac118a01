-- Sets the branch on which achieved goals land from now on; empty: none do. Goals that wait
-- to land go on waiting.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 the branch.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
if (call('HGET', instance_key, 'land') or '') == ARGV[2] then
  return { 'already' }
end
call('HSET', instance_key, 'land', ARGV[2])
local by, settings = settings_of('settings_land', ARGV[2])
local entry = emit('policy', 'setting', 'land', 'to', ARGV[2] == '' and 'none' or '', 'land', ARGV[2], 'by', by, 'settings', settings)
return { 'ok', entry }
