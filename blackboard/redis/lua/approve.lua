-- A person approves an artefact, which counts from now on.
-- KEYS[1] the ledger. ARGV: 1 artefact id, 2 Review (JSON), 3 payload, 4 size, 5 hash, 6 the person.
-- Replies ok | already | refused why | miscounted workflow.
local id, review, at = ARGV[1], cjson.decode(ARGV[2]), clock()
local over = decide_gate(id, review, ARGV[3], at)
if over then
  return over
end
local a = call('HMGET', artifact_key(id), 'workflow_id', 'structural_type', 'created_at')
local ended = ''
if a[2] == 'Terminal' then
  call('HINCRBY', workflow_key(a[1]), 'terminals', 1)
  call('HSET', workflow_key(a[1]), 'terminal_id', id)
  ended = settle(a[1], at)
else
  call('ZADD', unclaimed_key, a[3], id)
  publish(orchestrator_events, '+' .. id)
end
emit('approve', 'workflow', a[1], 'artefact', id, 'result', review.id, 'by', ARGV[6], 'size', ARGV[4], 'sha256', ARGV[5],
  'workflow_status', ended, 'waits_for', waits_for(a[1]))
return { 'ok' }
