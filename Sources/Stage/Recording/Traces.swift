import Synchronization

/// What ties an exchange to others: the codes and tokens in it, as hashes, found once.
package final class Traces: Sendable {
    struct Found: Sendable {
        /// In the order in which they are found.
        var request: [Int] = []
        var response: [Int] = []
        var states: [Int] = []
        var givesCode = false
    }

    private static let credentials: Set<String> = [
        "code", "accesstoken", "refreshtoken", "idtoken", "identitytoken", "authorizationcode", "token", "devicecode",
        "usercode", "sessioninfo", "sessionid", "mfapendingcredential", "pendingtoken", "oobcode", "fbexchangetoken",
        "inputtoken", "oauthaccesstoken", "oauthidtoken", "request", "temporaryproof", "sessioncookie",
    ]
    private static let codes: Set<String> = ["code", "authorizationcode"]
    /// Shorter values are no one's alone: a code from a text message has six digits.
    private static let shortest = 8

    private let found = Mutex<Found?>(nil)

    init() {}

    /// A field's name in small letters without `_` and `-`; `nil` when it is too long to be one of ours.
    static func canonical(_ name: String) -> String? {
        guard name.utf8.count <= 40 else { return nil }
        return name.lowercased().filter { $0 != "_" && $0 != "-" }
    }

    func found(in exchange: RecordedExchange) -> Found {
        if let found = found.withLock({ $0 }) { return found }
        var result = Found()
        for finding in exchange.requestFindings where finding.value.utf8.count >= Traces.shortest {
            guard let name = Traces.canonical(finding.name) else { continue }
            if name == "state" { result.states.append(finding.value.hashValue) }
            if Traces.credentials.contains(name) { result.request.append(finding.value.hashValue) }
        }
        for finding in exchange.responseFindings where finding.value.utf8.count >= Traces.shortest {
            guard let name = Traces.canonical(finding.name), Traces.credentials.contains(name) else { continue }
            result.response.append(finding.value.hashValue)
            if Traces.codes.contains(name) { result.givesCode = true }
        }
        let new = result
        found.withLock { $0 = new }
        return result
    }
}

/// Which exchanges belong together: an authorization request, the code that it brought, the tokens that the code became,
/// what they were used for, and their revocation.
package enum Flows {
    /// The flow of each exchange, named after the first one in it.
    package static func assign(_ exchanges: [RecordedExchange]) -> [String: String] {
        var flows: [String: String] = [:]
        var owners: [Int: String] = [:]
        var states: [Int: String] = [:]
        // In the order in which they began: what an exchange asks of others ends before it does.
        for exchange in exchanges.sorted(by: { $0.number < $1.number }) {
            let found = exchange.traces.found(in: exchange)
            let known =
                exchange.parent.flatMap { flows[$0] } ?? found.request.lazy.compactMap { owners[$0] }.first
                ?? found.states.lazy.compactMap { states[$0] }.first
            let flow = known ?? exchange.id
            flows[exchange.id] = flow
            for trace in found.request + found.response where owners[trace] == nil { owners[trace] = flow }
            // A state is a flow's own only until the code is there: many clients send the same one every time.
            for state in found.states { states[state] = found.givesCode ? nil : flow }
        }
        return flows
    }
}
