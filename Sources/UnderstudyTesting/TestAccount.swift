import Foundation
import Testing
import UnderstudyClient

/// A report on the requests in the test environment of a failed test.
struct TestAccount: Sendable {
    /// A report with a line for each refused request, with the reason. If no request was refused, all requests are
    /// listed. At the end are the faults that no request has met, and the preset sign-in results that still wait for a
    /// sign-in. If the requests can't be read, the report says why.
    let text: String
    /// The recorded requests and answers as an HTTP archive (HAR); `nil` if they aren't available.
    let archive: Data?

    /// The most lines about requests in a failed test's report. Lines about unused faults and sign-in results are
    /// counted separately, with an equal limit.
    private static let limit = 20

    init(of world: World) async {
        do {
            let requests = try await world.requests()
            text = await TestAccount.text(world, requests, TestAccount.unmetOrders(in: world))
            archive = requests.isEmpty ? nil : try? await world.har()
        } catch {
            text = "the requests to the test's world \(world.url) can't be read: \(error)"
            archive = nil
        }
    }

    private static func text(
        _ world: World, _ requests: [World.RecordedExchange], _ unmetOrders: [String]
    ) -> String {
        let refusals = requests.filter { $0.diagnosis != nil }
        let shown = (refusals.isEmpty ? requests : refusals).suffix(limit)
        let lines = shown.map { "\($0.id) \($0)" } + unmetOrders
        return ([heading(world, requests.count, refusals.count)] + lines.map { "  \($0)" }).joined(separator: "\n")
    }

    /// Describes the faults that no request has met, and the preset sign-in results that still wait for a sign-in, a
    /// line each. Often the test has set them wrongly, and the code under test is right.
    private static func unmetOrders(in world: World) async -> [String] {
        let faults = ((try? await world.faults()) ?? []).filter { $0.seen == 0 }.map { fault in
            "\(fault.id) met no request that matches \(fault.match.map { json($0) } ?? "{}")"
        }
        // An outcome without `times` may have been used.
        let outcomes = ((try? await world.outcomes()) ?? []).filter { $0.times != nil }.map { outcome in
            let who = outcome.account.map { " by \($0)" } ?? ""
            let client = outcome.client.map { " for client \($0)" } ?? ""
            return
                "\(outcome.id), \(outcome.outcome) at \(outcome.provider.rawValue)\(who)\(client), still waits for a sign-in (times: \(outcome.times ?? 0))"
        }
        return (faults + outcomes).suffix(limit)
    }

    private static func json(_ value: JSONValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func heading(_ world: World, _ count: Int, _ refused: Int) -> String {
        let name = world.name ?? "default"
        if count == 0 {
            return "Understudy, world \(name): no request came; does the code under test ask \(world.url)?"
        }
        return refused == 0
            ? "Understudy, world \(name): nothing was refused; the requests were"
            : "Understudy, world \(name): refused were \(refused) of \(count) requests"
    }

    /// Attaches this report and the HTTP archive to the running test. From Swift 6.3 on, the report also becomes an
    /// issue with the severity `warning`.
    func attach(at place: SourceLocation) {
        Attachment.record(Array(text.utf8), named: "understudy.txt", sourceLocation: place)
        if let archive { Attachment.record(Array(archive), named: "understudy.har", sourceLocation: place) }
        #if compiler(>=6.3)
            Issue.record(Comment(rawValue: text), severity: .warning, sourceLocation: place)
        #endif
    }
}
