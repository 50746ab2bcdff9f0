import EmulatorCore
import TestSupport
import Testing
import Worlds

@testable import OAuth

@Suite("Indexes of tokens")
struct TokenIndexTests {
    private struct Consent: OAuthGrant {
        struct CodeDetails: Codable, Sendable {}

        struct TokenDetails: Codable, Sendable {
            let color: String
        }

        static let tables = GrantTables<Consent>("test", tokenIndexes: [byColor])
        static let byColor = Index<Token<Consent>, String>("color") { $0.details.color }

        let account: String
        var client: String { "app" }
        var key: String { "\(account) app" }
    }

    private func world() throws -> World {
        let seed = try Seed(
            [SeedSource(name: "seed", text: #"{"accounts":[{"id":"ada"}]}"#, directory: ".")], format: SeedFormat([]))
        return WorldRegistry(seed: seed, generator: .ofTests).main
    }

    @Test("a provider finds tokens by an index of its own, until their grant ends")
    func tokenIndex() throws {
        let world = try world()
        let grant = Consent(account: "ada")
        try world.update { tables in
            tables.put(grant)
            for (text, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
                tables.put(
                    Token<Consent>(
                        text, .access, grant: grant.key, client: "app", expires: nil,
                        details: Consent.TokenDetails(color: color)))
            }
        }
        #expect(world.read { $0.rows(Consent.byColor, "red").map(\.key) } == ["a", "c"])
        #expect(world.read { $0.working("b", .access, Consent.self)?.account.id } == "ada")
        try #expect(Set(world.update { $0.end(grant, because: "a test ended it").map(\.key) }) == ["a", "b", "c"])
        #expect(world.read { $0.count(Consent.byColor, "red") } == 0)
        #expect(world.read { $0.working("b", .access, Consent.self) } == nil)
    }
}
