-- The laws of all scripts. The other shared files are _keys.lua, which names keys and
-- channels, _artefact.lua, _grant.lua and _claim.lua; lua.go has their order.
--
-- The linker (lua.go) puts in front of a script the definitions that the script names,
-- and those that these name; a script pays for no others. So:
--   - A definition is a top-level `local name` or `local function name` and the lines
--     up to the next one. Nothing else stands at the top level of a shared file.
--   - A definition uses earlier definitions only.
--   - A name counts wherever it occurs as a word, also in a text.
--
-- A script is atomic. It checks its assumptions, writes, appends ONE entry to the
-- ledger and publishes its notices. It may be repeated. It decides nothing: policy is
-- Go. An error between two writes would leave half a move; a notice never raises one. After each script these hold:
--   - `outstanding` of a workflow counts its artefacts without a claim, its open claims,
--     its gates and its open landing. The workflow ends when it becomes 0.
--   - `gates`, `questions`, `suspended`, `blocked`, `failures` and `terminals` of a workflow count
--     its open gates and questions, its claims, gates and landing that only people can take on,
--     its claims that wait for a Conflict alone, and its Failures and Terminals.
--   - `others` counts a workflow's artefacts that are neither Standard nor Terminal, from the Sett on that has it.
--   - Each artefact is in the lists of its type, agent and workflow, and among the children of its
--     sources; where there is a second version of it, all versions are in its thread.
--   - A field that has its usual value does not exist. store/usual.go has these values.
--   - Each open claim is in claims:open and, for each bid that is missing, in the
--     agent's index `due`; each queued or running grant is in its agent's `grants`, unless it waits for a Conflict.
--   - A grant has one holder at most. A result counts only with the grant's present
--     attempt and holder.
--   - Each running grant is in the index `running`, with its holder.
--
-- Replies are arrays. Their first element is the status:
--   ok        done now
--   already   the same move was made before; nothing was written
--   refused   contradicts the records (second element: why)
--   stale     the caller's epoch or revision is old
--   stopping  the instance takes no new work
--   miscounted  a count would fall below zero; nothing was written (second element: the workflow)
--   lost      the board is not the one that the caller knows (further elements: in which way, its mark)
local call = redis.call

-- Sends a notice. Notices are hints (see redis.Board.Subscribe): where the user may not publish, the move goes on,
-- and its listeners find the work at their next look.
local function publish(channel, text) redis.pcall('PUBLISH', channel, text) end

-- The server's time in microseconds since 1970, as a string: exact as the score of a
-- sorted set, and safe from cjson, which prints 14 digits only.
local function clock()
  local t = call('TIME')
  return t[1] .. string.format('%06d', tonumber(t[2]))
end

-- Whether a time is more than a second before that of an entry.
local function is_behind(entry, at) return tonumber(string.match(entry, '^%d+')) * 1000 - tonumber(at) > 1000000 end

-- Whether the epoch, a number and its holder, is that of the leader.
local function leads(epoch)
  return call('GET', epoch_key) == epoch
end

-- The mark of the board, how often it was adopted, the length of its ledger, the number
-- of the newest epoch and the id of the ledger's last entry, joined by colons. Without a
-- mark the first is empty. The scripts of agents, whose users may not read the ledger,
-- give no length and no entry.
local function sight(entries, last)
  local m = call('HMGET', instance_key, 'mark', 'adopted')
  local number = string.match(call('GET', epoch_key) or '', '^%d+') or '0'
  return (m[1] or '') .. ':' .. (m[2] or '0') .. ':' .. (entries or '0') .. ':' .. number .. ':' .. (last or '')
end

-- The sight with the ledger.
local function whole_sight()
  local newest = call('XREVRANGE', events_key, '+', '-', 'COUNT', '1')[1]
  return sight(call('XLEN', events_key), newest and newest[1])
end

-- In which way the board is not the one of an earlier sight (empty: there was none): it
-- is unmarked, foreign or older. Nil: it is.
local function loss_since(known, now)
  local id, adopted, entries, number = string.match(known or '', '^([^:]+):(%d+):(%d+):(%d+)')
  if not id then
    return nil
  end
  local has, has_adopted, has_entries, has_number = string.match(now, '^([^:]*):(%d+):(%d+):(%d+):')
  if has == '' then
    return 'unmarked'
  elseif has ~= id then
    return 'foreign'
  elseif tonumber(has_adopted) > tonumber(adopted) then
    return nil -- a person knows, and took it as it is
  elseif tonumber(has_adopted) < tonumber(adopted) or tonumber(has_entries) < tonumber(entries) or
      tonumber(has_number) < tonumber(number) then
    return 'older'
  end
  return nil
end

-- The same, also for an older copy that has as many entries again, but others.
local function whole_loss_since(known, now)
  local how = loss_since(known, now)
  local adopted, last = string.match(known or '', '^[^:]+:(%d+):%d+:%d+:([%d-]+)$')
  if not how and last and string.match(now, '^[^:]*:(%d+)') == adopted and #call('XRANGE', events_key, last, last) == 0 then
    how = 'older'
  end
  return how
