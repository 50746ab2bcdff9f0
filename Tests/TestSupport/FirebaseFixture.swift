import Foundation
import JOSE
import Understudy

/// A world of the built-in seed, merged with `seed`, with shorthand for the SDKs' requests to Firebase.
package final class FirebaseFixture: Sendable {
    package static let control = "/_understudy/v1"
    package static let project = "demo-app"
    package static let key = "demo-api-key"
    package static let legacy = "/www.googleapis.com/identitytoolkit/v3/relyingparty"
    package static let toolkit = "/identitytoolkit.googleapis.com"
    package static let handler = "https://demo-app.firebaseapp.com/__/auth/handler"
    package static let rawNonce = "eKzHrxuPcjvgqQLk0sJfUmaWOEYRnt7V"
    /// Another app of the seed's team, for audiences that the project refuses.
    package static let otherApp = "com.example.app.watch"

    package let server: TestServer
    package let client: TestClient

    /// Makes a world. With `isAlone`, it gets a daemon of its own.
    package init(seed: String? = nil, isAlone: Bool = false) throws {
        let seeds: [SeedInput] =
            [.builtIn] + (seed.map { [.json($0, directory: "\(Repository.root)/seed-data")] } ?? [])
        server = try isAlone ? TestServer.start(seeds: seeds) : TestServer.world(seeds: seeds)
        client = TestClient(port: server.port)
    }

    deinit { server.stop() }

    package static func sha256(_ text: String) -> String { Hex.encode(Digest.sha256(text)) }

    /// Stops the world's clock at the present time. Tests do this before steps that must happen at one moment or within
    /// a lifetime, even on a busy machine.
    package func freeze() throws {
        _ = try client.post("\(FirebaseFixture.control)/clock", json: ["freeze": true])
    }

    package func advance(_ duration: String) throws {
        _ = try client.post("\(FirebaseFixture.control)/clock", json: ["advance": duration])
    }

    package func order(_ outcome: [String: Any]) throws {
        let answer = try client.post("\(FirebaseFixture.control)/outcomes", json: outcome)
        guard answer.status == 201 else { throw TransportError(reason: "\(answer)") }
    }

    // MARK: - Operations

    /// Makes a call as the Apple SDK does in emulator mode.
    package func legacy(_ name: String, _ body: [String: Any], key: String = key) throws -> Answer {
        try client.post("\(FirebaseFixture.legacy)/\(name)?key=\(key)", json: body)
    }

    /// Makes a call as the web SDK does in emulator mode.
    package func v1(_ name: String, _ body: [String: Any], key: String = key) throws -> Answer {
        try client.post("\(FirebaseFixture.toolkit)/v1/accounts:\(name)?key=\(key)", json: body)
    }

    package func v2(_ name: String, _ body: [String: Any], key: String = key) throws -> Answer {
        try client.post("\(FirebaseFixture.toolkit)/v2/\(name)?key=\(key)", json: body)
    }

    /// Makes a call as in production: under the real host name.
    package func hosted(_ name: String, _ body: [String: Any], host: String = "identitytoolkit.googleapis.com") throws
        -> Answer
    {
        let data = try JSONSerialization.data(withJSONObject: body)
        return try client.request(
            "POST", "/v1/accounts:\(name)?key=\(FirebaseFixture.key)",
            headers: ["Host": host, "Content-Type": "application/json"], body: Array(data))
    }

    package func refresh(_ token: String?) throws -> Answer {
        var form = ["grant_type": "refresh_token"]
        form["refresh_token"] = token
        return try client.post("/securetoken.googleapis.com/v1/token?key=\(FirebaseFixture.key)", form: form)
    }

    package func lookup(_ idToken: String?) throws -> [String: Any] {
        let answer = try v1("lookup", ["idToken": idToken ?? ""])
        return (answer.json["users"] as? [[String: Any]])?.first ?? [:]
    }

    /// Returns the providers of a user, as lookup lists them.
    package func providers(_ idToken: String?) throws -> [String] {
        (try lookup(idToken)["providerUserInfo"] as? [[String: Any]] ?? []).compactMap { $0["providerId"] as? String }
    }

    // MARK: - Credentials

    /// Returns the credential of a device after Sign in with Apple. By default, the app has sent the nonce's SHA-256
    /// digest, as it should.
    package func apple(
        _ account: String = "ada", nonce: String? = sha256(rawNonce), client app: String = "com.example.app"
    ) throws -> Answer {
        var body: [String: Any] = ["client": app, "scopes": ["fullName", "email"], "account": account]
        body["nonce"] = nonce
        return try client.post("\(FirebaseFixture.control)/apple/authorizations", json: body)
    }

    /// Returns `postBody` as the Apple SDK writes it: not encoded, in its order.
    package static func postBody(
        _ provider: String, idToken: String? = nil, nonce: String? = nil, accessToken: String? = nil,
        user: String? = nil
    ) -> String {
        [
            "providerId=\(provider)", idToken.map { "id_token=\($0)" }, nonce.map { "nonce=\($0)" },
            accessToken.map { "access_token=\($0)" }, user.map { "user=\($0)" },
        ].compactMap { $0 }.joined(separator: "&")
    }

    /// Sends verifyAssertion as the Apple SDK does.
    package func assertion(_ postBody: String, _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = [
            "requestUri": "http://localhost", "postBody": postBody, "returnSecureToken": true,
            "returnIdpCredential": true, "autoCreate": true,
        ]
        return try legacy("verifyAssertion", body.merging(more) { $1 })
    }

    /// Signs in with Apple from end to end.
    package func signInWithApple(_ account: String = "ada", _ more: [String: Any] = [:]) throws -> Answer {
        let credential = try apple(
            account, nonce: FirebaseFixture.sha256(account + FirebaseFixture.rawNonce + "\(more.count)"))
        return try assertion(
            FirebaseFixture.postBody(
                "apple.com", idToken: credential["identityToken"],
                nonce: account + FirebaseFixture.rawNonce + "\(more.count)"), more)
    }

    package func gitHubToken(
        _ account: String = "ada", scope: String = "user:email", client id: String = "Iv1.0123456789abcdef"
    ) throws -> String {
        try order(["provider": "github", "outcome": "approve", "account": account, "client": id])
        let query = TestClient.encode(["client_id": id, "scope": scope])
        let code = try client.get("/github.com/login/oauth/authorize?\(query)").redirect["code"] ?? ""
        let form = ["client_id": id, "client_secret": "github-secret-for-tests", "code": code]
        return try client.post(
            "/github.com/login/oauth/access_token", form: form, headers: ["Accept": "application/json"])["access_token"]
            ?? ""
    }

    package func google(_ account: String = "ada") throws -> Answer {
        try client.post(
            "\(FirebaseFixture.control)/google/authorizations",
            json: ["client": "example.apps.googleusercontent.com", "account": account])
    }

    package func facebook(_ account: String = "ada", _ more: [String: Any] = [:]) throws -> Answer {
        try client.post(
            "\(FirebaseFixture.control)/facebook/authorizations",
            json: ["client": "1234567890", "account": account].merging(more) { $1 })
    }

    package func signUp(_ email: String, password: String = "correct horse") throws -> Answer {
        try v1("signUp", ["email": email, "password": password, "returnSecureToken": true])
    }

    package func signUpAnonymously() throws -> Answer { try v1("signUp", ["returnSecureToken": true]) }
}

