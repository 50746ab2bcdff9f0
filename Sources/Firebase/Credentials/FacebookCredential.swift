import HTTPServer
import JOSE
import JSON
import EmulatorCore

// A credential of facebook.com: an access token; from Limited Login an ID token with the raw nonce; or a code from the web
// flow. https://firebase.google.com/docs/auth/ios/facebook-login

struct FacebookSource: ClientSource {
    static let id = "facebook.com"
    static let title = "Facebook"
    static let section = "facebook"
    static let about = "Facebook."
    static let keyOwner: KeyOwner? = KeyOwner("facebook")

    /// The issuers of Limited Login's ID tokens.
    static let issuers = ["https://www.facebook.com", "https://facebook.com", "https://limited.facebook.com"]

    private static let redemption = CodeRedemption(
        host: "graph.facebook.com", path: "/oauth/access_token", sendsGrantType: false)

    let isEnabled: Bool
    let appID: String
    let appSecret: String?

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        appID = fields("appID", .text(.nonEmpty), "The app ID.")
        appSecret = fields.optional("appSecret", .text(.nonEmpty), "The app secret.")
    }

    var clientID: String { appID }
    var clientSecret: String? { appSecret }

    static func seed(of config: JSONObject) -> JSONObject {
        JSONObject(["appID": config["clientId"], "appSecret": config["clientSecret"]])
    }

    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences) {
        let apps = KnownNames(references.root["facebook"]?["apps"], "appID")
        references.expect(settings["appID"], among: apps, "app", in: " in facebook.apps")
    }

    static func federatedID(_ rawID: String) -> String { "http://facebook.com/\(rawID)" }

    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization {
        let own = ["public_profile", "email"]
        return WebAuthorization(
            host: "www.facebook.com", path: "/dialog/oauth",
            fields: [
                ("client_id", appID), ("response_type", "code"),
                ("scope", (own + scopes.filter { !own.contains($0) }).joined(separator: ",")),
            ])
    }

    func identity(of credential: Credential, in call: FirebaseCall) async throws -> FederatedIdentity {
        let secret = secret(in: call)
        if let idToken = credential["id_token"], credential["access_token"] == nil {
            return try await limitedIdentity(idToken, credential, call)
        }
        var text = credential["access_token"]
        var redeemed = JSONObject()
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            redeemed = try await FacebookSource.redemption
                .tokens(code: code, redirectURI: redirectURI, client: appID, secret: secret, in: call)
            text = redeemed["access_token"]?.string
        }
        guard let text else { throw FirebaseProvider.noCredential(credential) }
        let query = Form(fields: [
            Form.Field(name: "input_token", value: text),
            Form.Field(name: "access_token", value: "\(appID)|\(secret)"),
        ])
        let check = await call.exchange.fetch("GET", "graph.facebook.com", "/debug_token?\(query.encoded)")
        let data = check.document?["data"]
        guard data?["is_valid"]?.bool == true else {
            let body =
                data?["error"].map { JSONValue.object(JSONObject(["error": $0])).text }
                ?? check.text
            throw FirebaseError.invalidIdP(
                "Unsuccessful debug_token response from Facebook: \(body)",
                Diagnosis(
                    "Facebook says to app \"\(appID)\" that the access token isn't valid\(check.becauseOfDiagnosis)"))
        }
        let details = ["age_range", "birthday", "gender", "location"]
        let fields = (["id,name,email,first_name,last_name,picture.type(normal)"] + details).joined(separator: ",")
        let proof = Hex.encode(Digest.hmacSHA256(key: Array(secret.utf8), Array(text.utf8)))
        let token = Form(fields: [
            Form.Field(name: "access_token", value: text), Form.Field(name: "appsecret_proof", value: proof),
        ]).encoded
        let answer = await call.exchange.fetch("GET", "graph.facebook.com", "/me?fields=\(fields)&\(token)")
        let user = answer.document
        guard let id = user?["id"]?.string else {
            throw FirebaseError.invalidIdP(
                "Unable to retrieve user's identity from facebook.com response, JSON response does not contain id: "
                    + answer.text,
                Diagnosis("Facebook answered GET /me with status \(answer.status) and no user ID"))
        }
        var identity = FederatedIdentity(providerId: "facebook.com", rawId: id)
        identity.keep(redeemed)
        identity.email = user?["email"]?.string
        identity.displayName = user?["name"]?.string
        identity.firstName = user?["first_name"]?.string
        identity.lastName = user?["last_name"]?.string
        // The picture's address: https://github.com/firebase/flutterfire/issues/3839,
        // https://github.com/firebase/firebase-ios-sdk/issues/6829
        identity.photoUrl = "https://graph.facebook.com/\(id)/picture"
        identity.accessToken = text
        identity.rawUserInfo = FacebookSource.rawUserInfo(user, granted: data?["scopes"]?.array ?? [], details)
        return identity
    }

    /// Returns a Facebook profile and the granted permissions as Firebase passes them on to the app. The members have
    /// the same order as in production. `details` are members of the profile that need further permissions:
    /// <https://github.com/firebase/firebase-js-sdk/issues/2158>.
    private static func rawUserInfo(_ user: JSONValue?, granted: [JSONValue], _ details: [String]) -> String {
        var info = JSONObject()
        for name in ["name", "last_name"] { info[name] = user?[name] }
        info["granted_scopes"] = .array(granted.compactMap(\.string).sorted().map { .string($0) })
        for name in ["id", "first_name", "email"] + details + ["picture"] { info[name] = user?[name] }
        return JSONValue.object(info).text
    }

    /// Checks an ID token of Facebook's Limited Login, and returns the person's identity:
    /// <https://firebase.google.com/docs/auth/ios/facebook-login#implement_facebook_limited_login>
    private func limitedIdentity(
        _ text: String, _ credential: Credential, _ call: FirebaseCall
    ) async throws -> FederatedIdentity {
        let rule = IDTokenRule(
            keys: (host: "limited.facebook.com", path: "/.well-known/oauth/openid/jwks/"),
            issuers: FacebookSource.issuers, audiences: [appID])
        let token = try await call.verify(text, rule)
        let subject = token.claims["sub"]?.string ?? ""
        var identity = FederatedIdentity(providerId: "facebook.com", rawId: subject)
        identity.nonce = try call.checkNonce(
            of: token, from: FacebookSource.self, subject: subject, rawNonce: credential["nonce"])
        identity.email = token.claims["email"]?.string
        identity.displayName = token.claims["name"]?.string
        identity.firstName = token.claims["given_name"]?.string
        identity.lastName = token.claims["family_name"]?.string
        identity.photoUrl = token.claims["picture"]?.string
        identity.idToken = text
        identity.rawUserInfo = JSONValue.object(token.claims).text
        return identity
    }
}
