-- Ends a running grant with the artefact it produced. A Question suspends the
-- grant instead. Only the attempt and holder that have the grant may do it. The claim, and
-- that of the artefact, follow their courses, if they have some.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 artefact (JSON), 6 payload, 7 size, 8 hash,
-- 9 verdict of a Review, 10 tool time in microseconds, 11 commit that the tool's tree started from,
-- 12 the artefacts whose commits that tree lacked because of conflicts, with spaces between.
-- Replies ok version | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local a = cjson.decode(ARGV[5])
local g, status, followed, revision, withheld = grant_of(claim, agent, 'status', 'course', 'revision', 'withheld')
if not g then
  return { 'refused', 'no such grant' }
end
local known = stored(a, ARGV[6])
if known then
  return known
end
if g.state ~= 'running' or tostring(g.attempt) ~= ARGV[3] or g.holder ~= ARGV[4] then
  local reason = call('HGET', claim_key(claim), 'reason') or ''
  return { 'refused', 'the grant is ' .. g.state .. ' (attempt ' .. g.attempt .. ') ' .. reason }
end
local at = clock()
local course = course_of(a)
local steps, of = steps_of(followed, course and course.revision)
if steps and miscounted(a.workflow, 'outstanding') then
  steps = nil -- the orchestrator has it counted anew
end
local version, gate = put_artefact(a, ARGV[6], at, course)
g.result_id, g.tool_us = a.id, ARGV[10]
g.reason = nil -- of an attempt before
g.base = ARGV[11] ~= '' and ARGV[11] or nil
g.unmerged = ARGV[12] ~= '' and ARGV[12] or nil -- conflicts
if ARGV[9] ~= '' then
  g.verdict = ARGV[9]
end
local state, fields = 'done', {} -- of the claim, to write
if a.structural_type == 'Question' then
  state = 'awaiting_answer'
  ask(claim, agent, g, a.id, a.workflow, at)
else
  if a.structural_type == 'Failure' then
    state = 'failed'
  end
  end_grant(claim, agent, g, state, at, fields)
  local held = call('HMGET', workflow_key(a.workflow), 'questions', 'conflicts')
  if (held[1] or '0') ~= '0' or held[2] or withheld then -- its siblings' may be all that is left
    call('HSET', claim_key(claim), unpack(fields))
    fields = {}
    weigh(claim, a.workflow)
  end
end
local acts = { id = claim, workflow = a.workflow, status = status, revision = (tonumber(revision) or 0) + 1, course = of, steps = steps, fields = fields }
local step = steps and state == 'done' and all_well(claim, agent, g) and write_step(acts, status, at)
if not step then
  call('HSET', claim_key(claim), 'revision', acts.revision, unpack(fields))
end
together(at, function()
  emit('result', 'workflow', a.workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt,
    'to', state, 'artefact', a.id, 'type', a.type, 'structural_type', a.structural_type, 'version', version,
    'verdict', ARGV[9], 'gate', gate, 'commit', a.commit or '', 'base', ARGV[11], 'unmerged', ARGV[12], 'tool_us', ARGV[10], 'size', ARGV[7], 'sha256', ARGV[8], 'waits_for', waits_for(a.workflow))
  if course and gate == '' then
    open_by_course(a, version, course, at)
  end
  if step then
    follow_step(acts, step, at)
  else
    publish(orchestrator_events, claim)
  end
end)
return { 'ok', tostring(version) }
