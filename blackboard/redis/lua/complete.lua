-- Closes a claim as done. Details: {reason}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty).
-- Replies ok | stale leader | stale revision.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
if not c then
  return stale
end
local ended = close_claim(claim, c, 'complete', d.reason, clock())
emit('complete', 'workflow', c[3], 'claim', claim, 'from', c[2], 'to', 'complete', 'reason', d.reason,
  'workflow_status', ended)
return { 'ok' }
