-- The instance starts or stops, or goes on by other settings or by another sett. While it is stopping no agent takes
-- new work and no exit counts as a crash. Where its start is another one than the board has, and no stop came between,
-- it had ended: the state alone does not tell.
-- KEYS[1] the ledger. ARGV: 1 running or stopping, 2 the person, 3 schema version, 4 the command, 5 id of the start since
-- which it runs (empty: unknown, or a stop), 6 anew (the command started it) or empty, and of a start (empty: they
-- stay): 7 the digest of all settings, 8 the names of the changed ones, 9 the build of sett, 10 the repository's commit,
-- 11 the types that shall wait for approval (as policy.lua has them), 12 the branch that goals shall land on.
-- Replies ok | already | refused why.
local had = call('HMGET', instance_key, 'schema', 'state', 'settings', 'sett', 'run')
if had[1] and had[1] ~= ARGV[3] then
  return { 'refused', 'its records have schema ' .. had[1] .. ', this sett writes ' .. ARGV[3] }
end
local run, settings, sett, from = ARGV[5], ARGV[7], ARGV[9], ''
local others = settings ~= '' and had[3] ~= settings
if had[2] == ARGV[1] then
  from = ARGV[1]
  if from == 'running' and run ~= '' and had[5] ~= run and (had[5] or ARGV[6] ~= '') then -- an older sett recorded no start
    from = 'ended'
  end
end
if from == ARGV[1] and not others and (settings == '' or had[4] == sett) then
  return { 'already' }
end
call('HSET', instance_key, 'state', ARGV[1], 'since', clock(), 'schema', ARGV[3])
if run ~= '' then
  call('HSET', instance_key, 'run', run)
end
if settings ~= '' then
  call('HSET', instance_key, 'settings', settings, 'sett', sett)
end
local changed = ''
if others then
  changed = ARGV[8] == '' and had[3] and 'unknown' or ARGV[8] -- the state directory of before is gone, or the board is an older copy
  call('HSET', instance_key, 'settings_by', ARGV[2], 'settings_approve', ARGV[11], 'settings_land', ARGV[12])
end
emit('instance', 'to', ARGV[1], 'from', from, 'by', ARGV[2], 'with', ARGV[4], 'settings', settings,
  'changed', changed, 'sett', sett, 'commit', ARGV[10])
publish(orchestrator_events, '')
return { 'ok' }
