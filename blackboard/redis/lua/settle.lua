-- Gives the board a mark if it has none. A board that is lost is refused, unless a person
-- adopts it: all that know its mark then take it as it is.
-- KEYS[1] the ledger. ARGV: 1 a mark for a board without one, 2 adopted or empty, 3 the person or command, 4 the mark that the
-- caller knows (empty: none).
-- Replies ok, mark | lost, how, mark.
local now = whole_sight()
local how = whole_loss_since(ARGV[4], now)
if how and ARGV[2] == '' then
  return { 'lost', how, now }
end
local marked = call('HSETNX', instance_key, 'mark', ARGV[1]) == 1
if ARGV[2] ~= '' then
  local before = string.match(now, '^[^:]*:(%d+)')
  local known = string.match(ARGV[4], '^[^:]*:(%d+)') or '0'
  call('HSET', instance_key, 'adopted', string.format('%.0f', math.max(tonumber(before), tonumber(known)) + 1))
end
if marked or ARGV[2] ~= '' then
  emit('settled', 'by', ARGV[3], 'reason', ARGV[2], 'mark', call('HGET', instance_key, 'mark'))
end
return { 'ok', whole_sight() }
