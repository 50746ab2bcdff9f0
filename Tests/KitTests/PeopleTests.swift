import Foundation
import Testing
import UnderstudyClient

@Suite("People, seeds and tokens, by the client")
struct PeopleTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture() }

    @Test("accounts are listed, added, changed and removed")
    func accounts() async throws {
        let accounts = world.accounts
        #expect(try await accounts.list().map(\.id) == ["ada", "grace", "linus"])
        let ada = try await accounts.get("ada")
        #expect(ada.email == "ada@example.com")
        #expect(ada.isEmailVerified)
        #expect(ada.phoneNumber == "+15555550100")
        #expect(ada.name == World.PersonName(given: "Ada", family: "Lovelace"))
        #expect(ada[.github]?["login"] == "ada")
        let added = try await accounts.add(["id": "max", "email": "max@example.org", "emailVerified": false])
        #expect(added.id == "max")
        #expect(!added.isEmailVerified)
        let changed = try await accounts.change("max", ["name": ["given": "Max"]])
        #expect(changed.name?.given == "Max")
        #expect(try JSONDecoder().decode(World.Account.self, from: JSONEncoder().encode(changed)) == changed)
        try await accounts.remove("max")
        let gone = await #expect(throws: UnderstudyError.self) { try await accounts.get("max") }
        #expect(gone?.code == "noSuchAccount")
        // An ID can't change the path of the call.
        for id in [".", "..", "../worlds", "a?b#c"] {
            let error = await #expect(throws: UnderstudyError.self) { try await accounts.get(id) }
            #expect(error?.code == "noSuchAccount")
        }
    }

    @Test("accounts are read page by page where there are many")
    func manyAccounts() async throws {
        let people = (1...1_100).map { JSONValue.object(["id": .string("person-\($0)")]) }
        try await world.replaceSeed(["accounts": .array(people)])
        #expect(try await world.accounts.list().count == 1_100)
    }

    @Test("a seed is read, merged into and replaced")
    func seed() async throws {
        try await world.seed(["accounts": [["id": "zoe"]]])
        #expect(try await world.accounts.list().map(\.id) == ["ada", "grace", "linus", "zoe"])
        #expect(try await world.seed()["accounts"]?.array?.count == 4)
        try await world.replaceSeed(["accounts": [["id": "max"]]])
        #expect(try await world.accounts.list().map(\.id) == ["max"])
        let wrong = await #expect(throws: UnderstudyError.self) { try await world.seed(["acounts": []]) }
        #expect(wrong?.path == "$.acounts")
    }

    @Test("a snapshot brings back what was")
    func snapshot() async throws {
        let user = try await world.apple.authorize(client: ClientFixture.app, account: "ada").user
        let snapshot = try await world.snapshot()
        try await world.reset()
        #expect(try await world.apple.credentialState(client: ClientFixture.app, user: user) == .notFound)
        try await world.restore(snapshot)
        #expect(try await world.apple.credentialState(client: ClientFixture.app, user: user) == .authorized)
        let wrong = await #expect(throws: UnderstudyError.self) { try await world.restore(Data("{}".utf8)) }
        #expect(wrong?.code == "invalidSnapshot")
    }

    @Test("a Firebase project is exported")
    func export() async throws {
        let archive = try await world.firebaseExport(project: "demo-app")
        #expect(String(decoding: archive, as: UTF8.self).contains("accounts.json"))
    }

    @Test("a token is minted, whole or broken")
    func tokens() async throws {
        let token = try await world.tokens.mint(.apple, client: ClientFixture.app, account: "ada", nonce: "n1")
        #expect(token.header?["alg"] == "RS256")
        #expect(token.claims?["nonce"] == "n1")
        #expect(try await world.explain(token.token).isSound)
        let broken = try await world.tokens.mint(
            .google, client: "example.apps.googleusercontent.com", account: "ada", scopes: ["openid"],
            claims: ["exp": "-1h", "email": nil], header: ["typ": nil], signature: .invalid)
        #expect(broken.claims?["email"] == nil)
        let explanation = try await world.explain(broken.token)
        #expect(!explanation.isSound)
        #expect(!explanation.kind.isEmpty)
        #expect(explanation.parts.flatMap(\.findings).contains { $0.holds == false && $0.text.contains("expired") })
        let none = await #expect(throws: UnderstudyError.self) {
            try await world.tokens.mint(.github, client: "Iv1.0123456789abcdef", account: "ada")
        }
        #expect(none?.code == "noTokens")
    }

    @Test("a token stops working, and others go on")
    func revocation() async throws {
        let google = try await world.google.authorize(client: "example.apps.googleusercontent.com", account: "ada")
        try await world.tokens.revoke(google.accessToken)
        let gone = await #expect(throws: UnderstudyError.self) { try await world.tokens.revoke(google.accessToken) }
        #expect(gone?.code == "noSuchToken")
    }

    @Test("a security event of Google's, which nobody is told of without a receiver in the seed")
    func securityEvent() async throws {
        let client = "example.apps.googleusercontent.com"
        let refused = await #expect(throws: UnderstudyError.self) {
            try await world.google.sendSecurityEvent(.sessionsRevoked, client: client, account: "ada")
        }
        #expect(refused?.code == "noConsent")
        _ = try await world.google.authorize(client: client, account: "ada")
        let sent = try await world.google.sendSecurityEvent(
            .accountDisabled, client: client, account: "ada", reason: "hijacking")
        #expect(!sent.isDelivered && sent.attempts == 0 && sent.token?.isEmpty == false)
        #expect(sent.failure?.contains("securityEventsURL") ?? false)
    }
}
