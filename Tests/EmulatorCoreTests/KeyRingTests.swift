import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing

@testable import EmulatorCore

/// A section with several issuers, each of which signs with keys of its own.
private struct IssuersSection: SeedSection {
    static let name = "issuers"
    static let about = "Issuers."

    struct Issuer: SchemaObject {
        let id: String
        let algorithms: [Algorithm]
        let signingKeys: [SigningKey]

        init(_ fields: inout Fields) {
            id = fields("id", .text(.identifier), "Its name.")
            algorithms = fields("algorithms", .set(of: .choice(Algorithm.published.map(\.rawValue))), default: [], "")
                .compactMap { Algorithm(rawValue: $0) }
            signingKeys = fields.signingKeys(anyAlgorithm: true)
        }
    }

    let issuers: [Issuer]

    init(_ fields: inout Fields) { issuers = fields.list("issuers", of: Issuer.self, key: "id", "All of them.") }

    var keys: [SeededKeys] {
        issuers.map { SeededKeys(KeyOwner("issuers.\($0.id)"), algorithms: $0.algorithms, keys: $0.signingKeys) }
    }
    var seededClients: [SeededClient] { [] }

    static func check(_ references: inout SeedReferences) {
        for issuer in references.root[name]?["issuers"]?.items ?? [] {
            let algorithms = (issuer["algorithms"]?.items ?? []).compactMap {
                $0.string.flatMap { Algorithm(rawValue: $0) }
            }
            references.expectSigningKeys(issuer["signingKeys"], for: algorithms)
        }
    }
}

private struct IssuersProvider: Provider {
    static let facts = ProviderFacts(name: "issuers", title: "Issuers", section: IssuersSection.self)
    let endpoints: [Endpoint] = []

    init(seed: Seed) {}
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? { nil }
    func client(of exchange: Exchange) -> String? { nil }
    func endToken(_ text: String, in exchange: Exchange) -> (kind: String, client: String)? { nil }
    func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { [] }
}

@Suite("Key rings from the seed")
struct KeyRingTests {
    private func seed(_ text: String) throws -> Seed {
        try Seed(
            [SeedSource(name: "seed", text: text, directory: ".")], format: SeedFormat([IssuersProvider.self]))
    }

    private func quoted(_ key: Key) throws -> String { JSONValue.string(try key.pem()).text }

    @Test("each owner signs with its own keys, of each algorithm that it names")
    func owners() async throws {
        let (rsa, p256, ed) = (try Key.generateRSA(), try Key.generateP256(), try Key.generateEd25519())
        let seed = try seed(
            """
            {"issuers":{"issuers":[
              {"id":"one","algorithms":["ES256","PS256"],"signingKeys":[
                {"id":"r","privateKey":\(quoted(rsa))},{"id":"e","privateKey":\(quoted(p256))}]},
              {"id":"two","algorithms":["EdDSA"],"signingKeys":[{"id":"d","privateKey":\(quoted(ed))}]}]}}
            """)
        let keys = WorldRegistry(seed: seed, generator: KeyGenerator()).main.keys
        let (one, two) = (keys[KeyOwner("issuers.one")], keys[KeyOwner("issuers.two")])
        #expect(one.isReady && two.isReady)
        #expect(one.published.map(\.id) == ["e", "r"])
        #expect(two.published.map(\.id) == ["d"])
        func signed(_ ring: KeyRing, _ algorithm: Algorithm?) throws -> JWS {
            try JWS(parsing: try ring.mint(JSONObject(), at: .first, type: "at+jwt", algorithm: algorithm))
        }
        let usual = try signed(one, nil)
        #expect(usual.header == JSONObject([("alg", "ES256"), ("kid", "e"), ("typ", "at+jwt")]))
        #expect(usual.verify(with: p256, algorithm: .es256) == .valid)
        #expect(try signed(one, .ps256).verify(with: rsa, algorithm: .ps256) == .valid)
        #expect(try signed(two, nil).verify(with: ed, algorithm: .edDSA) == .valid)
        #expect(throws: KeyError.self) { try signed(two, .rs256) }
        #expect(one.key(of: usual)?.hasSigned(usual) ?? false)
        #expect(two.key(of: usual) == nil)
    }

