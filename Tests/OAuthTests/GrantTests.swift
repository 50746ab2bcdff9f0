import JSON
import OAuth
import Testing
import Time
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// Tests of the parts that all providers' grants, codes and tokens share.
@Suite("grants, codes and tokens")
struct GrantTests {
    private struct TestGrant: OAuthGrant {
        typealias CodeDetails = String
        typealias TokenDetails = String

        static let tables = GrantTables<TestGrant>("test", rememberingCodes: .minutes(5))

        let account: String
        let client: String

        var key: String { "\(account) \(client)" }
    }

    private let store: WorldStore

    /// Ada has granted something to two clients, Grace to one; each grant has a code and both kinds of tokens.
    init() throws {
        let seed = try Seed(
            [SeedSource(name: "seed", text: #"{"clock": {"freeze": true}}"#, directory: ".")],
            format: Providers.seedFormat)
        store = WorldStore("test", seed)
        try store.update { tables in
            for id in ["ada", "grace"] {
                tables.put(
                    try Providers.seedFormat.account.value(checking: LocatedJSON(["id": .string(id)], file: "test")))
            }
            for (account, client) in [("ada", "a"), ("ada", "b"), ("grace", "a")] {
                let grant = TestGrant(account: account, client: client)
                tables.put(grant)
                tables.put(
                    AuthorizationCode<TestGrant>(
                        "code \(grant.key)", grant: grant.key, client: client, redirectURI: "https://\(client)/",
                        challenge: CodeChallenge(method: .plain, challenge: "challenge"),
                        expires: tables.now + .minutes(5), usedBy: nil, details: "of \(grant.key)"))
                for kind in [Token<TestGrant>.Kind.access, .refresh] {
                    tables.put(
                        Token<TestGrant>(
                            "\(kind) \(grant.key)", kind, grant: grant.key, client: client,
                            expires: kind == .access ? tables.now + .hours(1) : nil, details: ""))
                }
            }
        }
    }

    private func advance(_ span: TimeSpan) throws { try #expect(store.update { $0.clock.advance(by: span) }) }

    private func works(_ token: String, _ kind: Token<TestGrant>.Kind) -> Bool {
        store.read { $0.working(token, kind, TestGrant.self) != nil }
    }

    @Test("a token works as what it is, until it expires, and for as long as its grant and its person are there")
    func working() throws {
        #expect(works("access ada a", .access))
        #expect(!works("access ada a", .refresh))
        #expect(store.read { $0.working("access ada a", .access, TestGrant.self)?.account.id } == "ada")
        try advance(.hours(1))
        #expect(!works("access ada a", .access))
        #expect(works("refresh ada a", .refresh))
        try store.update { $0.remove(Account.self, "ada") }
        #expect(!works("refresh ada a", .refresh))
    }

    @Test("a grant that ends takes its codes and tokens along, and nothing else")
    func ending() throws {
        let tokens = try store.update { tables in
            tables.end(TestGrant(account: "ada", client: "a"), because: "a test ended it")
        }
        #expect(tokens.map(\.key) == ["access ada a", "refresh ada a"])
        store.read { tables in
            #expect(tables.find(AuthorizationCode<TestGrant>.self, "code ada a") == nil)
            #expect(tables.grants(TestGrant.self, of: "ada").map(\.client) == ["b"])
            #expect(tables.count(Token<TestGrant>.self) == 4)
            #expect(tables.count(AuthorizationCode<TestGrant>.self) == 2)
            for text in ["access ada a", "refresh ada a", "code ada a"] {
                #expect(tables.find(EndedCredential<TestGrant>.self, text)?.reason == "a test ended it")
            }
            let reason = tables.reason(againstUsing: "refresh ada a", .refresh, TestGrant.self)
            #expect(reason == "a test ended it")
        }
    }

    @Test("codes can end without their grant")
    func endingCodes() throws {
        try store.update { $0.endCodes(of: TestGrant(account: "ada", client: "a"), because: "a test ended them") }
        store.read { tables in
            #expect(tables.find(AuthorizationCode<TestGrant>.self, "code ada a") == nil)
            #expect(tables.count(AuthorizationCode<TestGrant>.self) == 2)
        }
        #expect(works("access ada a", .access))
    }

    @Test("all that a person has granted can end at once")
    func endingAll() throws {
        try store.update { $0.endGrants(TestGrant.self, of: "ada", because: "a test ended them") }
        store.read { tables in
            #expect(tables.all(TestGrant.self).map(\.key) == ["grace a"])
            #expect(tables.count(Token<TestGrant>.self) == 2)
            #expect(tables.count(AuthorizationCode<TestGrant>.self) == 1)
        }
    }

    // MARK: - Redemption

    private func redeem(
        _ checks: [Redemption.Check], code: String = "code ada a", client: String = "a",
        redirectURI: String? = "https://a/", verifier: String? = "challenge"
    ) throws -> String {
        let request = Redemption.Request(
            code: code, client: client, redirectURI: redirectURI, codeVerifier: verifier, exchange: "exchange 1")
        return try store.update { tables -> String in
            try Redemption(checks: checks).redeem(TestGrant.self, request, in: &tables).code.details
        }
    }

    private func reason(_ body: () throws -> String) -> String? {
        do { _ = try body() } catch { return (error as? Redemption.Failure)?.reason ?? "\(error)" }
        return nil
    }

    private static let all: [Redemption.Check] = [.client, .unused, .unexpired, .redirectURI, .codeVerifier]

    @Test("a code works once, with all that began its authorization")
    func redemption() throws {
        #expect(try redeem(GrantTests.all) == "of ada a")
        #expect(reason { try redeem(GrantTests.all) }?.contains("exchange 1") ?? false)
        #expect(reason { try redeem(GrantTests.all, code: "x") } != nil)
    }

    @Test("the first check that fails says why; a refused code can be redeemed still")
    func order() throws {
        func check(_ checks: [Redemption.Check], _ text: String) {
            let reason = reason {
                try redeem(checks, client: "b", redirectURI: "https://b/", verifier: "x")
            }
            #expect(reason?.contains(text) ?? false, "\(reason ?? "no refusal")")
        }
        check(GrantTests.all, "issued to \"a\"")
        check([.redirectURI, .client], "redirect_uri must be \"https://a/\"")
        check([.codeVerifier], "code_verifier")
        #expect(try redeem(GrantTests.all) == "of ada a")
    }

    @Test("an expired code is refused as such for as long as it is remembered, and what isn't checked isn't refused")
    func expiry() throws {
        try advance(.minutes(5) + .seconds(7))
        #expect(
            reason { try redeem(GrantTests.all) } == "the code expired 7 s ago")
        #expect(try redeem([.unused]) == "of ada a")
        try store.update { $0.remove(Account.self, "grace") }
        let orphan = reason { try redeem([], code: "code grace a") }
        #expect(orphan == "the user's account was deleted")
    }
}
