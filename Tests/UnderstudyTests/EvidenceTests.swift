import EmulatorCore
import Foundation
import JOSE
import JSON
import TestSupport
import Testing
import Understudy

@Suite("Evidence")
struct EvidenceTests {
    private let providers: [any Provider]

    init() throws {
        providers = try Providers.playing(SeedInput.load([.builtIn]))
        try #require(providers.count == 7)
    }

    @Test("every endpoint of a provider says from where it is known")
    func endpoints() {
        for provider in providers {
            for endpoint in provider.endpoints where endpoint.traits != nil && !endpoint.isControl {
                #expect(
                    endpoint.evidence != nil, "\(provider.name): \(endpoint.method) \(endpoint.hosts) \(endpoint.path)")
            }
        }
    }

    @Test("every error that can be ordered says from where it is known")
    func errors() {
        for provider in providers {
            let rows = provider.facts.evidence().rows.filter { $0.subject == .error }
            for endpoint in provider.endpoints where !endpoint.isControl {
                for name in endpoint.traits?.errors?.names ?? [] {
                    // GitHub's REST API names errors by their messages, and has the status as their code.
                    let isKnown = rows.contains {
                        $0.name == name || provider.name == "github" && $0.text.hasPrefix(name)
                    }
                    #expect(isKnown, "\(provider.name): \(name) at \(endpoint.method) \(endpoint.path)")
                }
            }
        }
    }

    @Test("every line of a table is read: six columns, a known kind, an address or a reason, printable ASCII")
    func tables() throws {
        for provider in providers {
            let table = provider.facts.evidence()
            #expect(!table.rows.isEmpty)
            var seen: Set<String> = []
            for row in table.rows {
                let (source, name) = (row.evidence.source, "\(provider.name): \(row.subject) \(row.name) \(row.text)")
                #expect(source.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(name)")
                #expect(
                    row.evidence.kind == .chosen ? !source.hasPrefix("http") : source.hasPrefix("https://"), "\(name)")
                #expect(
                    row.evidence.date.map { $0.wholeMatch(of: #/\d{4}(-\d\d(-\d\d)?)?/#) != nil } ?? true, "\(name)")
                #expect(seen.insert("\(row.subject) \(row.name) \(row.text)").inserted, "twice: \(name)")
            }
        }
    }

    @Test(
        "a table has only lines that can be read",
        arguments: ["Apple", "GitHub", "Google", "Facebook", "Microsoft", "OpenID", "OAuth", "Firebase"])
    func columns(target: String) throws {
        let text = try Repository.read("Sources/\(target)/Assets/evidence.tsv")
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            #expect((6...7).contains(columns.count), "\(line)")
            guard columns.count > 5 else { continue }
            let subject = EvidenceTable.Subject(rawValue: String(columns[0]))
            #expect(subject != nil && subject != .endpoint, "\(line)")
            #expect(Evidence.Kind(rawValue: String(columns[3])) != nil, "\(line)")
            #expect(!columns[1].isEmpty && !columns[5].isEmpty, "\(line)")
        }
    }

    @Test(
        "every claim of an ID token says from where it is known",
        arguments: [
            ("apple", "com.example.app"), ("google", "example.apps.googleusercontent.com"), ("facebook", "1234567890"),
            ("microsoft", "22222222-2222-4222-8222-222222222222"), ("openid", "web"), ("firebase", "demo-app"),
        ])
    func claims(provider name: String, client: String) throws {
        let provider = try #require(providers.first { $0.name == name })
        let known = provider.facts.evidence().names(of: .claim)
        let server = try TestServer.world()
        defer { server.stop() }
        let user = ["email": "ada@example.com", "password": "correct horse"]
        _ = try TestClient(port: server.port)
            .post("/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", json: user)
        let order = ["provider": name, "client": client, "account": "ada"].merging(
            name == "firebase" ? [:] : ["nonce": "n-1"]
        ) { $1 }
        let answer = try TestClient(port: server.port).post("/_understudy/v1/tokens", json: order)
        let claims = try JWS(parsing: #require(answer["token"], "\(answer)")).claims
        #expect(claims.members.count > 6)
        for claim in claims.members { #expect(known.contains(claim.key), "\(name): \(claim.key)") }
    }

    private static let table = EvidenceTable(
        """
        error\tplain\texact\tchosen\t\tA reason.
        error\tmiddle\ta … b\tchosen\t\tA reason.
        error\tend\ta …\tchosen\t\tA reason.
        error\tany\t…\tchosen\t\tA reason.
        error\ttwo\ta … b … c\tchosen\t\tA reason.
        error\tsame\tab…ab\tchosen\t\tA reason.
        error\tnone\t\trecorded\t2024-05\thttps://example.com/
        """)

    @Test(
        "a text is found by its pattern",
        arguments: [
            ("plain", "exact", true), ("plain", "exactly", false), ("middle", "a x b", true), ("end", "a ", true),
            ("any", "", true), ("two", "a 1 b 2 c", true), ("two", "a 1 c", false), ("same", "ab", false),
            ("same", "abab", true), ("none", "", true), ("none", "a", false), ("other", "", false),
        ])
    func patterns(name: String, text: String, isFound: Bool) {
        #expect((EvidenceTests.table.ofError(name, text) != nil) == isFound)
    }

    @Test("a line is read back: kind, date and source")
    func lines() {
        let evidence = EvidenceTests.table.ofError("none")
        #expect(evidence?.line == "recorded 2024-05: https://example.com/")
        #expect(evidence == evidence.flatMap { Evidence(line: $0.line) })
        #expect(Evidence(line: "none") == nil)
    }
}
