-- The server's clock is behind the ledger's last entry: it was set back, and no entry has an earlier time than the one
-- before it. Says the time by the clock; again after other entries, each of which so has a time after it.
-- KEYS[1] the ledger. ARGV: 1 epoch.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local last, at = call('XREVRANGE', events_key, '+', '-', 'COUNT', '1')[1], clock()
if not last or not is_behind(last[1], at) or last[1] == call('HGET', instance_key, 'clock_told') then
  return { 'already' }
end
local entry = emit('clock', 'at', at, 'behind_us', string.format('%.0f', tonumber(string.match(last[1], '^%d+')) * 1000 - tonumber(at)))
call('HSET', instance_key, 'clock_told', entry)
return { 'ok', entry }
