-- Courses: the decisions about ordinary claims, which the leader has put on the board. A
-- script that makes a move follows them in the orchestrator's place. See _lib.lua.
--
-- The hash `courses` has these fields:
--   revision  a number, one up with each new leader and each change of the settings, at
--             which everything else is dropped
--   settings  the digest of the settings that all courses come from
--   T#:TYPE AGENT  (# is the length of TYPE) how the claim on an artefact of this type by
--             this agent is opened, as JSON: most (artefacts of a workflow), bidders (JSON),
--             bids (agent, bid, reason, rule, its line: of agents with a table), due (agents that bid
--             themselves), steps (of a claim with no agents due), tell (the orchestrator sets
--             an alarm)
--   B BIDS    the steps of a claim with these bids (see format_bids)
-- Steps are phases and their agents: `review:a,b;parallel:c;exclusive:+d`. The arbiter has
-- unrolled them. A step with a plus is left to the orchestrator: it starts a worker.
--
-- The field `course` of a claim is the revision at which it was opened, and its steps once
-- they are known, with a space between. At another revision it counts no more.

-- Drops all courses, also those of claims.
local function reset_courses(settings)
  local revision = (tonumber(call('HGET', courses_key, 'revision') or 0) or 0) + 1
  call('DEL', courses_key)
  call('HSET', courses_key, 'revision', revision, 'settings', settings)
end

-- Drops the courses of an older copy of the board (see loss_since): nothing is granted there
-- until a person has taken it as it is. Another instance's board keeps its own.
local function drop_courses_of(how)
  if how == 'older' then
    reset_courses('')
  end
end

-- The name of the field for the artefacts of a type and an agent.
local function course_field(kind, agent) return 'T' .. #kind .. ':' .. kind .. ' ' .. agent end

-- How the claim on a new artefact is opened; nil: by the orchestrator.
local function course_of(a)
  if not a.opens then
    return nil
  end
  local found = call('HMGET', courses_key, course_field(a.type, a.agent), 'revision')
  if not found[1] then
    return nil
  end
  local course = decoded(found[1])
  if not course or type(course.bids) ~= 'table' or type(course.due) ~= 'table' then
    return nil -- the orchestrator opens the claim
  end
  local first = a.id == a.workflow -- a goal
  if course.most > 0 and not first and has_more(a.workflow, course.most - 1) then
    return nil -- it is refused
  end
  course.revision = found[2]
  course.passes = #course.due == 0 and course.steps == '' -- its claim ends at once
  return course
end

-- The steps and the revision of a claim's course; nil when it has none, or an old one. The present revision
-- may be given.
local function steps_of(course, present)
  local revision, steps = string.match(course or '', '^(%d+) (.*)$')
  if revision and revision == (present or call('HGET', courses_key, 'revision')) then
    return steps, revision
  end
end

-- The first step behind a status, where any grants of that status have ended: its phase
-- and its agents; nil: the claim is complete. A claim that is being opened is behind no
-- phase: ''.
local function next_step(steps, status)
  local places = { review = 1, parallel = 2, exclusive = 3 }
  local done = places[string.match(status, '^pending_(%a+)$') or ''] or 0
  for phase, agents in string.gmatch(steps, '(%a+):([^;]+)') do
    if places[phase] > done then
      return phase, agents
    end
  end
end

-- The status of a claim in a phase.
local function status_of(phase) return 'pending_' .. phase end

