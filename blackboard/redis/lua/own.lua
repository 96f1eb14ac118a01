-- The board belongs to a workspace, if it belongs to nobody, to that workspace already, or to the one from which a person
-- takes it over. A new mark keeps the parts of the workspace of before from the board.
-- KEYS[1] the ledger. ARGV: 1 the id of the workspace, 2 its path, 3 its host, 4 its user, 5 the id of the workspace of before
-- (empty: it is taken from nobody), 6 a new mark (empty: the board keeps its mark).
-- Replies ok | already | owned, id, path, host, user.
local has = call('HMGET', instance_key, 'owner', 'owner_workspace', 'owner_host', 'owner_user')
local before = has[1] or ''
if before ~= '' and before ~= ARGV[1] and before ~= ARGV[5] then
  return { 'owned', before, has[2] or '', has[3] or '', has[4] or '' }
end
if before == ARGV[1] and has[2] == ARGV[2] and has[3] == ARGV[3] and has[4] == ARGV[4] then
  return { 'already' }
end
call('HSET', instance_key, 'owner', ARGV[1], 'owner_workspace', ARGV[2], 'owner_host', ARGV[3], 'owner_user', ARGV[4])
if before ~= '' and before ~= ARGV[1] then
  if ARGV[6] ~= '' then
    call('HSET', instance_key, 'mark', ARGV[6])
  end
  emit('settled', 'by', ARGV[4], 'reason', 'taken over from ' .. (has[2] or ''), 'mark', call('HGET', instance_key, 'mark') or '')
end
return { 'ok' }
