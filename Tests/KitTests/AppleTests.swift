import Foundation
import TestSupport
import Testing
import UnderstudyClient

@Suite("Sign in with Apple, by the client")
struct AppleSignInTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture() }

    @Test("delivers what a device delivers")
    func credential() async throws {
        let nonce = NoncePair()
        let credential = try await world.apple.authorize(
            client: ClientFixture.app, nonce: nonce.sha256, state: "abc", account: "ada")
        #expect(credential.user.split(separator: ".").count == 3)
        #expect(credential.state == "abc")
        #expect(credential.authorizedScopes == [.fullName, .email])
        #expect(credential.email == "ada@example.com")
        #expect(credential.fullName?.givenName == "Ada")
        #expect(credential.fullName?.familyName == "Lovelace")
        #expect(credential.realUserStatus == .likelyReal)
        #expect(credential.authorizationCodeText?.hasPrefix("c") == true)
        let token = try #require(credential.identityTokenText)
        let claims = try #require(try await world.requests().last?.tokens?.first?.claims)
        #expect(claims["nonce"] == .string(nonce.sha256))
        #expect(claims["sub"] == .string(credential.user))
        let explanation = try await world.explain(token, rawNonce: nonce.raw)
        #expect(explanation.isSound)
        #expect(try await world.explain(token, rawNonce: "another").isSound == false)

        let again = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
        #expect(again.user == credential.user)
        #expect(again.email == nil)
        #expect(again.fullName == nil)
        #expect(again.realUserStatus == .unsupported)
    }

    @Test("grants no more than what is asked for")
    func scopes() async throws {
        let credential = try await world.apple.authorize(client: ClientFixture.app, scopes: [.email], account: "ada")
        #expect(credential.authorizedScopes == [.email])
        #expect(credential.fullName == nil)
        let none = try await world.apple.authorize(client: ClientFixture.app, scopes: [], account: "grace")
        #expect(none.authorizedScopes.isEmpty)
        #expect(none.email == nil)
    }

    @Test(
        "fails as a device does",
        arguments: [
            (World.Outcome.cancel, AppleAuthorizationError.Code.canceled), (.error(.unknown), .unknown),
            (.error(.invalidResponse), .invalidResponse), (.error(.notHandled), .notHandled),
            (.error(.failed), .failed), (.error(.notInteractive), .notInteractive),
            (.error("server_error"), .failed),
        ])
    func failure(outcome: World.Outcome, code: AppleAuthorizationError.Code) async throws {
        try await world.order(outcome)
        let error = try #require(
            await #expect(throws: AppleAuthorizationError.self) {
                try await world.apple.authorize(client: ClientFixture.app, account: "ada")
            })
        #expect(error.code == code)
        #expect(error.reason?.contains("ordered as the outcome") == true)
        #expect((error as NSError).domain == "com.apple.AuthenticationServices.AuthorizationError")
        #expect((error as NSError).code == code.rawValue)
        _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
    }

    @Test("names codes as Apple does, and others by their numbers")
    func names() {
        #expect(AppleAuthorizationError.Code(rawValue: 1001) == .canceled)
        #expect(AppleAuthorizationError.Code.canceled.name == "canceled")
        #expect(AppleAuthorizationError.Code(rawValue: 1006).name == "1006")
        #expect(AppleAuthorizationError(.canceled).description == "canceled (1001)")
        #expect(AppleAuthorizationError(.failed, reason: "so").localizedDescription == "failed (1004): so")
    }

    @Test("of an app that nobody registered fails with 1000, and of somebody who isn't there with the daemon's error")
    func unknown() async throws {
        let unregistered = await #expect(throws: AppleAuthorizationError.self) {
            try await world.apple.authorize(client: "com.nobody")
        }
        #expect(unregistered?.code == .unknown)
        let nobody = await #expect(throws: UnderstudyError.self) {
            try await world.apple.authorize(client: ClientFixture.app, account: "nobody")
        }
        #expect(nobody?.code == "noSuchAccount")
    }

    @Test("holds until the person removes the app")
    func credentialState() async throws {
        let apple = world.apple
        let user = try await apple.authorize(client: ClientFixture.app, account: "ada").user
        #expect(try await apple.credentialState(client: ClientFixture.app, user: user) == .authorized)
        #expect(try await apple.credentialState(client: ClientFixture.app, user: "000.a.000") == .notFound)
        try await apple.revoke(account: "ada", client: ClientFixture.app)
        #expect(try await apple.credentialState(client: ClientFixture.app, user: user) == .revoked)
    }

    @Test("of a person whom the app's team took over is transferred")
    func transferred() async throws {
        let user = try await world.apple.authorize(client: ClientFixture.app, account: "ada").user
        let state = try await world.apple.credentialState(client: "com.example.acquired", user: user)
        #expect(state == .transferred)
    }

    @Test("tells the team's server what happens")
    func notification() async throws {
        let receiver = try Receiver()
        try await world.seed([
            "apple": [
                "teams": [["id": "A1B2C3D4E5", "notificationsURL": .string(receiver.url)]]
            ]
        ])
        _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
        let notification = try await world.apple.notify(
            .consentRevoked, account: "ada", client: ClientFixture.app)
        #expect(notification.isDelivered)
        #expect(notification.attempts == 1)
        #expect(notification.failure == nil)
        #expect(notification.payload?.hasPrefix("eyJ") == true)
        let refused = await #expect(throws: UnderstudyError.self) {
            try await world.apple.notify(.accountDeleted, account: "ada", client: ClientFixture.app)
        }
        #expect(refused?.code == "noConsent")
    }

    @Test("signs with a new key after a rotation")
    func rotation() async throws {
        func kid() async throws -> JSONValue? {
            _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
            return try await world.requests().last?.tokens?.first?.header["kid"]
        }
        let before = try #require(try await kid())
        try await world.apple.rotateKeys()
        #expect(try await kid() != before)
    }

    @Test("says what the relay would do with a mail")
    func relay() async throws {
        try await world.order(.approve(account: "ada", shareEmail: false))
        let address = try #require(
            try await world.apple.authorize(client: ClientFixture.app).email)
        #expect(address.hasSuffix("@privaterelay.appleid.com"))
        let taken = try await world.apple.relay(from: "news@example.com", to: address)
        #expect(taken.isForwarded)
        #expect(taken.to == "ada@example.com")
        #expect(taken.sender?.hasSuffix("@privaterelay.appleid.com") == true)
        let refused = try await world.apple.relay(from: "news@elsewhere.example", to: address)
        #expect(!refused.isForwarded)
        #expect(refused.reason == "unauthorizedSender")
        #expect(refused.smtp?.hasPrefix("550") == true)
    }
}