end

-- The events that become one entry (see together); nil: each is an entry.
local collected = nil

-- An event without its empty values: an absent one says the same to all readers.
local function without_empty(given)
  local event, n = { given[1] }, 1
  for i = 3, #given, 2 do
    if given[i] ~= '' then
      event[n + 1], event[n + 2] = given[i - 1], given[i]
      n = n + 2
    end
  end
  return event
end

-- The digest of the artefact that a move has stored, but for its payload: for the move's next event, which has that of the payload.
local stored_record = nil

-- Appends an event to the ledger: its kind, and names and values in turn.
-- Returns the entry's id, which the moves of a leader end
-- their reply with: it knows the board by it. Nil: it is collected.
local function emit(...)
  local event = { ... }
  if stored_record then
    event[#event + 1], event[#event + 2] = 'record', stored_record
    stored_record = nil
  end
  if collected then
    collected[#collected + 1] = event
    return nil
  end
  return call('XADD', events_key, '*', 'kind', unpack(without_empty(event)))
end

-- The person and the digest of the settings of which a policy is, where the last sett up that changed them wants it so.
local function settings_of(field, value)
  local s = call('HMGET', instance_key, field, 'settings_by', 'settings')
  if s[1] == value then
    return s[2] or '', s[3] or ''
  end
  return '', ''
end

-- A value as followers writes it.
local function escaped(value)
  return (string.gsub(value, '[\t\n\\]', { ['\t'] = '\\t', ['\n'] = '\\n', ['\\'] = '\\\\' }))
end

-- Whether a text has a character that escaped changes. A plain search is many times faster than a pattern.
local function needs_escape(text)
  return string.find(text, '\t', 1, true) or string.find(text, '\n', 1, true) or string.find(text, '\\', 1, true)
end

-- The events behind the first as text, a line for each: its kind, and NAME=VALUE for each
-- field, with tabs between them. A name alone has the value that it had last in this entry.
-- An event has the workflow and the claim of the one before, unless it names another or,
-- with no value, none. Nearly no value needs to be escaped: where one does, `escape` is set and all are.
local function followers(all, escape)
  local text, n, values, last, first = {}, 0, {}, {}, all[1]
  for i = 3, #first, 2 do
    if first[i] ~= '' then
      last[first[i - 1]] = first[i]
    end
  end
  local workflow, claim = last.workflow, last.claim
  for e = 2, #all do
    local event, w, c = all[e], nil, nil
    text[n + 1], text[n + 2] = e > 2 and '\n' or '', event[1]
    n = n + 2
    for i = 3, #event, 2 do
      local name, value, as_before = event[i - 1], event[i], false
      if value ~= '' then
        if name == 'workflow' then
          w, as_before = value, value == workflow
        elseif name == 'claim' then
          c, as_before = value, value == claim
        end
        if as_before then
          last[name] = value
        elseif last[name] == value then
          text[n + 1], text[n + 2] = '\t', name
          n = n + 2
        else
          last[name] = value
          if type(value) == 'number' then -- table.concat would round it
            value = string.format('%.17g', value)
          end
          values[#values + 1] = value
          text[n + 1], text[n + 2], text[n + 3], text[n + 4] = '\t', name, '=', escape and escaped(value) or value
          n = n + 4
        end
      end
    end
    if workflow and not w then
      n = n + 1
      text[n] = '\tworkflow='
    end
    if claim and not c then
      n = n + 1
      text[n] = '\tclaim='
    end
    workflow, claim = w, c
  end
  if not escape and needs_escape(table.concat(values)) then
    return followers(all, true)
  end
  return table.concat(text)
end

-- Makes moves, and appends what they emit as one entry: the first event, and the others
-- in its field `then`. The events have ids in sequence, of which the last is the entry's:
-- it is made of the time, since most users may not read the ledger. Where the clock was
-- set back each event is an entry.
local function together(at, moves)
  collected = {}
  local fine, failure = pcall(moves)
  local all, whole = collected, false
  collected = nil
  if #all > 1 and #all <= 500 then
    local id = string.sub(at, 1, -4) .. '-' .. string.format('%d', tonumber(string.sub(at, -3)) * 1000 + #all - 1)
    local entry = without_empty(all[1])
    entry[#entry + 1] = 'then'
    entry[#entry + 1] = followers(all)
    whole = pcall(call, 'XADD', events_key, id, 'kind', unpack(entry))
  end
  if not whole then
    for _, event in ipairs(all) do
      emit(unpack(event))
    end
  end
  if not fine then
    error(failure, 0)
  end
end

-- A part of a record; nil when it is broken. A move that ends a claim must not fail
-- on a broken part, half done and at every attempt.
local function decoded(s)
  local fine, v = pcall(cjson.decode, s or '')
  return fine and type(v) == 'table' and v or nil
end

-- Ids are indexed by their last two characters, without them.
local function index_id(id)
  call('RPUSH', endings_key(string.sub(id, -2)), string.sub(id, 1, -3))
end
