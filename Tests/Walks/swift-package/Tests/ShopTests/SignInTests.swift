import Foundation
import Shop
import Testing
import UnderstudyClient
import UnderstudyInProcess
import UnderstudyTesting

/// The shop's tests: a server in this process, with a world for each test.
@Suite("Signing in at the shop", .world(at: .process))
struct SignInTests {
    let world: World
    let shop: SignIn

    init() throws {
        world = try World.current
        shop = SignIn(
            apple: world.hostURL("appleid.apple.com"), firebase: world.hostURL("identitytoolkit.googleapis.com"),
            clientSecret: try #require(ProcessInfo.processInfo.environment["APPLE_CLIENT_SECRET"]))
    }

    /// Returns the credential of a device.
    func credential(account: String = "ada", nonce: NoncePair = NoncePair()) async throws -> (
        code: String, idToken: String
    ) {
        let credential = try await world.apple.authorize(
            client: "com.example.app", nonce: nonce.sha256, account: account)
        return (try #require(credential.authorizationCodeText), try #require(credential.identityTokenText))
    }

    @Test("redeems a code, once, and gets an ID token that Apple's keys verify")
    func apple() async throws {
        let code = try await credential().code
        let tokens = try await shop.redeem(code: code)
        #expect(try await world.explain(tokens.idToken).isSound)
        let refused = await #expect(throws: SignIn.Refused.self) { try await shop.redeem(code: code) }
        #expect(refused?.reason == "invalid_grant")
        #expect(try await world.refusals().first?.diagnosis?.isEmpty == false)
    }

    @Test("knows the person again at Firebase, and refuses another's nonce")
    func firebase() async throws {
        let nonces = [NoncePair(), NoncePair()]
        let first = try await shop.firebaseUser(
            idToken: credential(nonce: nonces[0]).idToken, rawNonce: nonces[0].raw)
        #expect(first.isNewUser == true)
        #expect(first.email == "ada@example.com")
        let again = try await shop.firebaseUser(
            idToken: credential(nonce: nonces[1]).idToken, rawNonce: nonces[1].raw)
        #expect(again.localId == first.localId)
        let refused = await #expect(throws: SignIn.Refused.self) {
            try await shop.firebaseUser(idToken: credential().idToken, rawNonce: "another")
        }
        #expect(refused?.reason.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
    }

    @Test("is tested by many at the same time, each with people of their own", arguments: 1...20)
    func parallel(number: Int) async throws {
        _ = try await shop.redeem(code: credential(account: ["ada", "grace"][number % 2]).code)
        try await world.verify(.exactly(1), path: "/auth/token", status: 200)
        #expect(try await world.refusals().isEmpty)
    }
}
