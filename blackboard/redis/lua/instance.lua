-- The instance starts or stops, or goes on by other settings or by another sett. While it is stopping no agent takes
-- new work and no exit counts as a crash.
-- KEYS[1] the ledger. ARGV: 1 running or stopping, 2 the person, 3 schema version, 4 the command, and of a start (empty: they
-- stay): 5 the digest of all settings, 6 the names of the changed ones, 7 the build of sett, 8 the repository's commit,
-- 9 the types that shall wait for approval (as policy.lua has them), 10 the branch that goals shall land on.
-- Replies ok | already | refused why.
local had = call('HMGET', instance_key, 'schema', 'state', 'settings', 'sett')
if had[1] and had[1] ~= ARGV[3] then
  return { 'refused', 'its records have schema ' .. had[1] .. ', this sett writes ' .. ARGV[3] }
end
local settings, sett = ARGV[5], ARGV[7]
local others = settings ~= '' and had[3] ~= settings
if had[2] == ARGV[1] and not others and (settings == '' or had[4] == sett) then
  return { 'already' }
end
call('HSET', instance_key, 'state', ARGV[1], 'since', clock(), 'schema', ARGV[3])
if settings ~= '' then
  call('HSET', instance_key, 'settings', settings, 'sett', sett)
end
local changed = ''
if others then
  changed = ARGV[6] == '' and had[3] and 'unknown' or ARGV[6] -- the state directory of before is gone, or the board is an older copy
  call('HSET', instance_key, 'settings_by', ARGV[2], 'settings_approve', ARGV[9], 'settings_land', ARGV[10])
end
emit('instance', 'to', ARGV[1], 'from', had[2] == ARGV[1] and ARGV[1] or '', 'by', ARGV[2], 'with', ARGV[4], 'settings', settings,
  'changed', changed, 'sett', sett, 'commit', ARGV[8])
publish(orchestrator_events, '')
return { 'ok' }
