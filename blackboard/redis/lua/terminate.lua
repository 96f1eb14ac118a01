-- Closes a claim as failed and cancels its open grants. In the same
-- move a Failure is written, or a rework of the same artefact is opened and
-- granted without bidding; with a question to a person, it waits for the answer
-- first. Details: {reason, failure?, rework? {id, agent, context, question?}}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty), 6 payload of the Failure or question, 7 its size, 8 its hash.
-- Replies ok, entry | stale leader | stale revision | miscounted workflow.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
local off = c and miscounted(c[3], 'outstanding')
if not c or off then
  return stale or off
end
local at, workflow = clock(), c[3]
local cancelled = cancel_grants(claim, at)
local result, result_type, rework, reworker = '', '', '', ''
if d.failure then
  result, result_type = d.failure.id, d.failure.type
  put_artefact(d.failure, ARGV[6], at)
end
if d.rework then
  rework, reworker = d.rework.id, d.rework.agent
  local q = open_rework(d.rework, c[4], workflow, ARGV[6], at)
  if q then
    result, result_type = q.id, q.type
  end
end
local ended = close_claim(claim, c, 'terminated', d.reason, at)
local entry = emit('terminate', 'workflow', workflow, 'claim', claim, 'from', c[2], 'to', 'terminated', 'reason', d.reason,
  'result', result, 'result_type', result_type, 'size', ARGV[7], 'sha256', ARGV[8], 'rework', rework, 'agent', reworker,
  'cancelled', table.concat(cancelled, ','), 'workflow_status', ended, 'waits_for', waits_for(workflow))
if rework ~= '' then
  publish(orchestrator_events, rework)
end
return { 'ok', entry }
