-- Takes the landing of a goal one step further: the record of it, and in the same move an
-- artefact about it, or a rework of the result, which ends the goal's turn. An end of the
-- landing is the end of the goal. Of a goal that was cancelled while its branch was being moved, the end alone is taken, for
-- the record. Details: {landing, state, over, people, reason, of, branch, tip,
-- commit, how, trouble, artefact?, rework? {id, artefact, agent, context, question?}}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 workflow, 3 the record that it was decided on, 4 details (JSON), 5 payload of the
-- artefact or question, 6 its size, 7 its hash.
-- Replies ok, entry | already | stale leader | stale revision | refused why | miscounted workflow.
local workflow, d = ARGV[2], cjson.decode(ARGV[4])
if not leads(ARGV[1]) then
  return { 'stale', 'leader' }
end
local key = workflow_key(workflow)
local now = call('HGET', key, 'landing') or ''
if now == d.landing then
  return { 'already' }
end
if not call('ZSCORE', landings_key, workflow) then
  return { 'refused', 'no landing of it is open' }
end
if now ~= ARGV[3] then
  return { 'stale', 'revision' }
end
if d.artefact and call('EXISTS', artifact_key(d.artefact.id)) == 1 or d.rework and call('EXISTS', claim_key(d.rework.id)) == 1 then
  return { 'refused', 'it was made before' }
end
local cancelled = call('HGET', key, 'status') ~= 'active'
if cancelled and not d.over then
  return { 'refused', 'its goal was cancelled' }
end
local off = not cancelled and miscounted(workflow, 'outstanding')
if off then
  return off
end
local at, before, ended = clock(), decoded(now) or {}, ''
local result, result_type, rework, reworker, gate = '', '', '', '', ''
call('HSET', key, 'landing', d.landing)
if not cancelled and (before.people or false) ~= (d.people or false) then
  suspend(workflow, d.people and 1 or -1)
end
if d.artefact then
  result, result_type = d.artefact.id, d.artefact.type
  local _, held = put_artefact(d.artefact, ARGV[5], at)
  gate = held
end
if d.rework then
  rework, reworker = d.rework.id, d.rework.agent
  local q = open_rework(d.rework, d.rework.artefact, workflow, ARGV[5], at)
  if q then
    result, result_type = q.id, q.type
  end
end
if d.over or d.rework then
  call('ZREM', landings_key, workflow)
  local left = cancelled and -1 or call('HINCRBY', key, 'outstanding', -1)
  if left == 0 then
    ended = end_workflow(workflow, at, left, true)
  end
  publish(orchestrator_events, '') -- the next goal's turn
end
local entry = emit('landing', 'workflow', workflow, 'claim', rework, 'artefact', d.of or '', 'agent', reworker,
  'from', before.state or '', 'to', d.state, 'reason', d.reason or '', 'branch', d.branch or '', 'base', d.tip or '',
  'commit', d.commit or '', 'how', d.how or '', 'trouble', d.trouble or '', 'gate', gate, 'result', result, 'result_type', result_type, 'size', ARGV[6], 'sha256', ARGV[7],
  'workflow_status', ended, 'waits_for', waits_for(workflow))
if rework ~= '' then
  publish(orchestrator_events, rework)
end
return { 'ok', entry }
