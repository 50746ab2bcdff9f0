-- Whole GitHub sign-ins that end with the grant's end: /login/oauth/authorize answered automatically,
-- /login/oauth/access_token, DELETE /applications/CLIENT/grant. For one connection; sign-ins take turns with many
-- apps.
local apps = 1000
local authorize = "GET /github.com/login/oauth/authorize?client_id=revoked-%d&state=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
local post = "POST /github.com/login/oauth/access_token HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
  .. "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s"
local exchange = "client_id=revoked-%s&client_secret=github-secret-for-tests&code=%s"
local revoke = "DELETE /api.github.com/applications/revoked-%s/grant HTTP/1.1\r\nHost: localhost\r\nUser-Agent: wrk\r\n"
  .. "Authorization: Basic %s\r\nContent-Length: %d\r\n\r\n%s"
local waiting = { first = 1, last = 0 }
local turn = 0
local threads = {}

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local function base64(text)
  local digits = {}
  for place = 1, #text, 3 do
    local a, b, c = text:byte(place, place + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    for shift, index in ipairs({ 262144, 4096, 64, 1 }) do
      local digit = math.floor(bits / index) % 64
      local missing = (shift == 3 and not b) or (shift == 4 and not c)
      table.insert(digits, missing and "=" or alphabet:sub(digit + 1, digit + 1))
    end
  end
  return table.concat(digits)
end

function setup(thread)
  table.insert(threads, thread)
end

function init()
  ended, failures = 0, 0
end

function request()
  if waiting.first <= waiting.last then
    local next = waiting[waiting.first]
    waiting[waiting.first] = nil
    waiting.first = waiting.first + 1
    return next
  end
  turn = turn % apps + 1
  return authorize:format(turn, turn)
end

function response(status, headers, body)
  local next
  local code, app = ((headers["Location"] or headers["location"]) or ""):match("code=([^&]+)&state=(%d+)")
  local token = status == 200 and body:match('"access_token":"([^"]+)"')
  if code then
    local form = exchange:format(app, code)
    next = post:format(#form, form)
    current = app
  elseif token then
    local json = '{"access_token":"' .. token .. '"}'
    next = revoke:format(current, base64("revoked-" .. current .. ":github-secret-for-tests"), #json, json)
  elseif status == 204 then
    ended = ended + 1
  else
    failures = failures + 1
  end
  if next then
    waiting.last = waiting.last + 1
    waiting[waiting.last] = next
  end
end

function done(summary)
  local ended, failures = 0, 0
  for _, thread in ipairs(threads) do
    ended = ended + thread:get("ended")
    failures = failures + thread:get("failures")
  end
  io.write(string.format("RESULT %d %d %.6f\n", ended, failures, summary.duration / 1e6))
end
