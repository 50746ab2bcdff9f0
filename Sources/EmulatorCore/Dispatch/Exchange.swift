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
    /// The ID of this request, such as `r12`, in headers, error explanations and the log.
    package let id: String
    package let parameters: [String: String]
    /// The fault, such as an error or a delay, that applies to this request; `nil` without one.
    package internal(set) var appliedFault: AppliedFault?
    let network: any Network
    /// Whether the daemon sent this request to itself, to answer another request or to run a scenario (a prepared
    /// situation).
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

    /// The name of the scenario (a prepared situation) for which the daemon sends this request to itself; `nil` for any
    /// other request.
    package var scenario: String? { isInternal ? request.header(Scenario.header) : nil }

    /// Returns a reason for later error messages, such as "the person signed out at TIME, by request r12". It consists
    /// of `what`, the test world's time and this request's ID. If a scenario (a prepared situation) has sent the
    /// request, the scenario's name stands in place of the ID. If anybody else has called the control API, the reason
    /// ends with the time.
    package func cause(_ what: String) -> String {
        let isControl = address.host == nil && address.path.hasPrefix(Endpoint.controlRoot)
        let origin = scenario.map { " (scenario \($0))" } ?? (isControl ? "" : ", by request \(id)")
        return "\(what) at \(world.now.text)\(origin)"
    }

    /// Returns the reason why this test world doesn't know a code or token that a client has sent. `name` stands for
    /// the code or token in the reason, such as "the code".
    package func reason(againstUnknown text: String, called name: String) -> String {
        if text.isEmpty { return "\(name) is missing" }
        if isPlaceholder(text) {
            return "\(name) is the text \(Diagnosis.quote(text)): the client inserted a variable that has no value"
        }
        if let other = network.world(thatIssued: text, besides: world) {
            return
                "\(name) was issued in the test world \(Diagnosis.quote(other)), but this request went to the world "
                + "\(Diagnosis.quote(world.name)): send it to the world in which the sign-in began"
        }
        let kind = name.hasPrefix("the ") ? String(name.dropFirst(4)) : name
        return
            "this test world has issued no such \(kind), or doesn't know it any more (after a reset, for example): "
            + "start a new sign-in"
    }

    /// Returns whether a text is one that programs write in place of a missing value, such as "undefined".
    package func isPlaceholder(_ text: String) -> Bool { Exchange.placeholders.contains(text.lowercased()) }

    private static let placeholders: Set<String> = [
        "undefined", "null", "nil", "none", "nan", "[object object]", "(null)", "optional(nil)",
    ]
}

extension Exchange {
    /// Runs `body`, which takes long, on one of `threads`, so that it blocks no other thread. Test worlds take turns:
    /// `owner` is the name of the world whose turn it is, by default the request's. If the client has disconnected
    /// before it is this call's turn, this throws, and `body` doesn't run.
    package func onWorkThread<Value: Sendable>(
        _ threads: WorkThreads = .large, of owner: String? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await threads.value(for: owner ?? world.name, body)
        } catch is CancellationError { throw ClientHasGone() }
    }

    /// The error of work that isn't begun, because the client has disconnected meanwhile.
    private struct ClientHasGone: AnswerableError {
        var response: Response { Response(status: 503) }
    }
}

/// A value that is made on first use, so that the program starts faster.
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
