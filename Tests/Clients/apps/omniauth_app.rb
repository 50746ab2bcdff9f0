# omniauth-github in a Rack app, and someone who signs in. Prints what the app learns. GITHUB_AT is where GitHub is, for an
# app that is told so.
require "json"
require "net/http"
require "rack"
require "omniauth"
require "omniauth-github"

OmniAuth.config.allowed_request_methods = [:get]
OmniAuth.config.silence_get_warning = true
OmniAuth.config.logger = Logger.new(IO::NULL)

place = ENV["GITHUB_AT"]
options = place ? { client_options: {
  site: "#{place}/api/v3", authorize_url: "#{place}/login/oauth/authorize", token_url: "#{place}/login/oauth/access_token"
} } : {}

app = Rack::Builder.new do
  use Rack::Session::Cookie, secret: "a secret of this app, which is long enough for a cookie that is signed with it."
  use OmniAuth::Builder do
    provider :github, "Iv1.0123456789abcdef", ENV.fetch("GITHUB_SECRET"), scope: "user:email",
             redirect_uri: "http://localhost:3000/callback", callback_path: "/callback", **options
  end
  run lambda { |env|
    told = env["omniauth.auth"]
    [200, {}, [told ? told.info.to_h.slice("nickname", "email").to_json : "failed: #{env['QUERY_STRING']}"]]
  }
end.to_app

browser = Rack::MockRequest.new(app)
begun = browser.get("http://localhost:3000/auth/github")
cookie = begun["Set-Cookie"].split(";").first

# The person's browser, which follows GitHub's redirects to the app's callback.
address = URI(begun["Location"])
until address.host == "localhost" && address.port == 3000
  answer = Net::HTTP.get_response(address)
  raise answer.body unless answer["Location"]
  address = URI.join(address, answer["Location"])
end
puts browser.get(address.to_s, "HTTP_COOKIE" => cookie).then { |answer| answer["Location"] || answer.body }