    @Test("one owner's rotation leaves the others' keys, and replaces a key of each algorithm")
    func rotation() async throws {
        let seed = try seed(
            #"{"issuers":{"issuers":[{"id":"one","algorithms":["ES256","EdDSA"]},{"id":"two","algorithms":["ES256"]}]}}"#
        )
        let world = WorldRegistry(seed: seed, generator: KeyGenerator()).main
        let (one, two) = (KeyOwner("issuers.one"), KeyOwner("issuers.two"))
        await withCheckedContinuation { done in world.keys.whenReady([one, two]) { _ in done.resume() } }
        #expect(world.keys[one].published.map(\.algorithm) == [.es256, .edDSA])
        let before = world.keys[two].published.map(\.id)
        let fresh = try #require(await world.keys[one].rotate(in: world.name))
        #expect(fresh.count == 2)
        #expect(world.keys[one].published.count == 4)
        #expect(world.keys[one].signing(at: .first, with: .es256)?.id == fresh[0])
        #expect(world.keys[one].signing(at: .first, with: .edDSA)?.id == fresh[1])
        #expect(world.keys[two].published.map(\.id) == before)
        await world.keys[one].unpublishedIsReady()
        let unpublished = try #require(world.keys[one].unpublished(.edDSA))
        #expect(unpublished.algorithm == .edDSA)
        #expect(!world.keys[one].published.map(\.id).contains(unpublished.id))
        try world.reset()
        #expect(!world.keys[one].published.map(\.id).contains(fresh[0]))
    }

    @Test("a key that names an algorithm which isn't in use rests")
    func resting() async throws {
        let key = try quoted(.generateRSA())
        let seed = try seed(
            #"{"issuers":{"issuers":[{"id":"one","algorithms":["ES256"],"signingKeys":[{"id":"k","algorithm":"PS512","privateKey":\#(key)}]}]}}"#
        )
        let world = WorldRegistry(seed: seed, generator: KeyGenerator()).main
        let owner = KeyOwner("issuers.one")
        await withCheckedContinuation { done in world.keys.whenReady([owner]) { _ in done.resume() } }
        #expect(world.keys[owner].published.map(\.algorithm) == [.es256])
    }

    @Test("one key is made of each algorithm before anybody asks, and three where they take turns")
    func counts() async throws {
        let generator = KeyGenerator()
        func ready(turns: Bool) async -> [String] {
            await withCheckedContinuation { done in
                generator.whenReady(.es256, turns: turns) { _ in done.resume() }
            }
            return (generator.initial(.es256, turns: turns) ?? []).map(\.id)
        }
        let first = await ready(turns: false)
        #expect(first.count == 1)
        #expect(generator.initial(.es256, turns: true) == nil)
        let all = await ready(turns: true)
        #expect(all.count == 3 && Set(all).count == 3)
        #expect(all.first == first.first)
        #expect(await ready(turns: false) == first)
    }

    @Test(
        "a signing key of another kind than its owner's algorithms is refused",
        arguments: [
            (#"["ES256"]"#, "", "privateKey: expected a P-256 private key"),
            (#"["ES256","EdDSA"]"#, "", "privateKey: expected a P-256 private key or an Ed25519 private key"),
            (#"["RS256","ES256"]"#, #","algorithm":"ES256""#, "privateKey: expected a P-256 private key"),
            (#"["ES384"]"#, "", "privateKey: expected a P-384 private key"),
            (#"["RS256"]"#, #","algorithm":"ES512""#, "privateKey: expected a P-521 private key"),
            (#"["RS256"]"#, #","algorithm":"HS256""#, "expected one of"),
        ])
    func misfits(algorithms: String, member: String, message: String) throws {
        let key = try quoted(.generateRSA())
        let error = #expect(throws: Issues.self) {
            try seed(
                #"{"issuers":{"issuers":[{"id":"a","algorithms":\#(algorithms),"signingKeys":[{"id":"k","privateKey":\#(key)\#(member)}]}]}}"#
            )
        }
        #expect(error?.description.contains(message) ?? false, "\(String(describing: error))")
    }
}
