-- Enacts the settings of sett.yml: the types of artefacts that wait for approval from now
-- on. Artefacts that wait already go on waiting. Courses of other settings are dropped.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 the types (JSON array, each an array of its parts
-- between the wildcards), 3 the types as sett.yml has them, for the ledger, 4 the digest of all settings that
-- decisions depend on.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local before = call('HGET', courses_key, 'settings')
if before == '' then
  call('HSET', courses_key, 'settings', ARGV[4]) -- of a new leader, which has dropped them
elseif before ~= ARGV[4] then
  reset_courses(ARGV[4])
end
if (call('HGET', instance_key, 'approve') or '[]') == ARGV[2] then
  return { 'already' }
end
call('HSET', instance_key, 'approve', ARGV[2])
local by, settings = settings_of('settings_approve', ARGV[2])
local entry = emit('policy', 'setting', 'approve', 'to', ARGV[3] == '' and 'none' or '', 'approve', ARGV[3], 'by', by, 'settings', settings)
return { 'ok', entry }
