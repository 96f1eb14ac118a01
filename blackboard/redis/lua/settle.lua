-- Gives the board a mark if it has none. A board that is lost is refused, unless a person
-- adopts it: all that know its mark then take it as it is. The entry has the way in which it is lost, and its sight beside the
-- one that the caller knows.
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
  local mark, seen = call('HGET', instance_key, 'mark'), {}
  local had, known_entries, known_last = string.match(ARGV[4], '^([^:]+):%d+:(%d+):%d+:?([%d-]*)$')
  if ARGV[2] ~= '' and had then
    local entries, last = string.match(now, '^[^:]*:%d+:(%d+):%d+:([%d-]*)$')
    seen = { 'loss', how or '', 'entries', entries, 'last', last, 'known_entries', known_entries, 'known_last', known_last,
      'known_mark', had ~= mark and had or '' }
  end
  emit('settled', 'by', ARGV[3], 'reason', ARGV[2], 'mark', mark, unpack(seen))
end
return { 'ok', whole_sight() }
