import HTTPServer
import JOSE
import JSON
import EmulatorCore

// A credential of google.com: an ID token, an access token, or both; or a code from the web flow.
// https://firebase.google.com/docs/auth/ios/google-signin
//
// Quirks: Google's own tokeninfo checks the tokens. As far as is documented, a nonce in a Google ID token isn't
// compared with anything.

struct GoogleSource: KnownSource {
    static let id = "google.com"
    static let title = "Google"
    static let about = "Google."
    static let appClientSuffix = ".apps.googleusercontent.com"
    static let keyOwner: KeyOwner? = KeyOwner("google")
    static let issuers = ["https://accounts.google.com", "accounts.google.com"]

    let isEnabled: Bool
    let clientIDs: [String]

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        clientIDs = fields(
            "clientIDs", .set(of: .text(.nonEmpty)), default: [], "Client IDs whose ID tokens are taken.")
    }

    var config: JSONObject {
        JSONObject(["clientId": clientIDs.first])
    }

    static func seed(of config: JSONObject) -> JSONObject {
        JSONObject(["clientIDs": config["clientId"].map { [$0] } ?? []])
    }

    static func check(_ settings: LocatedJSON, _ references: inout SeedReferences) {
        let clients = KnownNames(references.root["google"]?["clients"], "clientID")
        for client in settings["clientIDs"]?.items ?? [] {
            references.expect(client, among: clients, "client", in: " in google.clients")
        }
    }

    static func federatedID(_ rawID: String) -> String { "https://accounts.google.com/\(rawID)" }

    static func isTrusted(email: String?, isVerified: Bool) -> Bool {
        isVerified && ["@gmail.com", "@googlemail.com"].contains { email?.lowercased().hasSuffix($0) ?? false }
    }

    func authorization(scopes: [String], _ seed: Seed) -> WebAuthorization {
        let own = ["openid", "email", "profile"]
        return WebAuthorization(
            host: "accounts.google.com", path: "/o/oauth2/v2/auth",
            fields: [
                ("client_id", webClient(seed)?.id ?? ""), ("response_type", "code"),
                ("scope", (own + scopes.filter { !own.contains($0) }).joined(separator: " ")),
            ])
    }

    func identity(of credential: Credential, in call: FirebaseCall) async throws(FirebaseError) -> FederatedIdentity {
        var (idToken, accessToken) = (credential["id_token"], credential["access_token"])
        var answer = JSONObject()
        if let code = credential["code"], let redirectURI = credential.redirectURI {
            let tokens = try await tokens(code: code, redirectURI: redirectURI, call)
            answer = tokens
            (idToken, accessToken) = (tokens["id_token"]?.string, tokens["access_token"]?.string)
        }
        var info: JSONObject
        let isTokenAlone = credential["code"] == nil && idToken != nil
        if let idToken {
            info = try await claims(of: idToken, call)
        } else if let accessToken {
            info = try await profile(of: accessToken, call)
        } else {
            throw FirebaseProvider.noCredential(credential)
        }
        guard let subject = info["sub"]?.string, !subject.isEmpty else {
            throw .invalidIdP("Invalid Idp Response: no user ID", Diagnosis("Google's response has no sub (user ID)"))
        }
        var identity = FederatedIdentity(providerId: "google.com", rawId: subject)
        identity.keep(answer)
        identity.email = info["email"]?.string
        identity.isEmailVerified = info["email_verified"].map { $0.bool ?? ($0.string == "true") } ?? false
        identity.displayName = info["name"]?.string
        identity.firstName = info["given_name"]?.string
        identity.lastName = info["family_name"]?.string
        identity.photoUrl = info["picture"]?.string
        identity.idToken = idToken
        identity.accessToken = accessToken
        var raw = JSONObject(["id": subject])
        for (name, other) in [
            ("name", "name"), ("given_name", "given_name"), ("family_name", "family_name"), ("email", "email"),
            ("picture", "picture"), ("hd", "hd"),
        ] { raw[other] = info[name] }
        raw["verified_email"] = .bool(identity.isEmailVerified)
        raw["granted_scopes"] =
            "https://www.googleapis.com/auth/userinfo.profile https://www.googleapis.com/auth/userinfo.email openid"
        // The claims of an ID token that the app got itself are passed on unchanged.
        // https://github.com/firebase/firebase-tools/issues/4756
        identity.rawUserInfo = JSONValue.object(isTokenAlone ? info : raw).text
        return identity
    }

    private func claims(of idToken: String, _ call: FirebaseCall) async throws(FirebaseError) -> JSONObject {
        guard let token = try? JWS(parsing: idToken) else {
            throw .invalidIdP(
                "Unable to parse Google id_token: \(idToken.prefix(2000))",
                Diagnosis(
                    idToken.hasPrefix("{")
                        ? "this is a fake ID token of the Emulator Suite: set \"acceptFakeCredentials\": true for the "
                            + "project in the seed, or use a project outside the seed (serve --project ID)"
                        : "the ID token isn't a JWT"))
        }
        let query = Form(fields: [Form.Field(name: "id_token", value: idToken)]).encoded
        let answer = await call.exchange.fetch("GET", "oauth2.googleapis.com", "/tokeninfo?\(query)")
        guard answer.status == 200 else {
            throw .invalidIdP(
                "Unsuccessful check authorization response from Google: {\"error_description\":\"Invalid Value\"}",
                call.foreignIssuer(of: token.claims, expected: GoogleSource.issuers)
                    ?? Diagnosis("Google refused the ID token\(answer.becauseOfDiagnosis)"))
        }
        try checkAudience(token.claims["aud"]?.string ?? "", "id_token", call)
        return token.claims
    }

    private func profile(of accessToken: String, _ call: FirebaseCall) async throws(FirebaseError) -> JSONObject {
        let query = Form(fields: [Form.Field(name: "access_token", value: accessToken)]).encoded
        let info = await call.exchange.fetch("GET", "oauth2.googleapis.com", "/tokeninfo?\(query)")
        guard info.status == 200 else {
            throw .invalidIdP(
                "Invalid Idp Response: access_token is invalid",
                Diagnosis("Google doesn't accept the access token: it is unknown, expired or revoked"))
        }
        let audience = info.document?["aud"]?.string ?? ""
        try checkAudience(audience, "access_token", call)
        let answer = await call.exchange.fetch(
            "GET", "openidconnect.googleapis.com", "/v1/userinfo",
            headers: [(name: "Authorization", value: "Bearer \(accessToken)")])
        return answer.document?.object ?? JSONObject()
    }

    private func checkAudience(_ audience: String, _ kind: String, _ call: FirebaseCall) throws(FirebaseError) {
        guard !clientIDs.contains(audience) else { return }
        throw .invalidIdP(
            "Invalid Idp Response: the Google \(kind) is not allowed to be used with this application. Its audience (OAuth "
                + "2.0 client ID) is \(audience), which is not authorized to be used in the project with project_number: "
                + "\(call.project.number).",
            Diagnosis(
                received: "audience \(Diagnosis.quote(audience))",
                expected: clientIDs.map { Diagnosis.quote($0) }.joined(separator: " or "),
                "add the client ID to the project's google.com provider in the seed"))
    }

    private func tokens(
        code: String, redirectURI: String, _ call: FirebaseCall
    ) async throws(FirebaseError) -> JSONObject {
        let client = webClient(call.exchange.world.seed)
        return try await CodeRedemption(host: "oauth2.googleapis.com", path: "/token")
            .tokens(
                code: code, redirectURI: redirectURI, client: client?.id ?? "", secret: client?.secret ?? "", in: call)
    }

    /// Returns the OAuth client with which Firebase signs people in to Google in the browser: the first of the
    /// project's client IDs whose secret is in the seed.
    private func webClient(_ seed: Seed) -> (id: String, secret: String)? {
        let section = seed.section(named: "google")
        return clientIDs.lazy.compactMap { id in section?.secret(ofClient: id).map { (id: id, secret: $0) } }.first
    }
}
