--!volatile: the next one comes in a moment.
-- An agent's heartbeat.
-- KEYS[1] the ledger. ARGV: 1 agent, 2 incarnation, 3 time to live in microseconds.
-- Replies ok.
call('SET', alive_key(ARGV[1]), ARGV[2] .. ' ' .. string.format('%.0f', tonumber(clock()) + tonumber(ARGV[3])))
return { 'ok' }
