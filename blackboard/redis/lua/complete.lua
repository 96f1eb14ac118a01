-- Closes a claim as done. Details: {reason}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty).
-- Replies ok, entry | stale leader | stale revision | miscounted workflow.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
local off = c and miscounted(c[3], 'outstanding')
if not c or off then
  return stale or off
end
local ended = close_claim(claim, c, 'complete', d.reason, clock())
local entry = emit('complete', 'workflow', c[3], 'claim', claim, 'from', c[2], 'to', 'complete', 'reason', d.reason,
  'workflow_status', ended, 'waits_for', waits_for(c[3]))
return { 'ok', entry }
