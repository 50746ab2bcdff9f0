import HTTPServer
import Recordings

/// A method and a path at some hosts, with the handler that answers there.
///
/// The handler is a closure that returns the response, or throws an error that the dispatcher answers. It may be
/// `async`: then it runs on the connection's thread until it has to wait, and holds no thread while it waits. A closure
/// that isn't `async` is called directly, because even a task that never waits costs a microsecond.
package struct Endpoint: Sendable {
    /// The answers that a browser's script on another origin may read.
    package enum CORS: Sendable, Equatable {
        /// No header: browsers refuse, as they do at the provider.
        case none
        /// A script of any origin reads the answer.
        case any
        /// A script of any origin reads the answer, and these of its headers, which are listed with commas.
        case exposing(String)
    }

    enum Handler: Sendable {
        case direct(@Sendable (Exchange) throws -> Response)
        case task(@Sendable (Exchange) async throws -> Response)
    }

    package let method: String
    /// The host names; `*.example.com` is every host below `example.com`. Without any, the endpoint is at the daemon's
    /// own address.
    package let hosts: [String]
    /// The path, in which a segment `:name` is a parameter.
    package let path: String
    package let cors: CORS
    /// The owners whose signing keys must be ready before the handler runs. Waiting for them holds no thread.
    package let keys: [KeyOwner]
    /// The faults that can be ordered at the endpoint; `nil` for an endpoint without any, whose requests aren't
    /// recorded either.
    package let traits: EndpointTraits?
    /// Whether the endpoint is only for clients that may control the daemon, though it isn't part of the control API.
    var isManagement = false
    /// The description of a call of the control API.
    package let call: ControlCall?
    /// A few words for a request to the endpoint: "redeem a code". `nil` if it isn't part of a sign-in.
    package private(set) var title: String?
    /// Returns the step of a sign-in for a request to the endpoint; `nil` where OAuth's own rules decide.
    private(set) var step: (@Sendable (RecordedExchange) -> Step?)?
    /// Returns sentences about surprises for an app's developer in an answer that refuses nothing, such as a missing
    /// name. The second argument has all exchanges of the sign-in.
    package private(set) var remarks: (@Sendable (RecordedExchange, [RecordedExchange]) -> [String])?
    /// The source from which the endpoint is known, and its answers that refuse nothing.
    package private(set) var evidence: Evidence?
    var handler: Handler

    package init(
        _ method: String, _ hosts: [String], _ path: String, title: String? = nil, step: Step? = nil,
        cors: CORS = .none,
        keys: [KeyOwner] = [], _ traits: EndpointTraits? = .api,
        _ respond: @escaping @Sendable (Exchange) throws -> Response
    ) {
        self.init(method, hosts, path, cors, keys, traits, .direct(respond))
        self.title = title
        if let step { self.step = { _ in step } }
    }

    package init(
        _ method: String, _ hosts: [String], _ path: String, title: String? = nil, step: Step? = nil,
        cors: CORS = .none,
        keys: [KeyOwner] = [], _ traits: EndpointTraits? = .api,
        _ respond: @escaping @Sendable (Exchange) async throws -> Response
    ) {
        self.init(method, hosts, path, cors, keys, traits, .task(respond))
        self.title = title
        if let step { self.step = { _ in step } }
    }

    init(
        _ method: String, _ hosts: [String], _ path: String, _ cors: CORS, _ keys: [KeyOwner],
        _ traits: EndpointTraits?, _ handler: Handler, _ call: ControlCall? = nil
    ) {
        self.method = method
        self.hosts = hosts
        self.path = path
        self.cors = cors
        self.keys = keys
        self.traits = traits
        self.call = call
        self.handler = handler
    }
}

extension Endpoint {
    /// Returns the same endpoint with this title.
    package func titled(_ title: String?) -> Endpoint {
        var titled = self
        titled.title = title
        return titled
    }

    /// Returns the same endpoint with the source from which it is known.
    package func known(by evidence: Evidence) -> Endpoint {
        var other = self
        other.evidence = evidence
        return other
    }

    /// Returns the same endpoint with a closure that decides which step of a sign-in a request is.
    package func step(_ step: @escaping @Sendable (RecordedExchange) -> Step?) -> Endpoint {
        var other = self
        other.step = step
        return other
    }

    /// Returns the same endpoint with remarks on its answers for the inspector.
    package func remarks(
        _ remarks: @escaping @Sendable (RecordedExchange, _ flow: [RecordedExchange]) -> [String]
    ) -> Endpoint {
        var other = self
        other.remarks = remarks
        return other
    }
}

extension [Endpoint] {
    /// Returns the same endpoints with the source from which they are known, but for those that have one of their own.
    package func known(by evidence: Evidence) -> [Endpoint] {
        map { $0.evidence == nil ? $0.known(by: evidence) : $0 }
    }
}

// MARK: - One request

extension Endpoint {
    /// Runs the handler, on this thread until it has to wait. `refusal` returns the answer for an error that it throws.
    func run(_ exchange: Exchange, or refusal: @escaping @Sendable (any Error) -> Response) -> Reply {
        let reply: Reply
        switch handler {
        case .direct(let respond):
            do { reply = .now(try respond(exchange)) } catch { reply = .now(refusal(error)) }
        case .task(let respond):
            reply = .running { do { return try await respond(exchange) } catch { return refusal(error) } }
        }
        return shared(reply, with: exchange.request)
    }

    /// Returns the answer with the headers that let a page of another origin read it.
    func shared(_ reply: Reply, with request: Request) -> Reply {
        guard cors != .none, let origin = request.header("Origin") else { return reply }
        return reply.map { response in
            guard response.header("Access-Control-Allow-Origin") == nil else { return response }
            var response = response
            response.headers += Endpoint.corsHeaders(origin)
            if case .exposing(let names) = cors {
                response.headers.append((name: "Access-Control-Expose-Headers", value: names))
            }
            return response
        }
    }

    /// Returns the headers for an origin. They repeat it, because some clients don't accept `*` for every origin
    /// (jsdom, older browsers). Returns none for a text that no browser sends as an origin.
    static func corsHeaders(_ origin: String) -> [(name: String, value: String)] {
        guard origin.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return [] }
        return [(name: "Access-Control-Allow-Origin", value: origin), (name: "Vary", value: "Origin")]
    }

    /// Returns the paths by which an order may name the endpoint of this request: its own, that of the endpoint of
    /// which it is a part, and each of them without the version at its beginning.
    func paths(of exchange: Exchange) -> [String] {
        var paths = [exchange.address.path]
        if let whole = traits?.partOf { paths.append(whole) }
        if let version = exchange.parameters["version"] {
            paths += paths.filter { $0.hasPrefix("/\(version)/") }.map { String($0.dropFirst(version.count + 1)) }
        }
        return paths
    }
}
