-- The holder of a grant is dead, or no agent is left to run it. The grant fails with a
-- Failure, or is queued for a new attempt, behind the others: it may be the cause.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 agent, 4 attempt, 5 holder (empty: it is not running),
-- 6 fail or retry, 7 reason, 8 Failure (JSON), 9 payload, 10 size, 11 hash.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local claim, agent, at = ARGV[2], ARGV[3], clock()
local g = grant_of(claim, agent)
call('HDEL', workspace_key, 'hold:' .. claim .. ':' .. agent) -- of a Sett that had no index `running`
if not g or tostring(g.attempt) ~= ARGV[4] or not (g.state == 'running' and g.holder == ARGV[5]
    or (g.state == 'queued' or g.state == 'awaiting_answer') and ARGV[5] == '') then
  if not g or g.state ~= 'running' then -- an entry that outlived its run
    stop_running(claim, agent)
  end
  return { 'already' }
end
local workflow = call('HGET', claim_key(claim), 'workflow_id')
local asked, waited = g.state == 'awaiting_answer', g.conflict or waits_for_model(g)
if asked then
  close_question(claim, g.result_id)
end
call('HINCRBY', claim_key(claim), 'revision', 1)
g.crashes = (g.crashes or 0) + 1
g.reason = ARGV[7]
local entry
if ARGV[6] == 'retry' then
  g.attempt = g.attempt + 1
  queue_grant(claim, agent, g, at)
  entry = emit('requeue', 'workflow', workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt,
    'reason', ARGV[7])
else
  local failure = cjson.decode(ARGV[8])
  put_artefact(failure, ARGV[9], at)
  g.result_id = failure.id
  end_grant(claim, agent, g, 'failed', at)
  entry = emit('result', 'workflow', workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt,
    'to', 'failed', 'artefact', failure.id, 'type', failure.type, 'structural_type', 'Failure', 'reason', ARGV[7],
    'size', ARGV[10], 'sha256', ARGV[11])
end
if asked or waited then
  weigh(claim, workflow)
end
publish(orchestrator_events, claim)
return { 'ok', entry }
