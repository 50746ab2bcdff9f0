import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request to Understudy's control API.
struct Call: Sendable {
    let method: String
    /// The path of an endpoint of the control API, below `/_understudy/v1/`.
    let path: String
    var query: [(name: String, value: String)] = []
    var body: Data?
    /// The time that the daemon may hold back its answer, for example until a mail arrives.
    var wait: Duration = .zero

    var name: String { "\(method) \(path)" }
}

struct DaemonAnswer: Sendable {
    let status: Int
    let body: Data
    /// Whether this answer is from Understudy's daemon, whose answers all have the header `Understudy-Request`.
    let isDaemons: Bool
}

enum Transport {
    /// The URL session for all requests to the control API. It allows 256 connections, because the tests of one process
    /// may send many requests at the same time, and some requests wait for an event.
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 256
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return URLSession(configuration: configuration, delegate: CallSession(), delegateQueue: nil)
    }()

    /// The seconds that the daemon may take to answer, in addition to the wait that the request itself asks for.
    private static let patience: TimeInterval = 60

    static func send(_ call: Call, to base: String, token: String?) async throws -> DaemonAnswer {
        let url = try url(of: call, at: base)
        var request = URLRequest(url: url)
        request.httpMethod = call.method
        request.httpBody = call.body
        request.timeoutInterval = patience + call.wait.timeInterval
        if call.body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (body, response): (Data, URLResponse)
        do { (body, response) = try await session.data(for: request) } catch let error as URLError {
            if Task.isCancelled { throw CancellationError() }
            throw UnderstudyError(
                call: call.name, code: "unreachable",
                message: "no Understudy daemon answers at \(base): \(reason(error, url)); start one with "
                    + "\"understudy serve\", or set UNDERSTUDY_URL to the address of a running one")
        }
        let answer = response as? HTTPURLResponse
        return DaemonAnswer(
            status: answer?.statusCode ?? 0, body: body,
            isDaemons: answer?.value(forHTTPHeaderField: "Understudy-Request") != nil)
    }

    private static func url(of call: Call, at base: String) throws -> URL {
        guard let parts = URLComponents(string: base), ["http", "https"].contains(parts.scheme),
            parts.host?.isEmpty == false, parts.user == nil, parts.password == nil, parts.query == nil,
            parts.fragment == nil,
            let url = URL(string: "\(base)/_understudy/v1/\(call.path)\(Address.query(call.query))")
        else {
            throw UnderstudyError(
                call: call.name, code: "invalidURL",
                message: "found \"\(base)\" as the daemon's address, expected one such as \(Understudy.defaultURL)")
        }
        return url
    }

    private static func reason(_ error: URLError, _ url: URL) -> String {
        switch error.code {
        case .badURL where url.host?.contains(":") == true:
            "Foundation on Linux takes no IPv6 address in a URL; use a name, such as localhost"
        case .cancelled: "the server there demands a user name and a password, so it isn't Understudy"
        default: error.localizedDescription
        }
    }
}

/// A receiver of requests to the control API: a test world, or the whole daemon for requests about all worlds.
protocol Callee: Sendable {
    var callBase: String { get }
    var callToken: String? { get }
    /// Throws an error if `call` can't be sent to the control API, for example because the world's name is invalid.
    func check(_ call: Call) throws
}

extension Understudy: Callee {
    var callBase: String { url }
    var callToken: String? { controlToken }
    func check(_ call: Call) {}
}

extension World: Callee {
    var callBase: String { url }
    var callToken: String? { daemon.controlToken }
    func check(_ call: Call) throws { try checkName(for: call.name) }
}

extension Callee {
    /// Returns the control API's answer to `call`, whatever its HTTP status is.
    func answer(_ call: Call) async throws -> DaemonAnswer {
        try check(call)
        return try await Transport.send(call, to: callBase, token: callToken)
    }

    /// Returns the body of the control API's answer. Throws an error if the daemon refused the request, or if another
    /// server answered.
    @discardableResult
    func send(_ call: Call) async throws -> Data {
        let answer = try await answer(call)
        guard (200..<300).contains(answer.status), answer.isDaemons else {
            throw UnderstudyError(answer, to: call, at: callBase)
        }
        return answer.body
    }

    /// Sends a request without a body to the control API, and returns the answer's body. Throws an error if the daemon
    /// refuses the request.
    @discardableResult
    func send(_ method: String, _ path: String, query: [(name: String, value: String)] = []) async throws -> Data {
        try await send(Call(method: method, path: path, query: query))
    }

    /// Sends `body` as JSON to the control API, and returns the answer's body. Throws an error if the daemon refuses
    /// the request.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: some Encodable) async throws -> Data {
        try await send(Call(method: method, path: path, body: Wire.encode(body)))
    }

    func call<Value: Decodable>(_ call: Call) async throws -> Value {
        try Wire.decode(await send(call), of: call)
    }

    func call<Value: Decodable>(
        _ method: String, _ path: String, query: [(name: String, value: String)] = []
    ) async throws -> Value {
        try await call(Call(method: method, path: path, query: query))
    }

    func call<Value: Decodable>(_ method: String, _ path: String, _ body: some Encodable) async throws -> Value {
        try await call(Call(method: method, path: path, body: Wire.encode(body)))
    }
}

/// Encodes and decodes the JSON of Understudy's control API.
enum Wire {
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    static func decode<Value: Decodable>(_ body: Data, of call: Call) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do { return try decoder.decode(Value.self, from: body) } catch {
            throw UnderstudyError(
                call: call.name, code: "unexpectedAnswer",
                message: "this version of the client can't read the daemon's answer: \(error)")
        }
    }
}

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Makes requests to the control API fail when the server redirects them or demands HTTP authentication by user name.
/// Only a server other than Understudy's daemon does so. A redirect would carry the control token to another host, and
/// FoundationNetworking would answer the demand with the same request for ever.
final class CallSession: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let asksForUser = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
            .contains(challenge.protectionSpace.authenticationMethod)
        completionHandler(asksForUser ? .rejectProtectionSpace : .performDefaultHandling, nil)
    }
}

/// Percent-encodes all characters in parts of URLs, except the unreserved ones:
/// <https://www.rfc-editor.org/rfc/rfc3986#section-2.3>.
enum Address {
    /// Returns `text` as a percent-encoded segment of a URL's path. The segments `.` and `..` are encoded too, because
    /// they would change the path.
    static func segment(_ text: String) -> String {
        [".", ".."].contains(text) ? text.replacingOccurrences(of: ".", with: "%2E") : encoded(text)
    }

    /// Returns the query of a URL, with its question mark, or an empty text if `parameters` is empty.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        guard !parameters.isEmpty else { return "" }
        return "?" + parameters.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 0x10 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}

extension World {
    /// Calls any endpoint of Understudy's control API, for example one without a Swift method of its own.
    ///
    ///     let status = try await world.call("GET", "health")
    ///
    /// - Parameters:
    ///   - method: the HTTP method: `GET`, `POST`…
    ///   - path: the path below `/_understudy/v1/`, with its query.
    ///   - body: the request's JSON body.
    /// - Returns: The answer's body; `null` if it has none.
    /// - Throws: ``UnderstudyError``.
    @discardableResult
    public func call(_ method: String, _ path: String, body: JSONValue? = nil) async throws -> JSONValue {
        let call = Call(method: method, path: path, body: try body.map { try Wire.encode($0) })
        let answer = try await send(call)
        return answer.isEmpty ? .null : try Wire.decode(answer, of: call)
    }
}
