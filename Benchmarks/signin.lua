-- Whole Apple sign-ins: /auth/authorize answered automatically, then /auth/token with the code.
-- Every second request redeems a code that an earlier one brought.
local authorize = "/appleid.apple.com/auth/authorize?response_type=code&state=benchmark"
  .. "&client_id=com.example.web.auto&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback"
local secret = os.getenv("CLIENT_SECRET")
local codes, first, last = {}, 1, 0
local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
local threads = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

function init()
  tokens, failures = 0, 0
end

function request()
  if first > last then return wrk.format("GET", authorize) end
  local code = codes[first]
  codes[first] = nil
  first = first + 1
  return wrk.format("POST", "/appleid.apple.com/auth/token", headers,
    "grant_type=authorization_code&client_id=com.example.web.auto&client_secret=" .. secret
    .. "&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback&code=" .. code)
end

function response(status, headers, body)
  local location = (headers["Location"] or headers["location"])
  if location then
    last = last + 1
    codes[last] = location:match("code=([^&]+)")
  elseif status == 200 and body:find("id_token", 1, true) then
    tokens = tokens + 1
  else
    failures = failures + 1
  end
end

function done(summary, latency, requests)
  local tokens, failures = 0, 0
  for _, thread in ipairs(threads) do
    tokens = tokens + thread:get("tokens")
    failures = failures + thread:get("failures")
  end
  io.write(string.format("RESULT %d %d %.6f\n", tokens, failures, summary.duration / 1e6))
end
