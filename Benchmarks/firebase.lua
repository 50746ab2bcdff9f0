-- Whole sign-ins with an Apple credential at Firebase: the native authorization, then signInWithIdp with its ID token and
-- the raw nonce. By the real host name, so that Firebase's ID token is signed. Nonces and their hashes come from a file,
-- one pair a line: a pair works once.
local native = "POST /_understudy/v1/apple/authorizations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
  .. "Content-Length: %d\r\n\r\n%s"
local native_body = '{"client":"com.example.app","scopes":["fullName","email"],"account":"ada","state":"%s","nonce":"%s"}'
local sign_in = "POST /v1/accounts:signInWithIdp?key=demo-api-key HTTP/1.1\r\nHost: identitytoolkit.googleapis.com\r\n"
  .. "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
local sign_in_body = '{"requestUri":"http://localhost","postBody":"providerId=apple.com&id_token=%s&nonce=%s",'
  .. '"returnSecureToken":true,"returnIdpCredential":true,"autoCreate":true}'
local credentials, first, last = {}, 1, 0
local threads = {}
local pairs_file = assert(io.open(os.getenv("NONCES")))

function setup(thread)
  table.insert(threads, thread)
end

function init()
  signins, failures = 0, 0
end

function request()
  if first <= last then
    local credential = credentials[first]
    credentials[first] = nil
    first = first + 1
    local body = sign_in_body:format(credential.token, credential.nonce)
    return sign_in:format(#body, body)
  end
  local raw, hash = pairs_file:read("*l"):match("(%S+) (%S+)")
  local body = native_body:format(raw, hash)
  return native:format(#body, body)
end

function response(status, headers, body)
  local token = status == 200 and body:match('"identityToken":"([^"]+)"')
  if token then
    last = last + 1
    credentials[last] = { token = token, nonce = body:match('"state":"([^"]+)"') }
  elseif status == 200 and body:find('"idToken":"', 1, true) then
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
