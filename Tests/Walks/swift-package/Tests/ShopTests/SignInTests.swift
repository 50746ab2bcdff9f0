import Foundation
import Shop
import Testing
import Understudy

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The shop's tests, with a server of its own for each.
@Suite("Signing in at the shop")
struct SignInTests {
    let server: RunningServer
    let shop: SignIn

    init() throws {
        server = try RunningServer.start()
        shop = SignIn(
            apple: "\(server.url)/appleid.apple.com", firebase: "\(server.url)/identitytoolkit.googleapis.com",
            clientSecret: try #require(ProcessInfo.processInfo.environment["APPLE_CLIENT_SECRET"]))
    }

    /// What the device delivers, in place of `ASAuthorizationAppleIDCredential`.
    struct Credential: Decodable {
        let user: String
        let authorizationCode: String
        let identityToken: String
        let email: String?
    }

    /// - Parameter nonce: what the app would put into the request: the raw nonce's SHA-256, in hex.
    func deviceCredential(account: String = "ada", nonce: String) async throws -> Credential {
        var request = URLRequest(
            url: try #require(URL(string: "\(server.url)/_understudy/v1/apple/authorizations")))
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: [
            "client": "com.example.app", "account": account, "scopes": ["fullName", "email"], "nonce": nonce,
        ])
        let (data, _) = try await URLSession.shared.data(for: request)
        return try JSONDecoder().decode(Credential.self, from: data)
    }

    /// A nonce is good for one sign-in: raw ones, and their SHA-256, which an app has CryptoKit for.
    let nonces = [
        (raw: "shop-1", sha256: "79326c2c826c3b015f06620651347b9b937294e0d9abb820bc090089a53776f3"),
        (raw: "shop-2", sha256: "afe55619c2ce097ca0878f2ac2563d2c15bacdf6090dbd193463f87b99ecda67"),
        (raw: "shop-3", sha256: "11b4a9133dfbe0a0631cde7a741bec520f206a34de8029f95f7f26703ec0a0ac"),
    ]

    @Test("redeems a code, once, and gets an ID token that Apple's keys verify")
    func apple() async throws {
        defer { server.stop() }
        let credential = try await deviceCredential(nonce: nonces[0].sha256)
        #expect(credential.email == "ada@example.com")
        let tokens = try await shop.redeem(code: credential.authorizationCode)
        let explanation = try Explanation(idToken: tokens.idToken, jwks: await shop.appleKeys())
        #expect(explanation.isClean)

        let refused = await #expect(throws: SignIn.Refused.self) {
            try await shop.redeem(code: credential.authorizationCode)
        }
        #expect(refused?.reason == "invalid_grant")
        #expect(server.lastRefusals(1).first?.contains("a code works once") == true)
    }

    @Test("knows the person again at Firebase, and refuses another's nonce")
    func firebase() async throws {
        defer { server.stop() }
        let first = try await shop.firebaseUser(
            idToken: deviceCredential(nonce: nonces[0].sha256).identityToken, rawNonce: nonces[0].raw)
        #expect(first.isNewUser == true)
        #expect(first.email == "ada@example.com")
        let again = try await shop.firebaseUser(
            idToken: deviceCredential(nonce: nonces[1].sha256).identityToken, rawNonce: nonces[1].raw)
        #expect(again.localId == first.localId)

        let token = try await deviceCredential(nonce: nonces[2].sha256).identityToken
        let refused = await #expect(throws: SignIn.Refused.self) {
            try await shop.firebaseUser(idToken: token, rawNonce: "another")
        }
        #expect(refused?.reason.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
        #expect(server.lastRefusals(1).first?.contains("nonce") == true)
    }

    @Test("is tested by many at the same time, each with people of their own", arguments: 1...20)
    func parallel(number: Int) async throws {
        defer { server.stop() }
        let account = ["ada", "grace"][number % 2]
        let credential = try await deviceCredential(account: account, nonce: nonces[0].sha256)
        _ = try await shop.redeem(code: credential.authorizationCode)
        #expect(server.lastRefusals(10).isEmpty)
    }
}
