-- Asks which commands the user may not make. It writes nothing.
-- KEYS: none, for the user may lack the right to them. ARGV: 1 commands, each as its words (JSON).
-- Replies ok, and the places of those commands, from 1; negative: there is no such command. A server before Redis 7 does not say: none.
local may, refused = redis.acl_check_cmd, { 'ok' }
for place, one in ipairs(may and cjson.decode(ARGV[1]) or {}) do
  local known, is = pcall(may, unpack(one))
  if not known then -- its operator gave it another name, or none
    refused[#refused + 1] = tostring(-place)
  elseif not is then
    refused[#refused + 1] = tostring(place)
  end
end
return refused
