-- Whole GitHub sign-ins: /login/oauth/authorize answered automatically, /login/oauth/access_token, GET /user.
-- Every connection's next request is the next step of some sign-in that is under way. Sign-ins take turns with many
-- apps, because an eleventh token of one app would revoke the first.
local apps = 1024
local authorize = "/github.com/login/oauth/authorize?client_id=benchmark-%d&scope=read%%3Auser%%20user%%3Aemail"
  .. "&state=%d&redirect_uri=https%%3A%%2F%%2Fexample.com%%2Fcallback"
local exchange = "client_id=benchmark-%s&client_secret=github-secret-for-tests&code=%s"
local turn = 0
-- Put together here, as wrk.format would build a table of headers for each.
local get = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
local post = "POST /github.com/login/oauth/access_token HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
  .. "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s"
local user = "GET /api.github.com/user HTTP/1.1\r\nHost: localhost\r\nUser-Agent: wrk\r\nAuthorization: Bearer %s\r\n\r\n"
local codes, tokens = { first = 1, last = 0 }, { first = 1, last = 0 }
local threads = {}

local function push(queue, value)
  queue.last = queue.last + 1
  queue[queue.last] = value
end

local function pop(queue)
  if queue.first > queue.last then return nil end
  local value = queue[queue.first]
  queue[queue.first] = nil
  queue.first = queue.first + 1
  return value
end

function setup(thread)
  table.insert(threads, thread)
end

function init()
  signins, failures = 0, 0
end

function request()
  local token = pop(tokens)
  if token then return user:format(token) end
  local code = pop(codes)
  if code then
    local body = exchange:format(code.app, code.text)
    return post:format(#body, body)
  end
  turn = turn % apps + 1
  return get:format(authorize:format(turn, turn))
end

function response(status, headers, body)
  local location = (headers["Location"] or headers["location"])
  if location then
    local text, app = location:match("code=([^&]+)&state=(%d+)")
    push(codes, { text = text, app = app })
    return
  end
  local token = status == 200 and body:match('"access_token":"([^"]+)"')
  if token then
    push(tokens, token)
  elseif status == 200 and body:find('"login":"ada"', 1, true) then
    signins = signins + 1
  else
    failures = failures + 1
  end
end

function done(summary, latency, requests)
  local signins, failures = 0, 0
  for _, thread in ipairs(threads) do
    signins = signins + thread:get("signins")
    failures = failures + thread:get("failures")
  end
  io.write(string.format("RESULT %d %d %.6f\n", signins, failures, summary.duration / 1e6))
end
