--!readonly
-- Looks whether the board is the one that the caller knows, and how far it is.
-- KEYS[1] the ledger. ARGV: 1 the mark that the caller knows (empty: none).
-- Replies ok, mark | lost, how, mark.
local now = whole_sight()
local how = whole_loss_since(ARGV[1], now)
if how then
  return { 'lost', how, now }
end
return { 'ok', now }
