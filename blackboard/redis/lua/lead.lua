-- Takes the lead when it is free, its lease is over, or its holder has the same seat,
-- which only one process can have. A lease that goes on for longer than one from now is
-- by a clock that was set back since: it is cut to that. Every change makes a new epoch,
-- which fences the leader before. An epoch is a number and the holder, compared
-- together. The number is the server's time or more: a server that forgot the last lead
-- in a failover, or all it had, gives out no epoch again.
-- KEYS[1] the ledger. ARGV: 1 holder, 2 lease in microseconds, 3 seat (prefix of the holder's name, or empty),
-- 4 the build of sett that would lead, 5 the mark that the caller knows (empty: none).
-- Replies ok, epoch, mark | already, epoch, mark | wait, microseconds left, holder | lost, how, mark.
local now = whole_sight()
local how = whole_loss_since(ARGV[5], now)
if how then
  drop_courses_of(how)
  return { 'lost', how, now }
end
local at, lease = tonumber(clock()), tonumber(ARGV[2])
local s = call('GET', leader_key)
local holder, deadline = '', 0
if s then
  holder, deadline = string.match(s, '^(%S+) (%d+)$')
  deadline = tonumber(deadline) or 0
end
local last = call('GET', epoch_key) or ''
local number = tonumber(string.match(last, '^%d+') or 0)
if holder == ARGV[1] and deadline > at and string.match(last, ' (%S+)$') == holder then
  return { 'already', last, now }
end
local seat = ARGV[3]
if deadline > at and holder ~= ARGV[1] and not (seat ~= '' and string.sub(holder, 1, #seat) == seat) then
  if deadline > at + lease then
    deadline = at + lease
    call('SET', leader_key, holder .. ' ' .. string.format('%.0f', deadline))
  end
  return { 'wait', string.format('%.0f', deadline - at), holder }
end
call('SET', leader_key, ARGV[1] .. ' ' .. string.format('%.0f', at + lease))
local epoch = string.format('%.0f', math.max(at, number + 1))
call('SET', epoch_key, epoch .. ' ' .. ARGV[1])
reset_courses('') -- the new leader may decide otherwise
pcall(count_suspended) -- a record that it cannot read must keep nobody from leading
emit('leader', 'to', ARGV[1], 'from', holder or '', 'epoch', epoch, 'sett', ARGV[4])
return { 'ok', epoch .. ' ' .. ARGV[1], whole_sight() }
