import HTTPServer
import JOSE
import JSON
import Platform
import Synchronization
import Text

/// A request, with all that an endpoint needs to answer it.
package struct Exchange: Sendable {
    package let request: Request
    package let address: Address
    package let world: World
    /// The ID of this exchange in headers, diagnoses and the log.
    package let id: String
    package let parameters: [String: String]
    /// The fault that was ordered for this request.
    package internal(set) var appliedFault: AppliedFault?
    let network: any Network
    /// Whether the daemon sent itself the request, for another one or for a scenario.
    package let isInternal: Bool

    package init(
        request: Request, address: Address, world: World, id: String, parameters: [String: String] = [:],
        network: any Network, isInternal: Bool = false
    ) {
        self.isInternal = isInternal
        self.request = request
        self.address = address
        self.world = world
        self.id = id
        self.parameters = parameters
        self.network = network
    }

    /// The scenario for which the daemon makes this call.
    package var scenario: String? { isInternal ? request.header(Scenario.header) : nil }

    /// Returns a phrase for later diagnoses about an action of this exchange: `what`, the time, and the scenario or
    /// request that did it.
    package func cause(_ what: String) -> String {
        let isControl = address.host == nil && address.path.hasPrefix(Endpoint.controlRoot)
        let origin = scenario.map { " (scenario \($0))" } ?? (isControl ? "" : ", by request \(id)")
        return "\(what) at \(world.now.text)\(origin)"
    }

    /// Returns the reason why this world doesn't know a code or token that a client sends. `name` says what it is, such
    /// as "the code".
    package func reason(againstUnknown text: String, called name: String) -> String {
        if text.isEmpty { return "\(name) is missing" }
        if isPlaceholder(text) {
            return "\(name) is the text \(Diagnosis.quote(text)): the client has put in a variable that held nothing"
        }
        if let other = network.world(thatIssued: text, besides: world) {
            return
                "\(name) was given out in the world \(Diagnosis.quote(other)), and this is \(Diagnosis.quote(world.name)): go on where "
                + "the sign-in began"
        }
        let kind = name.hasPrefix("the ") ? String(name.dropFirst(4)) : name
        return
            "this world has given out no such \(kind) since it began or was reset, or has forgotten it: begin a new sign-in"
    }

    /// Returns whether the text is one that programs write for a missing value.
    package func isPlaceholder(_ text: String) -> Bool { Exchange.placeholders.contains(text.lowercased()) }

    private static let placeholders: Set<String> = [
        "undefined", "null", "nil", "none", "nan", "[object object]", "(null)", "optional(nil)",
    ]
}

extension Exchange {
    /// Runs `body`, which takes long, on one of `threads`, so that it blocks neither a worker nor a task's thread. If the
    /// client has gone before a thread is free, `body` doesn't run, and this throws.
    package func onWorkThread<Value: Sendable>(
        _ threads: WorkThreads = .shared, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                threads.run {
                    guard !cancellation.hasHappened else { return continuation.resume(throwing: ClientHasGone()) }
                    continuation.resume(with: Result(catching: body))
                }
            }
        } onCancel: {
            cancellation.note()
        }
    }

    /// The reason why work wasn't begun. Nobody gets its answer.
    private struct ClientHasGone: AnswerableError {
        var response: Response { Response(status: 503) }
    }

    private final class Cancellation: Sendable {
        private let flag = Atomic<Bool>(false)

        var hasHappened: Bool { flag.load(ordering: .relaxed) }

        func note() { flag.store(true, ordering: .relaxed) }
    }
}

/// A value that is made on first use, so that the start takes less time.
package final class Lazy<Value: Sendable>: Sendable {
    private let made = Mutex<Value?>(nil)
    private let make: @Sendable () -> Value

    package init(_ make: @escaping @Sendable () -> Value) { self.make = make }

    package var value: Value {
        made.withLock { made in
            if let made { return made }
            let new = make()
            made = new
            return new
        }
    }
}
