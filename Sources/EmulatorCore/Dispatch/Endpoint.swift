import HTTPServer
import Recordings

/// An endpoint: an HTTP method and a path at some hosts, with the handler that answers requests to them.
///
/// The handler is a closure that returns the response, or throws an error that the dispatcher answers. An `async`
/// handler holds no thread while it waits. A handler that isn't `async` is called directly, because even a task that
/// never waits costs a microsecond.
package struct Endpoint: Sendable {
    /// The rule that says whether browser scripts of other origins may read an endpoint's responses (CORS).
    package enum CORS: Sendable, Equatable {
        /// No CORS header is added, so browsers don't let scripts of other origins read the response.
        case none
        /// A script of any origin may read the response (CORS).
        case any
        /// A script of any origin may read the response, and the headers in this comma-separated list (CORS).
        case exposing(String)
    }

    enum Handler: Sendable {
        case direct(@Sendable (Exchange) throws -> Response)
        case task(@Sendable (Exchange) async throws -> Response)
    }

    package let method: String
    /// The host names of an endpoint. `*.example.com` is every name with one more label than `example.com`, such as
    /// `a.example.com`. If there are no host names, the endpoint is at the daemon's own address.
    package let hosts: [String]
    /// The path of an endpoint, in which a segment `:name` is a parameter.
    package let path: String
    package let cors: CORS
    /// The owners, such as a provider or an issuer, whose signing keys must be ready before the endpoint's handler
    /// runs. Waiting for the keys holds no thread.
    package let keys: [KeyOwner]
    /// The faults, such as errors, that a test can request for the endpoint. `nil` means none; requests to such an
    /// endpoint aren't recorded either.
    package let traits: EndpointTraits?
    /// Whether an endpoint outside the control API refuses requests without the daemon's control token, if the daemon
    /// has one. Unlike the control API, such an endpoint accepts calls from web pages of any site.
    var isManagement = false
    /// The description of the control API call that the endpoint serves; `nil` for any other endpoint.
    package let call: ControlCall?
    /// A short description of a request to the endpoint, such as "redeem a code"; `nil` for an endpoint without one.
    package private(set) var title: String?
    /// A closure that returns the step of a sign-in to which a recorded request belongs. If there is no closure, or if
    /// the closure returns `nil`, the step is recognized by general signs, such as `grant_type`.
    private(set) var step: (@Sendable (RecordedExchange) -> SignInStep?)?
    /// A closure that returns notes for developers about a successful response, for example that it has no name of the
    /// user. The first argument is the request with its response. The second is all recorded requests of the sign-in.
    package private(set) var remarks: (@Sendable (RecordedExchange, [RecordedExchange]) -> [String])?
    /// The public source, such as documentation, from which the endpoint and its successful responses are known, or the
    /// reason for choosing its behaviour without a source.
    package private(set) var evidence: Evidence?
    var handler: Handler

    package init(
        _ method: String, _ hosts: [String], _ path: String, title: String? = nil, step: SignInStep? = nil,
        cors: CORS = .none,
        keys: [KeyOwner] = [], _ traits: EndpointTraits? = .api,
        _ respond: @escaping @Sendable (Exchange) throws -> Response
    ) {
        self.init(method, hosts, path, cors, keys, traits, .direct(respond))
        self.title = title
        if let step { self.step = { _ in step } }
    }

    package init(
        _ method: String, _ hosts: [String], _ path: String, title: String? = nil, step: SignInStep? = nil,
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
    package func titled(_ title: String?) -> Endpoint {
        var titled = self
        titled.title = title
        return titled
    }

    package func known(by evidence: Evidence) -> Endpoint {
        var other = self
        other.evidence = evidence
        return other
    }

    package func step(_ step: @escaping @Sendable (RecordedExchange) -> SignInStep?) -> Endpoint {
        var other = self
        other.step = step
        return other
    }

    package func remarks(
        _ remarks: @escaping @Sendable (RecordedExchange, _ flow: [RecordedExchange]) -> [String]
    ) -> Endpoint {
        var other = self
        other.remarks = remarks
        return other
    }
}

extension [Endpoint] {
    /// Returns the endpoints, with `evidence` as the public source of each that has no source yet.
    package func known(by evidence: Evidence) -> [Endpoint] {
        map { $0.evidence == nil ? $0.known(by: evidence) : $0 }
    }
}

// MARK: - One request

extension Endpoint {
    /// Runs the endpoint's handler. `refusal` returns the response for an error that the handler throws.
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

    /// Returns the response with the CORS headers that let a page of another origin read it, if `cors` allows this.
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

    /// Returns the CORS headers that let scripts of `origin` read a response. The headers repeat the origin, because
    /// some clients (jsdom, older browsers) don't accept `*` for every origin. Returns none for a text that no browser
    /// sends as an origin.
    static func corsHeaders(_ origin: String) -> [(name: String, value: String)] {
        guard origin.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return [] }
        return [(name: "Access-Control-Allow-Origin", value: origin), (name: "Vary", value: "Origin")]
    }

    /// Returns the paths by which a test may name this request's endpoint when it requests a fault. The first is the
    /// request's path. If `partOf` names an endpoint whose faults also apply to this one, its path follows. Each path
    /// is returned with and without the version at its beginning.
    func paths(of exchange: Exchange) -> [String] {
        var paths = [exchange.address.path]
        if let whole = traits?.partOf { paths.append(whole) }
        if let version = exchange.parameters["version"] {
            paths += paths.filter { $0.hasPrefix("/\(version)/") }.map { String($0.dropFirst(version.count + 1)) }
        }
        return paths
    }
}
