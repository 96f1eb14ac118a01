-- Puts a course on the board, where the scripts of agents and people follow it. See
-- _course.lua. It is no event: the ledger has the decisions that follow from it.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 the digest of the settings that it comes from, 3 open or bids, 4 type of
-- artefacts, or bids, 5 their agent (may be empty), 6 the course (JSON, or steps), 7 the most courses.
-- Replies ok | cleared | stale | refused why.
if not leads(ARGV[1]) then
  return { 'stale' }
end
if call('HGET', courses_key, 'settings') ~= ARGV[2] then
  return { 'refused', 'other settings are in force' }
end
local reply = { 'ok' }
if call('HLEN', courses_key) >= tonumber(ARGV[7]) + 2 then
  local revision = call('HGET', courses_key, 'revision')
  call('DEL', courses_key)
  call('HSET', courses_key, 'revision', revision, 'settings', ARGV[2])
  reply = { 'cleared' }
end
local field = 'B ' .. ARGV[4]
if ARGV[3] == 'open' then
  field = course_field(ARGV[4], ARGV[5])
end
call('HSET', courses_key, field, ARGV[6])
return reply
