import EmulatorCore
import Foundation
import JSON
import TestSupport
import Testing
import Time
import Understudy
import Worlds

@testable import Firebase

@Suite("Firebase's rows")
struct RowTests {
    private static let pool = UserPool(project: "demo-app", tenant: "t")

    private func user(_ id: String, createdAt time: Int64 = 1, email: String? = nil) throws -> User {
        var user = User(localId: id, in: RowTests.pool, now: try #require(Instant(seconds: time)))
        user.email = email
        return user
    }

    @Test("can be written down and read back")
    func coding() throws {
        var user = try user("u", email: "ada@example.com")
        user.password = Password("secret!", salt: "abc", now: user.createdAt)
        user.initialEmail = "first@example.com"
        user.links = [User.Link(providerId: "apple.com", rawId: "001")]
        user.factors = [
            SecondFactor(id: "a", kind: .phone("+15555550100"), displayName: nil, enrolledAt: user.createdAt),
            SecondFactor(id: "b", kind: .totp([1, 2]), displayName: "App", enrolledAt: user.createdAt),
        ]
        user.customClaims = CustomClaims(JSONObject([("b", 1), ("a", ["c": true])]))
        let flow = WebFlow(
            token: "state", pool: RowTests.pool, expires: user.createdAt, providerId: "github.com",
            redirectURI: "https://example.com", sessionHash: nil, destination: .app(scheme: "com.example"))
        let session = Session(
            refreshToken: "r", user: user.key, provider: "password", authTime: user.createdAt,
            secondFactor: SecondFactorUse(claim: "totp", id: "b"), customClaims: user.customClaims)
        try check(user)
        try check(flow)
        try check(session)
        try check(OAuthIdpConfig(pool: RowTests.pool, id: "oidc.a", issuer: "https://a.example", clientSecret: "s"))
        try check(ProjectSettings(project: "demo-app", mfa: MFAConfig(state: "ENABLED")))
        try check(
            Tenant(
                project: "demo-app", id: "t", mfa: MFAConfig(MFA(state: "ENABLED", providers: ["phone", "totp"])),
                hidesEmails: false, testNumbers: ["+15555550100": "123456"], isSeeded: true))
        let password = try #require(try copy(user).password)
        #expect(password.mismatch("secret!") == nil)
        #expect(password.mismatch("other") == "the password is wrong")
    }

    private func copy<R: Row>(_ row: R) throws -> R {
        try JSONDecoder().decode(R.self, from: JSONEncoder().encode(row))
    }

    private func check<R: Row>(_ row: R) throws {
        #expect(String(describing: try copy(row)) == String(describing: row))
    }

    @Test("a user is found by nothing but the whole address, whatever it holds")
    func addresses() throws {
        let world = WorldRegistry(seed: try Seed([], format: Providers.seedFormat), generator: .ofTests).main
        let addresses = ["a\0b", "a", "a\0", "a\0\u{2}b", "a\0\u{1}b"]
        let users = try addresses.enumerated().map { try user("u\($0)", email: $1) }
        try world.update { tables in
            tables.put(Tenant(project: RowTests.pool.project, id: RowTests.pool.tenant ?? ""))
            users.forEach { tables.put($0) }
        }
        for user in users {
            let found = world.read { $0.user(email: user.email ?? "", in: RowTests.pool)?.localId }
            #expect(found == user.localId)
        }
        let other = UserPool(project: "demo-app", tenant: nil)
        let (unknown, elsewhere) = world.read { tables in
            (tables.user(email: "b", in: RowTests.pool)?.localId, tables.user(email: "a", in: other)?.localId)
        }
        #expect(unknown == nil)
        #expect(elsewhere == nil)
    }
}