extension Answer {
    /// The message of Google's error document.
    package var message: String {
        (json["error"] as? [String: Any])?["message"] as? String ?? json["errorMessage"] as? String ?? ""
    }

    /// The part before ` : `.
    package var errorCode: String { message.components(separatedBy: " : ")[0] }

    /// Returns the claims of the answer's ID token without verifying it.
    package func claims(_ name: String = "idToken") -> [String: Any] {
        AppleFixture.claims(unsignedForm(self[name] ?? ""))
    }

    private func unsignedForm(_ token: String) -> String { token.hasSuffix(".") ? token + "x" : token }
}

extension FirebaseFixture {
    // MARK: - Administrators and codes

    /// Makes a call as an Admin SDK does at an emulator.
    package func admin(
        _ method: String, _ path: String, _ body: [String: Any]? = nil, version: String = "v1",
        project id: String = project
    ) throws -> Answer {
        let data = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
        return try client.request(
            method, "\(FirebaseFixture.toolkit)/\(version)/projects/\(id)\(path)",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], body: Array(data))
    }

    package func adminUser(_ localId: String) throws -> [String: Any] {
        (try admin("POST", "/accounts:lookup", ["localId": [localId]]).json["users"] as? [[String: Any]])?.first ?? [:]
    }

    /// Returns the latest code in an e-mail to `address`.
    package func mail(_ address: String, scope: String = "") throws -> [String: Any] {
        let codes = try client.get("/emulator/v1/projects/\(FirebaseFixture.project)\(scope)/oobCodes").json["oobCodes"]
        return (codes as? [[String: Any]] ?? []).last { $0["email"] as? String == address } ?? [:]
    }

    /// Returns the latest code in a text message.
    package func message(_ number: String) throws -> String {
        let codes = try client.get("/emulator/v1/projects/\(FirebaseFixture.project)/verificationCodes").json[
            "verificationCodes"]
        return (codes as? [[String: Any]] ?? []).last { $0["phoneNumber"] as? String == number }?["code"] as? String
            ?? ""
    }

    /// Signs in a user with a verified address.
    package func verifiedUser(_ email: String = "ada@example.org") throws -> Answer {
        let made = try signUp(email)
        _ = try admin("POST", "/accounts:update", ["localId": made["localId"] ?? "", "emailVerified": true])
        return try v1("signInWithPassword", ["email": email, "password": "correct horse"])
    }
}
