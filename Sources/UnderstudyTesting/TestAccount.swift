import Foundation
import Testing
import UnderstudyClient

/// What happened in a world, for whoever looks at the test that failed in it.
struct TestAccount: Sendable {
    /// Lines: each refusal with its reason, or what came when nothing was refused; then what was ordered and never happened.
    let text: String
    /// The recording as an HTTP archive; `nil` where it can't be had.
    let archive: Data?

    /// How many lines there are at most.
    private static let limit = 20

    init(of world: World) async {
        do {
            let requests = try await world.requests()
            text = await TestAccount.text(world, requests, TestAccount.unmetOrders(in: world))
            archive = requests.isEmpty ? nil : try? await world.har()
        } catch {
            text = "what happened in the world \(world.url) isn't known: \(error)"
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

    /// What was ordered and never happened, a line for each: often the order, and not the code under test, is what is wrong.
    private static func unmetOrders(in world: World) async -> [String] {
        let faults = ((try? await world.faults()) ?? []).filter { $0.seen == 0 }.map { fault in
            "\(fault.id) met no request that matches \(fault.match.map { json($0) } ?? "{}")"
        }
        // One that holds for ever may have been met.
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

    /// Attaches it to the test that is running, and says it among the test's issues, as a warning.
    func attach(at place: SourceLocation) {
        Attachment.record(Array(text.utf8), named: "understudy.txt", sourceLocation: place)
        if let archive { Attachment.record(Array(archive), named: "understudy.har", sourceLocation: place) }
        #if compiler(>=6.3)
            Issue.record(Comment(rawValue: text), severity: .warning, sourceLocation: place)
        #endif
    }
}
