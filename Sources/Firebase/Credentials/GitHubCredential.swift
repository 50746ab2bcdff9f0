import HTTPServer
import JOSE
import JSON
import EmulatorCore

// A credential of github.com: an access token, or a code from the web flow.
// https://firebase.google.com/docs/auth/ios/github-auth
//
// Quirks: GitHub's own check of the token comes first, with the project's client ID and secret, so a token of another
// app, an expired one and an authorization code all end in GitHub's 404.

struct GitHubSource: ClientSource {
    static let id = "github.com"
    static let title = "GitHub"
    static let section = "github"
    static let about = "GitHub."

    private static let redemption = CodeRedemption(
        host: "github.com", path: "/login/oauth/access_token",
        headers: [(name: "Accept", value: "application/json")], sendsGrantType: false)

    let isEnabled: Bool
    let clientID: String
    let clientSecret: String?

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
        clientSecret = fields.optional("clientSecret", .text(.nonEmpty), "The client secret.")
    }

    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences) {
        let section = references.root["github"]
        references.expect(
            settings["clientID"],
            among: KnownNames(section?["oauthApps"], "clientID") + KnownNames(section?["githubApps"], "clientID"),
            "OAuth app", in: " in github.oauthApps")
    }

    /// Returns the URL that Firebase's answers have in `federatedId` for a GitHub user ID. Only older documentation
    /// shows this URL.
    static func federatedID(_ rawID: String) -> String { "http://github.com/\(rawID)" }

    /// Returns the request to GitHub's authorization endpoint that begins a sign-in in the browser. Without `scopes`,
    /// Firebase asks for the person's e-mail addresses (`user:email`), which isn't documented.
    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization {
        WebAuthorization(
            host: "github.com", path: "/login/oauth/authorize",
            fields: [
                ("client_id", clientID), ("scope", (scopes.isEmpty ? ["user:email"] : scopes).joined(separator: " ")),
            ])
    }

    func identity(of credential: Credential, in call: FirebaseCall) async throws(FirebaseError) -> FederatedIdentity {
        let secret = secret(in: call)
        var text = credential["access_token"]
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            text = try await GitHubSource.redemption
                .tokens(code: code, redirectURI: redirectURI, client: clientID, secret: secret, in: call)[
                    "access_token"]?.string
        }
        guard let text else { throw FirebaseProvider.noCredential(credential) }
        let basic = Base64.encode(Array("\(clientID):\(secret)".utf8))
        let check = await call.exchange.fetch(
            "POST", "api.github.com", "/applications/\(PercentCoding.encode(Array(clientID.utf8)))/token",
            headers: [
                (name: "Authorization", value: "Basic \(basic)"), (name: "Content-Type", value: "application/json"),
            ],
            body: JSONValue.object(JSONObject(["access_token": text])).serialized())
        guard check.status == 200 else {
            throw .invalidIdP(
                "Unsuccessful check authorization response from Github: \(check.text)",
                Diagnosis(
                    "GitHub doesn't accept the access token as a token of client \"\(clientID)\"\(check.becauseOfDiagnosis)"
                ))
        }
        let bearer = (name: "Authorization", value: "Bearer \(text)")
        let answer = await call.exchange.fetch("GET", "api.github.com", "/user", headers: [bearer])
        guard let user = answer.document, let id = user["id"]?.integer else {
            throw .invalidIdP(
                "Unsuccessful response from Github: \(answer.text)",
                Diagnosis("GitHub answered GET /user with status \(answer.status) and no user ID"))
        }
        var identity = FederatedIdentity(providerId: "github.com", rawId: String(id))
        identity.screenName = user["login"]?.string
        identity.displayName = user["name"]?.string
        identity.photoUrl = user["avatar_url"]?.string
        identity.email = user["email"]?.string
        if identity.email == nil {
            // Only a token with user:email shows addresses that aren't public.
            let emails = await call.exchange.fetch("GET", "api.github.com", "/user/emails", headers: [bearer])
            let list = emails.document?.array ?? []
            identity.email = list.first { $0["primary"]?.bool == true }?["email"]?.string
        }
        identity.accessToken = text
        identity.rawUserInfo = answer.text
        return identity
    }
}
