-- An artefact gets no claim, because its workflow has grown too large. The
-- Failure that says so is written once per workflow.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 artefact id, 3 reason, 4 Failure (JSON), 5 its payload, 6 size, 7 hash.
-- Replies ok, entry | already | refused (that Failure was tried again: another one is to say so) | stale | miscounted workflow.
if not leads(ARGV[1]) then
  return { 'stale' }
end
if not call('ZSCORE', unclaimed_key, ARGV[2]) then
  return { 'already' }
end
local at = clock()
local failure = cjson.decode(ARGV[4])
local off = miscounted(failure.workflow, 'outstanding')
if off then
  return off
end
if retried_word(failure.workflow, failure.id) then
  return { 'refused', 'its Failure was tried again' }
end
call('ZREM', unclaimed_key, ARGV[2])
local written = {} -- for the ledger, where readers count it
if call('EXISTS', artifact_key(failure.id)) == 0 then
  put_artefact(failure, ARGV[5], at)
  written = { 'result', failure.id, 'result_type', failure.type, 'size', ARGV[6], 'sha256', ARGV[7] }
end
local ended = settle(failure.workflow, at)
local entry = emit('refuse', 'workflow', failure.workflow, 'artefact', ARGV[2], 'reason', ARGV[3], 'workflow_status', ended,
  'waits_for', waits_for(failure.workflow), unpack(written))
return { 'ok', entry }
