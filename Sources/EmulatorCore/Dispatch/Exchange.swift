import Dispatch
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

extension Request {
    /// The client that the request names: in its fields, in its credentials, or in the authorization request within a
    /// sign-in page's form.
    package var namedClient: String? { namedClient(jsonBody) }

    /// Returns the client that the request names, for a body that has been parsed as JSON already.
    func namedClient(_ json: @autoclosure () -> JSONValue?) -> String? {
        let query = queryForm
        let body = bodyForm
        for form in [body, query] {
            if let client = form["client_id"] ?? form["app_id"] { return client }
            if let client = form.carriedRequest?["client_id"] { return client }
            if let target = form["return_to"], let mark = target.firstIndex(of: "?"),
                let client = Form(parsing: target[mark...].dropFirst())["client_id"]
            {
                return client
            }
        }
        if let object = json(), let client = object["client_id"]?.string ?? object["client"]?.string {
            return client
        }
        return BasicCredentials.read(self)?.user
    }
}

extension Exchange {
    /// Runs `body`, which takes long, on a thread of its own, so that it blocks neither a worker nor a task's thread.
    package func aside<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            WorkThreads.shared.run { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}

extension DispatchQueue {
    /// Runs `body` on the queue, without blocking the caller's thread.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}

/// The header `Authorization: Basic`: <https://datatracker.ietf.org/doc/html/rfc7617>.
package enum BasicCredentials {
    package static func read(_ request: Request) -> (user: String, password: String)? {
        request.header("Authorization").flatMap { read(header: $0) }
    }

    /// Reads the user name and the password from a header's value.
    package static func read(header: String) -> (user: String, password: String)? {
        guard String(Substring(header.utf8.prefix(6))).equalsIgnoringASCIICase("basic "),
            let bytes = Base64.decode(Substring(header.utf8.dropFirst(6)).filter { $0 != " " })
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !text.hasEndlessMarks else { return nil }
        guard let colon = text.firstIndex(of: ":") else { return (user: text, password: "") }
        return (user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }
}

extension Request {
    /// The body as JSON, whatever its content type: `curl -d` always sends that of a form.
    package var jsonBody: JSONValue? {
        guard body.holdsJSON else { return nil }
        return try? JSONValue(parsing: body)
    }
}

extension [UInt8] {
    /// Whether the text looks like a JSON object or array.
    package var holdsJSON: Bool {
        guard let byte = first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) else { return false }
        return byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
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
