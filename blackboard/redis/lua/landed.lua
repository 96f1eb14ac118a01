-- A person landed a result: for the record, and for a landing that waits until the branch has it.
-- KEYS[1] the ledger. ARGV: 1 the word of this landing, 2 workflow, 3 artefact, 4 branch, 5 its commit before (empty: it had none),
-- 6 its commit now, 7 how, 8 the person, 9 who moved the branch earlier, 10 when, 11 how (all empty: it was moved now, or the
-- repository does not tell).
-- Replies ok | already.
if call('HGET', instance_key, 'landed') == ARGV[1] then
  return { 'already' }
end
call('HSET', instance_key, 'landed', ARGV[1])
emit('land', 'workflow', ARGV[2], 'artefact', ARGV[3], 'branch', ARGV[4], 'base', ARGV[5], 'commit', ARGV[6], 'how', ARGV[7], 'by', ARGV[8],
  'moved_by', ARGV[9], 'moved_at', ARGV[10], 'moved_how', ARGV[11])
publish(orchestrator_events, '')
return { 'ok' }
