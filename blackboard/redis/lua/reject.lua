-- A person rejects an artefact that waits for approval. That is feedback: a claim is
-- opened with the person's Review as its only one, and decided about like any other.
-- KEYS[1] the ledger. ARGV: 1 artefact id, 2 claim id, 3 the person, as grants name them, 4 Review (JSON), 5 payload,
-- 6 size, 7 hash, 8 the person.
-- Replies ok | already | refused why | miscounted workflow.
local id, claim, review, at = ARGV[1], ARGV[2], cjson.decode(ARGV[4]), clock()
local over = decide_gate(id, review, ARGV[5], at)
if over then
  return over
end
local target = target_of(id)
put_claim({ id = claim, artefact = id, status = 'pending_review', origin = 'artefact', bidders = '[]', context = '[]',
  target = target }, at)
save_grant(claim, ARGV[3], { phase = 'review', attempt = 1, state = 'done', verdict = 'feedback', result_id = review.id,
  queued_at = at, ended_at = at })
emit('reject', 'workflow', target[6], 'claim', claim, 'artefact', id, 'to', 'pending_review', 'result', review.id,
  'by', ARGV[8], 'size', ARGV[6], 'sha256', ARGV[7])
publish(claim_events, claim)
publish(orchestrator_events, claim)
return { 'ok' }
