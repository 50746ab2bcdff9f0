import EmulatorCore
import Time

// Rate limits: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
// A person's limit counts the requests of all apps; requests without a token share a limit of their own. An hour begins
// with its first request, by the world's clock.

/// The state of a caller's rate limit.
struct RateStatus: Sendable {
    static let period = TimeSpan.hours(1)

    let limit: Int
    let used: Int
    let resetsAt: Instant

    /// Whether the request itself exceeded the limit.
    var isRefused = false

    var remaining: Int { max(0, limit - used) }

    func append(to headers: inout [(name: String, value: String)]) {
        headers += [
            (name: "X-RateLimit-Limit", value: String(limit)),
            (name: "X-RateLimit-Remaining", value: String(remaining)),
            (name: "X-RateLimit-Reset", value: String(resetsAt.seconds)),
            (name: "X-RateLimit-Used", value: String(used)),
            (name: "X-RateLimit-Resource", value: "core"),
        ]
    }
}

extension RateStatus {
    /// The documentation in refusals, as in logs of 2025 and 2026; the page itself has moved.
    static let documentation = "overview/rate-limits-for-the-rest-api"

    /// Returns the message of a refusal. The words are from logs of `gh` in 2026. Before the request ID, they are those
    /// of <https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#rate-limit-errors>.
    static func message(for viewer: Viewer, _ exchange: Exchange) -> String {
        let whose: String
        switch viewer {
        case .person(let account, _, _): whose = "user ID \(account.github.id)."
        case .app(let app): whose = "\(app.name)."
        case .anonymous:
            whose =
                "127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. Check out the "
                + "documentation for more details.)"
        }
        return
            "API rate limit exceeded for \(whose) \(support(exchange)) and timestamp \(RESTContext.date(exchange.world.now)). \(terms)"
    }

    static func secondaryMessage(_ exchange: Exchange) -> String { "\(secondary) \(terms) \(support(exchange))." }

    static let secondary =
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."

    private static func support(_ exchange: Exchange) -> String {
        "If you reach out to GitHub Support for help, please include the request ID \(RESTContext.requestID(exchange))"
    }

    private static let terms =
        "For more on scraping GitHub and how it may affect your rights, please review our Terms of Service "
        + "(https://docs.github.com/en/site-policy/github-terms/github-terms-of-service)"
}

/// The requests of one person or app in the current hour.
struct RequestCount: Row {
    static let table = Table<RequestCount>("github.requestCount", limit: 100_000) { $0.resetsAt }

    let key: String
    var used = 0
    let resetsAt: Instant
}

extension GitHubProvider {
    func rate(of viewer: Viewer, _ tables: borrowing some TableReading & ~Copyable) -> RateStatus {
        let requests = requests(of: viewer, tables.find(RequestCount.self, rateKey(viewer)), at: tables.now)
        return RateStatus(limit: rateLimit(viewer), used: requests.used, resetsAt: requests.resetsAt)
    }

    /// Counts a request, unless none is left.
    func spend(_ viewer: Viewer, _ tables: inout Transaction) -> RateStatus {
        let limit = rateLimit(viewer)
        var requests = requests(of: viewer, tables.find(RequestCount.self, rateKey(viewer)), at: tables.now)
        let isRefused = requests.used >= limit
        if !isRefused {
            requests.used += 1
            tables.put(requests)
        }
        return RateStatus(limit: limit, used: requests.used, resetsAt: requests.resetsAt, isRefused: isRefused)
    }

    /// Takes back a counted request.
    func refund(_ viewer: Viewer, in world: World) throws -> RateStatus {
        try world.update { tables in
            _ = tables.change(RequestCount.self, rateKey(viewer)) { $0.used = max(0, $0.used - 1) }
            return rate(of: viewer, tables)
        }
    }

    /// Returns the requests of the current hour, which begins now if the last one is over.
    private func requests(of viewer: Viewer, _ known: RequestCount?, at now: Instant) -> RequestCount {
        if let known, known.resetsAt > now { return known }
        return RequestCount(key: rateKey(viewer), resetsAt: now + RateStatus.period)
    }

    private func rateLimit(_ viewer: Viewer) -> Int {
        if case .anonymous = viewer { return settings.anonymousRateLimit }
        return settings.rateLimit
    }

    private func rateKey(_ viewer: Viewer) -> String {
        switch viewer {
        case .anonymous: ""
        case .app(let app): "app:\(app.clientID)"
        case .person(let account, _, _): "person:\(account.id)"
        }
    }
}
