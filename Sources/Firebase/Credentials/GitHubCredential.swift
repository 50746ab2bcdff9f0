import HTTPServer
import JOSE
import JSON
import EmulatorCore

// A credential of github.com: an access token, or a code from the web flow.
// https://firebase.google.com/docs/auth/ios/github-auth
//
// Quirks: GitHub's own check of the token comes first, with the project's client ID and secret, so a token of another
// app, an expired one and an authorization code all end in GitHub's 404.

extension FirebaseProvider {
    func gitHubIdentity(_ credential: Credential, _ call: FirebaseCall) async throws(FirebaseError) -> FederatedIdentity
    {
        guard let part = call.project.providers.github else { throw FirebaseProvider.notConfigured("github.com") }
        let github = call.exchange.world.seed.github
        let apps = github.oauthApps + github.githubApps.map(\.common)
        let secret = part.clientSecret ?? apps.first { $0.clientID == part.clientID }?.clientSecret ?? ""
        var text = credential["access_token"]
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            text = try await gitHubToken(code: code, redirectURI: redirectURI, part.clientID, secret, call)
        }
        guard let text else { throw FirebaseProvider.noCredential(credential) }
        let basic = Base64.encode(Array("\(part.clientID):\(secret)".utf8))
        let check = await call.exchange.fetch(
            "POST", "api.github.com", "/applications/\(PercentCoding.encode(Array(part.clientID.utf8)))/token",
            headers: [
                (name: "Authorization", value: "Basic \(basic)"), (name: "Content-Type", value: "application/json"),
            ],
            body: JSONValue.object(JSONObject([("access_token", .string(text))])).serialized())
        guard check.status == 200 else {
            let inner = check.header(Diagnosis.headerName).map { ": \($0)" } ?? ""
            throw .invalidIdP(
                "Unsuccessful check authorization response from Github: \(String(decoding: check.body, as: UTF8.self))",
                Diagnosis("GitHub doesn't know the access token as one of \"\(part.clientID)\"\(inner)"))
        }
        let bearer = (name: "Authorization", value: "Bearer \(text)")
        let answer = await call.exchange.fetch("GET", "api.github.com", "/user", headers: [bearer])
        guard let user = try? JSONValue(parsing: answer.body, limits: .answer), let id = user["id"]?.integer else {
            throw .invalidIdP(
                "Unsuccessful response from Github: \(String(decoding: answer.body, as: UTF8.self))",
                Diagnosis("GitHub answered \(answer.status) to GET /user"))
        }
        var identity = FederatedIdentity(providerId: "github.com", rawId: String(id))
        identity.screenName = user["login"]?.string
        identity.displayName = user["name"]?.string
        identity.photoUrl = user["avatar_url"]?.string
        identity.email = user["email"]?.string
        if identity.email == nil {
            // Only a token with user:email shows addresses that aren't public.
            let emails = await call.exchange.fetch("GET", "api.github.com", "/user/emails", headers: [bearer])
            let list = (try? JSONValue(parsing: emails.body, limits: .answer))?.array ?? []
            identity.email = list.first { $0["primary"]?.bool == true }?["email"]?.string
        }
        identity.accessToken = text
        identity.rawUserInfo = String(decoding: answer.body, as: UTF8.self)
        return identity
    }

    private func gitHubToken(
        code: String, redirectURI: String, _ clientID: String, _ secret: String, _ call: FirebaseCall
    ) async throws(FirebaseError) -> String {
        let answer = await call.exchange.fetch(
            form: [("client_id", clientID), ("client_secret", secret), ("code", code), ("redirect_uri", redirectURI)],
            "github.com", "/login/oauth/access_token", headers: [(name: "Accept", value: "application/json")])
        let body = try? JSONValue(parsing: answer.body, limits: .answer)
        guard let token = body?["access_token"]?.string else {
            throw tokenFailure(
                "https://github.com/login/oauth/access_token, OAuth2 redirect uri is:", redirectURI, answer,
                error: body?["error"]?.string ?? "unknown", client: clientID)
        }
        return token
    }
}
