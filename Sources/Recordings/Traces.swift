import HTTPServer
import Synchronization

/// Hashes of the codes, tokens and `state` values in a recorded request and its answer. They show to which sign-in the
/// request belongs.
package final class Traces: Sendable {
    struct Found: Sendable {
        /// The hashes of the codes and tokens in the request, in the sequence in which they are found.
        var request: [Int] = []
        var response: [Int] = []
        var states: [Int] = []
        /// The hash of the recorded request's path and query.
        var target = 0
        /// The hash of the path and query to which the answer redirects, at the daemon or elsewhere.
        var onward: Int?
        /// Whether an authorization ends with this answer: the app gets a code, tokens or an error.
        var endsAuthorization = false
        /// The ID of the client that the recorded request names.
        var client: String?
        var notes = ExchangeNotes()
        var all: [Int] { request + response }
    }

    private static let credentials: Set<String> = [
        "code", "accesstoken", "refreshtoken", "idtoken", "identitytoken", "authorizationcode", "token", "devicecode",
        "usercode", "sessioninfo", "sessionid", "mfapendingcredential", "pendingtoken", "oobcode", "fbexchangetoken",
        "inputtoken", "oauthaccesstoken", "oauthidtoken", "request", "temporaryproof", "sessioncookie",
        "credential",
    ]
    /// The names of the fields that are looked for in recorded requests and answers.
    private static let names = credentials.union(ExchangeNotes.names).union(["state", "responsetype", "idtokenhint"])
    private static let codes: Set<String> = ["code", "authorizationcode"]
    private static let tokens: Set<String> = ["accesstoken", "idtoken"]
    /// The least number of bytes of a value by which a sign-in can be recognized. A six-digit code from a text message
    /// is too short.
    private static let shortest = 8
    /// The greatest number of hashes that are kept of each kind: codes and tokens of the request, codes and tokens of
    /// the answer, and `state` values. No request of a sign-in has more.
    private static let limit = 64

    private let found = Mutex<Found?>(nil)

    init() {}

    /// Returns a field's name in lower case without `_` and `-`; `nil` if it is longer than every name that is looked
    /// for.
    static func canonical(_ name: String) -> String? {
        guard name.utf8.count <= 40 else { return nil }
        if name.utf8.allSatisfy({ (0x61...0x7A).contains($0) }) { return name }
        return name.lowercased().filter { $0 != "_" && $0 != "-" }
    }

    private static func target(_ path: String, _ query: String?) -> Int {
        (query.map { "\(path)?\($0)" } ?? path).hashValue
    }

    private static func onward(_ response: Response) -> Int? {
        guard (300..<400).contains(response.status), let location = response.header("Location"),
            let origin = location.firstRange(of: "://"),
            let start = location[origin.upperBound...].firstIndex(of: "/")
        else { return nil }
        return location[start...].prefix { $0 != "#" }.hashValue
    }

    func found(in exchange: RecordedExchange) -> Found {
        if let found = found.withLock({ $0 }) { return found }
        var result = Found()
        var (hints, isAuthorization) = ([Int](), false)
        let json = exchange.request.jsonBody
        for finding in exchange.requestFindings(named: Traces.names, json) {
            guard let name = Traces.canonical(finding.name) else { continue }
            result.notes.addRequest(name, finding)
            if name == "responsetype" { isAuthorization = true }
            guard finding.value.utf8.count >= Traces.shortest else { continue }
            if name == "state" { result.states.append(finding.value.hashValue) }
            if name == "idtokenhint" { hints.append(finding.value.hashValue) }
            if Traces.credentials.contains(name) { result.request.append(finding.value.hashValue) }
        }
        for finding in exchange.responseFindings(named: Traces.names) {
            guard let name = Traces.canonical(finding.name) else { continue }
            result.notes.addResponse(name, finding)
            guard finding.value.utf8.count >= Traces.shortest, Traces.credentials.contains(name) else { continue }
            result.response.append(finding.value.hashValue)
            if Traces.codes.contains(name) { result.endsAuthorization = true }
        }
        let isSentToApp =
            (300..<400).contains(exchange.response.status)
            || exchange.response.header("Content-Type")?.mediaType == "text/html"
        if isSentToApp, result.notes.error != nil || result.notes.given.contains(where: Traces.tokens.contains) {
            result.endsAuthorization = true
        }
        // A sign-out belongs to the sign-in of its ID token. An authorization with a hint is a sign-in of its own.
        if !isAuthorization { result.request += hints }
        result.request = Array(result.request.prefix(Traces.limit))
        result.response = Array(result.response.prefix(Traces.limit))
        result.states = Array(result.states.prefix(Traces.limit))
        result.client = exchange.request.namedClient(json)
        result.target = Traces.target(exchange.request.path, exchange.request.query)
        result.onward = Traces.onward(exchange.response)
        let new = result
        found.withLock { $0 = new }
        return result
    }
}
