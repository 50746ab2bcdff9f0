-- Makes many grants: an ordered outcome says who authorizes, then /login/oauth/authorize is answered at once. Each of
-- PEOPLE people grants each of CLIENTS apps something; PEOPLE and CLIENTS are environment variables.
-- With one connection for each of wrk's threads (THREADS, 1): an outcome must be there before its authorization comes. Each
-- thread has apps of its own.
local people, clients = tonumber(os.getenv("PEOPLE")), tonumber(os.getenv("CLIENTS"))
local outcome = "POST /_understudy/v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
local body = '{"provider":"github","client":"growth-%d","account":"p%d","outcome":"approve"}'
local authorize = "GET /github.com/login/oauth/authorize?client_id=growth-%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
local step, asked = tonumber(os.getenv("THREADS") or "1"), false
local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init()
  grants, failures = 0, 0
end

function request()
  local client, person = number % clients, math.floor(number / clients) % people
  if asked then
    asked = false
    number = number + step
    return authorize:format(client)
  end
  asked = true
  local text = body:format(client, person)
  return outcome:format(#text, text)
end

function response(status, headers)
  if status == 302 then
    grants = grants + 1
  elseif status ~= 201 then
    failures = failures + 1
  end
  if grants * step >= people * clients then wrk.thread:stop() end
end

function done(summary)
  local grants, failures = 0, 0
  for _, thread in ipairs(threads) do
    grants = grants + thread:get("grants")
    failures = failures + thread:get("failures")
  end
  io.write(string.format("RESULT %d %d %.6f\n", grants, failures, summary.duration / 1e6))
end