@Suite("Native sign-ins with others, by the client")
struct OtherSignInTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture() }

    @Test("with Google deliver what the SDK delivers, until the app is removed")
    func google() async throws {
        let client = "example.apps.googleusercontent.com"
        let credential = try await world.google.authorize(client: client, nonce: "n1", account: "ada")
        #expect(try await world.requests().last?.tokens?.first?.claims["nonce"] == "n1")
        #expect(credential.serverAuthCode == nil)
        let popup = try await world.google.authorize(client: client, serverClient: client, account: "ada")
        #expect(popup.serverAuthCode?.hasPrefix("4/0A") ?? false)
        #expect(credential.idToken.hasPrefix("eyJ"))
        let info = "/tokeninfo?access_token=\(credential.accessToken)"
        #expect(try fixture.ask("oauth2.googleapis.com", info).status == 200)
        try await world.google.revoke(account: "ada", client: client)
        #expect(try fixture.ask("oauth2.googleapis.com", info).status == 400)
        try await world.order(.cancel, at: .google)
        await #expect(throws: UnderstudyError.self) { try await world.google.authorize(client: client) }
    }

    @Test("with Facebook deliver what the SDK delivers, until the app is removed")
    func facebook() async throws {
        let credential = try await world.facebook.authorize(client: "1234567890", account: "ada")
        let token = try #require(credential.accessToken)
        #expect(credential.authenticationToken == nil)
        #expect(try fixture.ask("graph.facebook.com", "/me?access_token=\(token)").status == 200)
        try await world.facebook.revoke(account: "ada", client: "1234567890")
        #expect(try fixture.ask("graph.facebook.com", "/me?access_token=\(token)").status == 400)
        let limited = try await world.facebook.authorize(
            client: "1234567890", nonce: "n1", limited: true, account: "ada")
        #expect(limited.accessToken == nil)
        #expect(limited.authenticationToken?.hasPrefix("eyJ") == true)
    }

    @Test("at GitHub and at issuers end by the person's will")
    func others() async throws {
        try await world.github.revoke(account: "*", client: "*")
        try await world.github.logOut(account: "ada")
        try await world.openID.revoke(account: "*", client: "*")
        try await world.openID.logOut(account: "ada", issuer: "corp")
        let unknown = await #expect(throws: UnderstudyError.self) {
            try await world.openID.logOut(account: "ada", issuer: "nobody")
        }
        #expect(unknown?.code == "noSuchIssuer")
    }

    @Test("registered clients are listed and removed")
    func registeredClients() async throws {
        let metadata: [String: Any] = ["client_name": "Tool", "redirect_uris": ["http://127.0.0.1:4000/callback"]]
        let client = TestClient(port: fixture.server.port)
        let path = "/~\(fixture.server.worldName ?? "w1")/oidc/corp/register"
        for _ in 1...2 { #expect(try client.post(path, json: metadata).status == 201) }
        let clients = try await world.openID.registeredClients()
        #expect(clients.map(\.issuer) == ["corp", "corp"])
        #expect(clients.first?.metadata["client_name"] == "Tool")
        try await world.openID.removeRegisteredClient(#require(clients.first).clientID)
        #expect(try await world.openID.registeredClients() == Array(clients.dropFirst()))
        try await world.openID.removeRegisteredClients()
        #expect(try await world.openID.registeredClients().isEmpty)
        let gone = await #expect(throws: UnderstudyError.self) {
            try await world.openID.removeRegisteredClient("nobody")
        }
        #expect(gone?.code == "noSuchClient")
    }
}
