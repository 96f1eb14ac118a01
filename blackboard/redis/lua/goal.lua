-- Posts a goal: the first artefact of a workflow.
-- KEYS[1] the ledger. ARGV: 1 artefact (JSON), 2 payload, 3 size, 4 hash,
-- 5 the name of the person whose goal it is.
-- Replies ok | already | refused why.
local a = cjson.decode(ARGV[1])
local known = stored(a, ARGV[2])
if known then
  return known
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
if call('EXISTS', staging_key('mark')) == 1 then
  return { 'refused', 'a ledger is being imported; sett ledger import --abort ends one whose process died' }
end
local at = clock()
call('HSET', workflow_key(a.id), 'id', a.id, 'status', 'active', 'created_at', at, 'outstanding', 1, 'by', ARGV[5])
call('ZADD', active_workflows_key, at, a.id)
local course = course_of(a)
local version, gate = put_artefact(a, ARGV[2], at, course, true)
together(at, function()
  -- At its gate a goal is all the work there is, as waits_for would find.
  emit('goal', 'workflow', a.id, 'artefact', a.id, 'type', a.type, 'by', ARGV[5], 'gate', gate, 'size', ARGV[3], 'sha256', ARGV[4],
    'waits_for', gate == 'held' and 'people' or '')
  if course and gate == '' then
    open_by_course(a, version, course, at)
  end
end)
return { 'ok' }