-- The next step of a claim with these steps behind a status (see next_step): the fields that it writes to the
-- claim, and `closes`, or its phase and agents. One that is left to the orchestrator has no status.
local function step_behind(steps, behind)
  local phase, names = next_step(steps, behind)
  if not phase then
    return { closes = true, status = 'complete', reason = steps == '' and 'no agent bid on it' or '' }
  elseif string.find(names, '+', 1, true) then -- the order of its workers is that of its decisions
    return {}
  end
  local agents = {}
  for agent in string.gmatch(names, '[^,]+') do
    agents[#agents + 1] = agent
  end
  local step = { status = status_of(phase), phase = phase, agents = agents }
  step.field, step.granted = 'granted_' .. phase .. '_agents', cjson.encode(agents)
  if phase == 'exclusive' then
    step.field, step.granted = 'granted_exclusive_agent', agents[1]
  end
  step[step.field] = step.granted
  return step
end

-- Makes the grants of a step, and adds their fields to those of its claim, which the caller writes.
local function add_grants(fields, claim, step, at)
  for _, agent in ipairs(step.agents or {}) do
    add_grant(fields, claim, agent, { phase = step.phase, attempt = 1, state = 'queued', queued_at = at })
  end
end

-- Does all that a step makes follow, after the claim's fields are written: queues grants, leaves it
-- to the orchestrator, or accounts for the workflow, with an entry in the ledger as the orchestrator's. The claim is
-- given as id, workflow, status before, course (its revision), and uncounted (see put_artefact).
local function follow_step(c, step, at)
  local by = 'course, revision ' .. c.course
  if step.closes then
    local ended = settle(c.workflow, at, c.uncounted)
    emit('complete', 'workflow', c.workflow, 'claim', c.id, 'from', c.status, 'to', 'complete', 'reason', step.reason,
      'workflow_status', ended, 'waits_for', ended == '' and waits_for(c.workflow) or '', 'decided_by', by)
  elseif step.status then
    for _, agent in ipairs(step.agents) do
      put_in_queue(c.id, agent, at)
    end
    emit('grant', 'workflow', c.workflow, 'claim', c.id, 'phase', step.phase, 'from', c.status, 'to', step.status,
      'agent', table.concat(step.agents, ','), 'decided_by', by)
  else
    publish(orchestrator_events, c.id)
  end
end

-- Writes the next step of a claim behind a status, which it returns for follow_step. The claim is given as there,
-- with its steps, with a revision, which is not written yet, and with further fields to write.
local function write_step(c, behind, at)
  local step, fields = step_behind(c.steps, behind), c.fields
  if step.closes then
    end_claim(c.id, c.revision, 'complete', step.reason, at, fields)
    return step
  end
  add_grants(fields, c.id, step, at)
  if step.status then
    call('HSET', claim_key(c.id), 'status', step.status, step.field, step.granted, 'revision', c.revision + 1, unpack(fields))
  else
    call('HSET', claim_key(c.id), 'revision', c.revision, unpack(fields))
  end
  return step
end

-- Writes the bids of a course but those that ignore, which the claim has (see read_bids), with their entries in the
-- ledger.
local function put_bids(claim, workflow, bids)
  local fields = {}
  for _, b in ipairs(bids) do
    if b[2] ~= 'ignore' then
      fields[#fields + 1] = b[1]
      fields[#fields + 1] = b[2]
    end
    emit('bid', 'workflow', workflow, 'claim', claim, 'agent', b[1], 'to', b[2], 'reason', b[3], 'rule', b[4], 'line', b[5] or '')
  end
  if #fields > 0 then
    call('HSET', bids_key(claim), unpack(fields))
  end
end

-- Opens the claim on an artefact that put_artefact has stored with `opens`, by its course
-- (see course_of), and takes the first step when all bids are in.
local function open_by_course(a, version, course, at)
  local claim, mark, revision, step, names, ignored = a.opens, course.revision, 1 + #course.bids, nil, {}, {}
  for i, b in ipairs(course.bids) do
    names[i] = b[1]
    ignored[#ignored + 1] = b[2] == 'ignore' and b[1] or nil
  end
  ignored = #ignored > 0 and #(decoded(course.bidders) or {}) == #names and '*' or table.concat(ignored, ' ')
  if #course.due == 0 then
    mark, step = mark .. ' ' .. course.steps, step_behind(course.steps, '')
    revision = step.status and revision + 1 or revision
    step.fields = {}
    add_grants(step.fields, claim, step, at)
    mark = not step.closes and mark or ''
  end
  put_claim({ id = claim, artefact = a.id, status = 'pending_review', origin = 'artefact', bidders = course.bidders, context = '[]',
    target = { a.logical_id, version, a.type, a.agent, a.role, a.workflow }, course = mark, revision = revision, step = step, order = order_field(names),
    ignored = ignored }, at)
  emit('open', 'workflow', a.workflow, 'claim', claim, 'artefact', a.id, 'type', a.type, 'to', 'pending_review',
    'bidders', course.bidders, 'decided_by', 'course, revision ' .. course.revision)
  put_bids(claim, a.workflow, course.bids)
  for _, agent in ipairs(course.due) do
    call('ZADD', agent_due_key(agent), at, claim)
  end
  publish(claim_events, claim)
  if step then
    return follow_step({ id = claim, workflow = a.workflow, status = 'pending_review', course = course.revision,
      uncounted = course.uncounted }, step, at)
  end
  publish(claim_targets, '?' .. claim .. ' ' .. a.agent .. ' ' .. a.type)
  if course.tell then
    publish(orchestrator_events, claim)
  end
end

-- Whether all grants of a claim have ended well: reviews approve, and no person has a grant. That of an agent is
-- given: it may not be written yet.
local function all_well(claim, agent, ended)
  for _, one in ipairs(grants_of(claim, agent)) do
    local g = one.agent == agent and ended or one.grant
    if not g or g.state ~= 'done' or string.sub(one.agent, 1, 6) == 'human:' or (g.phase == 'review' and g.verdict ~= 'approve') then
      return false
    end
  end
  return true
end
