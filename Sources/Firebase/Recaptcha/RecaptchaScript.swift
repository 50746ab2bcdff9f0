import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

// The script of Google's reCAPTCHA, which the web SDKs load from www.google.com, and the tokens that it gives to a page:
// https://cloud.google.com/recaptcha/docs/instrument-web-pages
//
// Quirks: nobody is asked to prove anything. A token is for a site key and an action, and works once, within two
// minutes (https://cloud.google.com/recaptcha/docs/create-assessment-website). A test may ask for one with a `score`,
// which Google's own call doesn't take.

/// A reCAPTCHA token that a page has got from the daemon's reCAPTCHA script and that no request has used yet.
struct RecaptchaToken: Row {
    static let table = Table<RecaptchaToken>("firebase.recaptchaToken", limit: 10_000, droppedAt: { $0.expires })
    static let lifetime = TimeSpan.minutes(2)

    let token: String
    let expires: Instant
    let siteKey: String
    let action: String
    /// The token's score from 0 (a bot) to 1 (a person); `nil` for the project's usual score.
    let score: Double?

    var key: String { token }
}

extension FirebaseProvider {
    static let recaptchaHost = "www.google.com"

    var recaptchaScripts: [Endpoint] {
        let host = [FirebaseProvider.recaptchaHost]
        let step = SignInStep(.page, "load reCAPTCHA")
        func script(_ path: String, isEnterprise: Bool) -> Endpoint {
            Endpoint("GET", host, path, title: "the script of reCAPTCHA", step: step, cors: .any, .page) { exchange in
                let onload = exchange.request.queryForm["onload"] ?? ""
                let google = exchange.address.base(of: FirebaseProvider.recaptchaHost)
                return .browserScript(
                    Scripts.recaptcha, [.string(google), .bool(isEnterprise), .string(onload)])
            }
        }
        return [
            script("/recaptcha/enterprise.js", isEnterprise: true), script("/recaptcha/api.js", isEnterprise: false),
            Endpoint(
                "POST", host, "/recaptcha/enterprise/reload", title: "get a reCAPTCHA token",
                step: SignInStep(.api, "get a reCAPTCHA token"), cors: .any, .api, recaptchaToken),
        ]
    }

    private func recaptchaToken(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let (siteKey, action) = (form["k"] ?? "", form["action"] ?? "")
        let score = form["score"].map { Double($0) ?? -1 }
        guard (1...256).contains(siteKey.utf8.count), action.utf8.count <= 256, (0...1).contains(score ?? 0) else {
            return FirebaseError.invalidArgument(
                "send k with the site key, action, and perhaps score from 0 to 1, in a form"
            ).response(.status)
        }
        let token = try exchange.world.update { tables in
            let token = RecaptchaToken(
                token: "0cAFcWeA" + Base64URL.encode(tables.random.bytes(96)),
                expires: tables.now + RecaptchaToken.lifetime, siteKey: siteKey, action: action, score: score)
            tables.put(token)
            return token.token
        }
        return FirebaseProvider.json(["token": .string(token)])
    }
}
