-- Takes the lead when nobody has it, its holder's time is over, or its holder sat
-- on the same seat, where only one can sit. Every change of hands raises the
-- epoch, which fences whoever led before.
-- KEYS[1] the ledger. ARGV: 1 holder, 2 lease in microseconds, 3 seat (what the holder's name begins with, or empty).
-- Replies ok epoch | already epoch | wait, microseconds left, holder.
local at = tonumber(clock())
local s = call('GET', leader_key)
local holder, deadline = '', 0
if s then
  holder, deadline = string.match(s, '^(%S+) (%d+)$')
  deadline = tonumber(deadline) or 0
end
if holder == ARGV[1] and deadline > at then
  return { 'already', call('GET', epoch_key) }
end
local seat = ARGV[3]
if deadline > at and not (seat ~= '' and string.sub(holder, 1, #seat) == seat) then
  return { 'wait', string.format('%.0f', deadline - at), holder }
end
call('SET', leader_key, ARGV[1] .. ' ' .. string.format('%.0f', at + tonumber(ARGV[2])))
local epoch = tostring(call('INCR', epoch_key))
emit('leader', 'to', ARGV[1], 'from', holder or '', 'epoch', epoch)
return { 'ok', epoch }
