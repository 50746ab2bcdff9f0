import Dispatch
import Foundation
import HTTPServer
import JSON
import Synchronization
import TestSupport
import Testing
import Understudy
@testable import Worlds

@testable import EmulatorCore

/// A daemon without sockets, which shares its worlds with others.
final class Replica: Sendable {
    let worlds: WorldRegistry
    let dispatcher: Dispatcher

    init(
        of archive: any Archive, seed text: String? = nil, scenarios: [String] = [],
        now: @escaping @Sendable () -> Int = { 0 }
    ) throws {
        let input = text.map { SeedInput.json($0) } ?? .builtIn
        let seed = try SeedInput.load([input])
        worlds = try WorldRegistry(
            seed: seed, generator: KeyGenerator(texts: archive), archive: archive, now: now)
        var options = RunningServer.Options()
        options.scenarios = scenarios
        dispatcher = try Composition.dispatcher(seed, worlds, options)
    }

    deinit { worlds.removeAll() }

    struct Answer {
        let response: Response

        var status: Int { response.status }
        var text: String { String(decoding: response.body, as: UTF8.self) }
        var json: JSONValue { (try? JSONValue(parsing: response.body)) ?? .null }
        func header(_ name: String) -> String? { response.header(name) }
    }

    /// Sends a request to a path, and waits for the answer.
    func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, headers: [(name: String, value: String)] = []
    ) -> Answer {
        var all = [(name: "Host", value: "localhost")] + headers
        if body != nil { all.append((name: "Content-Type", value: "application/json")) }
        return send(Request(method: method, target: path, headers: all, body: body?.serialized() ?? []))
    }

    func send(_ request: Request) -> Answer {
        let isDone = DispatchSemaphore(value: 0)
        let answer = Mutex<Response?>(nil)
        switch dispatcher.handle(request) {
        case .now(let response): return Answer(response: response)
        case .later(let start):
            start(
                Completion { response in
                    answer.withLock { $0 = response }
                    isDone.signal()
                })
        }
        isDone.wait()
        return Answer(response: answer.withLock { $0 } ?? Response(status: 0))
    }

    /// Sends a form, and waits for the answer.
    func post(form fields: [(String, String)], to path: String) -> Answer {
        let form = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) })
        return send(
            Request(
                method: "POST", target: path,
                headers: [
                    (name: "Host", value: "localhost"),
                    (name: "Content-Type", value: "application/x-www-form-urlencoded"),
                ], body: Array(form.encoded.utf8)))
    }

    /// Sends a call of the control API, and waits for the answer.
    func call(_ method: String, _ call: String, _ body: JSONValue? = nil, world: String? = nil) -> Answer {
        send(method, "\(world.map { "/~\($0)" } ?? "")/_understudy/v1/\(call)", body)
    }
}

/// The archives that replicas share in tests.
enum SharedStores: String, CaseIterable, CustomTestStringConvertible {
    case memory
    /// A database at the server of `TestDatabase`.
    case postgresql

    static let allCases: [SharedStores] = [.memory] + (TestDatabase.isAtHand ? [.postgresql] : [])

    var testDescription: String { rawValue }

    /// Makes two replicas.
    func pair(scenarios: [String] = []) throws -> Pair { try Pair(self, scenarios) }

    final class Pair {
        let a: Replica
        let b: Replica
        private let schema: String?

        fileprivate init(_ kind: SharedStores, _ scenarios: [String]) throws {
            switch kind {
            case .memory:
                let memory = SharedMemory()
                schema = nil
                a = try Replica(of: memory.archive(replica: 1), scenarios: scenarios)
                b = try Replica(of: memory.archive(replica: 2), scenarios: scenarios)
            case .postgresql:
                let name = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
                let base = TestDatabase.url ?? ""
                let url = "\(base)\(base.contains("?") ? "&" : "?")options=-csearch_path%3D\(name)"
                schema = name
                a = try Replica(of: PostgreSQLArchive(url), scenarios: scenarios)
                b = try Replica(of: PostgreSQLArchive(url), scenarios: scenarios)
            }
        }

        /// Ends both replicas, at the end of a test.
        func end() {
            a.worlds.removeAll()
            b.worlds.removeAll()
            if let schema { _ = try? TestDatabase.execute(#"DROP SCHEMA IF EXISTS "\#(schema)" CASCADE"#) }
        }
    }
}
