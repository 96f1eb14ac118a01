--!volatile: a lost renewal only means that the lead is up for taking.
-- Extends the lease of the leader.
-- KEYS[1] the ledger. ARGV: 1 holder, 2 epoch, 3 lease in microseconds (0: give it up),
-- 4 the mark that the caller knows (empty: none).
-- Replies ok, behind (the clock was set back; else empty), mark | stale | lost, how, mark.
local now = whole_sight()
local how = whole_loss_since(ARGV[4], now)
if how then
  drop_courses_of(how)
  return { 'lost', how, now }
end
if not leads(ARGV[2]) then
  return { 'stale' }
end
local at, last = clock(), string.match(now, ':(%d+%-%d+)$')
call('SET', leader_key, ARGV[1] .. ' ' .. string.format('%.0f', tonumber(at) + tonumber(ARGV[3])))
return { 'ok', last and is_behind(last, at) and 'behind' or '', now }
