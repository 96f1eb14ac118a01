-- A writer notes the commit and branch of the working tree before its tool runs, so
-- that the tree can be restored after a crash.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 holder, 4 commit, 5 branch.
-- Replies ok | refused why.
local field = 'hold:' .. ARGV[1] .. ':' .. ARGV[2]
local s = call('HGET', workspace_key, field)
local w = s and cjson.decode(s)
if not w or w.holder ~= ARGV[3] then
  return { 'refused', 'the workspace is not held' }
end
w.base, w.branch = ARGV[4], ARGV[5]
call('HSET', workspace_key, field, cjson.encode(w))
return { 'ok' }
