import EmulatorCore
import HTTPServer
import JOSE
import OAuth
import Time
import Worlds

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Every request to the REST API is checked in this order: User-Agent, invalid token, rate limit, version, Accept,
// missing credentials, scope. This file also adds the headers of every answer.
//
// Quirk: "Bad credentials" is the only answer without X-RateLimit headers. It isn't counted, and precedes the check of
// the version.

extension GitHubProvider {
    /// The versions of GitHub's REST API, oldest first. A request that names no version gets the oldest one that is
    /// supported.
    static let apiVersions = [
        apiVersion("2022-11-28", until: "2028-03-10"), apiVersion("2026-03-10", from: "2026-03-10"),
    ]

    private static func apiVersion(
        _ name: String, from: String? = nil, until: String? = nil
    ) -> (name: String, support: Change) {
        (
            name,
            Change(
                "apiVersion-\(name)", (from, until), summary: "version \(name) of the REST API is supported",
                evidence: "https://docs.github.com/rest/about-the-rest-api/api-versions#supported-api-versions")
        )
    }

    func serve(_ endpoint: RESTEndpoint, _ exchange: Exchange, isEnterprise: Bool) throws -> Response {
        let context = RESTContext(exchange, isEnterprise: isEnterprise, endpoint)
        if let refusal = refusal(of: exchange.request) { return refusal }
        // Requests for the limit itself don't count.
        let isFree = endpoint.path == "/rate_limit"
        let admission: Admission
        do { admission = try admit(exchange, to: endpoint, counts: !isFree) } catch let error as RESTRefusal {
            return try context.response(to: error.answer, .anonymous, rate: nil, version: nil)
        }
        let (viewer, rate) = (admission.viewer, admission.rate)
        let version = exchange.request.header("X-GitHub-Api-Version") ?? versions.first ?? ""
        if rate.isRefused {
            return try context.response(to: exceeded(viewer, exchange), viewer, rate: rate, version: version)
        }
        guard versions.contains(version) else {
            return try context.response(to: unsupportedVersion(version), viewer, rate: rate, version: nil)
        }
        if let refusal = unsupportedType(exchange.request) ?? admission.refusal {
            return try context.response(to: refusal, viewer, rate: rate, version: version)
        }
        let call = RESTCall(
            exchange: exchange, viewer: viewer, base: context.base, version: version,
            documentation: endpoint.documentation, directory: directory)
        let answer = try missingAccess(endpoint, call) ?? endpoint.run(call)
        // An answer "not modified" doesn't count for signed-in callers.
        return try context.response(to: answer, viewer, rate: rate, version: version) { isUnchanged in
            try isUnchanged && viewer.account != nil && !isFree ? refund(viewer, in: exchange.world) : rate
        }
    }

    // MARK: - Refusals

    /// Refuses requests without the header `User-Agent`, before any other check.
    private func refusal(of request: Request) -> Response? {
        guard (request.header("User-Agent") ?? "").isEmpty else { return nil }
        let text =
            "\r\nRequest forbidden by administrative rules. Please make sure your request has a User-Agent header "
            + "(https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). "
            + "Check https://developer.github.com for other possible causes.\r\n"
        return Response(
            status: 403, contentType: "text/html", headers: [(name: "Cache-Control", value: "no-cache")], body: text
        )
        .diagnosed(Diagnosis("the header User-Agent is missing: set it to the app's name or the developer's login"))
        .known(by: GitHubProvider.evidence.ofError("403", text))
    }

    private func unsupportedVersion(_ version: String) -> RESTAnswer {
        if GitHubProvider.apiVersions.contains(where: { $0.name == version && $0.name < versions.first ?? "" }) {
            return RESTAnswer.error(
                410, "Version \"\(version)\" of the API is no longer supported.", "about-the-rest-api/api-versions"
            ).because(
                Diagnosis(
                    received: "API version \(Diagnosis.quote(version))",
                    "send a later version, or no X-GitHub-Api-Version"))
        }
        let known = versions.reversed().map { known in
            "\"\(known)\"" + (known == versions.last ? " (most recent)" : "")
        }
        let message =
            "The version you specified in the \"X-GitHub-API-Version\" request header, \"\(version)\", is not a supported "
            + "version. The following versions are currently supported: \(known.joined(separator: ", "))."
        return RESTAnswer.error(400, message, "about-the-rest-api/api-versions")
            .because(
                Diagnosis(
                    received: "API version \(Diagnosis.quote(version))",
                    "send a supported version, or no X-GitHub-Api-Version"))
    }

    /// Refuses an API request whose `Accept` allows no JSON.
    private func unsupportedType(_ request: Request) -> RESTAnswer? {
        let types = (request.header("Accept") ?? "*/*").utf8.split(separator: UInt8(ascii: ",")).map {
            Substring($0).mediaType
        }
        let isServed = types.contains { type in
            ["*/*", "application/*", "application/json", ""].contains(type)
                || type.hasPrefix("application/vnd.github") || type.hasSuffix("+json")
        }
        guard !isServed, !types.isEmpty else { return nil }
        let list = types.map { "'\($0)'" }.joined(separator: ", ")
        return RESTAnswer.error(
            415, "Unsupported 'Accept' header: \(list). Must accept 'application/json'.",
            "using-the-rest-api/getting-started-with-the-rest-api#media-types"
        ).because(Diagnosis(expected: "Accept: application/vnd.github+json", "request JSON in the header Accept"))
    }

    /// Refuses a token without the required scope or permission, before the operation of the REST API runs.
    private func missingAccess(_ endpoint: RESTEndpoint, _ call: RESTCall) -> RESTAnswer? {
        guard case .person(let scopes, let permission, let refusal) = endpoint.access,
            case .person(_, let app, let token) = call.viewer
        else { return nil }
        if app.isGitHubApp {
            guard let permission, app.details?.permissions[permission] == nil else { return nil }
            return RESTAnswer.error(403, "Resource not accessible by integration", endpoint.documentation)
                .because("the GitHub App \"\(app.clientID)\" lacks the permission \"\(permission)\" in the seed")
        }
        guard !scopes.isEmpty, !token.details.scopes.allows(anyOf: scopes) else { return nil }
        let granted = token.details.scopes.joined(by: ", ")
        let held = granted.isEmpty ? "no scopes" : "the scopes \(granted)"
        let sufficient = scopes.map(\.name).joined(separator: ", ")
        let diagnosis = Diagnosis(
            received: "a token with \(held)", expected: "a token with one of the scopes \(sufficient)",
            "the token lacks a required scope: request it when the user authorizes the app")
        switch refusal {
        case .notFound: return RESTAnswer.error(404, "Not Found", endpoint.documentation).because(diagnosis)
        case .forbidden(let message):
            return RESTAnswer.error(403, message, endpoint.documentation).because(diagnosis)
        }
    }

    private func exceeded(_ viewer: Viewer, _ exchange: Exchange) -> RESTAnswer {
        RESTAnswer.error(403, RateStatus.message(for: viewer, exchange), RateStatus.documentation)
            .because(
                "wait until X-RateLimit-Reset, advance the clock by an hour, or seed a higher github.rateLimit "
                    + "(github.anonymousRateLimit for requests without a token)")
    }
}

/// An error response that is sent instead of running an operation of GitHub's REST API.
struct RESTRefusal: Error, Sendable {
    let answer: RESTAnswer

    init(_ answer: RESTAnswer) { self.answer = answer }
}

/// The request to GitHub's REST API for which a response is made.
struct RESTContext: Sendable {
    let base: RESTBase
    private let exchange: Exchange
    private let endpoint: RESTEndpoint?

    init(_ exchange: Exchange, isEnterprise: Bool, _ endpoint: RESTEndpoint?) {
        base = RESTBase(exchange.address, isEnterprise: isEnterprise)
        self.exchange = exchange
        self.endpoint = endpoint
    }

    private static let exposed =
        "ETag, Link, Location, Retry-After, X-GitHub-OTP, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Used, "
        + "X-RateLimit-Resource, X-RateLimit-Reset, X-OAuth-Scopes, X-Accepted-OAuth-Scopes, X-Poll-Interval, "
        + "X-GitHub-Media-Type, X-GitHub-SSO, X-GitHub-Request-Id, Deprecation, Sunset, Warning"

    /// Whether the client already has this response, by the headers `If-None-Match` or `If-Modified-Since`.
    private func isUnchanged(_ answer: RESTAnswer, tag: String) -> Bool {
        if let known = exchange.request.header("If-None-Match") {
            return known.split(separator: ",").contains { candidate in
                let text = candidate.filter { $0 != " " }
                return text == "*" || text == tag || "W/\(text)" == tag
            }
        }
        guard let date = exchange.request.header("If-Modified-Since"), let modified = answer.lastModified else {
            return false
        }
        return HTTPDate.text(modified) == date
    }

    /// Makes the HTTP response of a REST API operation. GitHub's header Strict-Transport-Security is left out, because
    /// a browser would apply it to the real host.
    func response(
        to answer: RESTAnswer, _ viewer: Viewer, rate: RateStatus?, version: String?,
        settle: (_ isUnchanged: Bool) throws -> RateStatus? = { _ in nil }
    ) rethrows -> Response {
        var headers: [(name: String, value: String)] = []
        headers.reserveCapacity(28)
        headers.append((name: "Server", value: "github.com"))
        if answer.body != nil { headers.append((name: "Content-Type", value: "application/json; charset=utf-8")) }
        var isUnchanged = false
        if answer.status == 200, exchange.request.method != "POST", let tag = answer.body?.entityTag {
            isUnchanged = self.isUnchanged(answer, tag: tag)
            let visibility = viewer.account == nil ? "public" : "private"
            headers += [
                (name: "Cache-Control", value: "\(visibility), max-age=60, s-maxage=60"),
                (
                    name: "Vary",
                    value: "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With"
                ),
                (name: "ETag", value: tag),
            ]
            if let date = answer.lastModified { headers.append((name: "Last-Modified", value: HTTPDate.text(date))) }
        }
        appendIdentity(of: viewer, to: &headers)
        headers.append((name: "X-GitHub-Media-Type", value: "github.v3; format=json"))
        if let version { headers.append((name: "x-github-api-version-selected", value: version)) }
        try (settle(isUnchanged) ?? rate)?.append(to: &headers)
        headers += [
            // These are sent with and without an Origin.
            (name: "Access-Control-Allow-Origin", value: "*"),
            (name: "Access-Control-Expose-Headers", value: RESTContext.exposed),
            (name: "X-Frame-Options", value: "deny"), (name: "X-Content-Type-Options", value: "nosniff"),
            (name: "X-XSS-Protection", value: "0"),
            (name: "Referrer-Policy", value: "origin-when-cross-origin, strict-origin-when-cross-origin"),
            (name: "Content-Security-Policy", value: "default-src 'none'"),
            (name: "X-GitHub-Request-Id", value: RESTContext.requestID(exchange)),
        ]
        headers += answer.headers
        var response = Response(
            status: isUnchanged ? 304 : answer.status, headers: headers,
            body: isUnchanged ? [] : answer.body?.bytes ?? [])
        if let note = answer.note { response = response.addingNote(note) }
        guard let diagnosis = answer.diagnosis else { return response }
        return response.diagnosed(diagnosis)
            .known(by: GitHubProvider.evidence.ofError(String(answer.status), answer.message))
    }

    static func requestID(_ exchange: Exchange) -> String { "UNDY:R\(exchange.id.dropFirst())" }

    /// Returns a time in a format of GitHub's headers, such as `2026-08-27 11:29:55 UTC`.
    static func date(_ instant: Instant) -> String {
        "\(instant.text.dropLast().split(separator: "T").joined(separator: " ")) UTC"
    }

    /// Adds to `headers` the response headers of GitHub's REST API about the access token: its scopes, if the app is an
    /// OAuth app; the scopes or permissions that the operation accepts; the app's client ID; the token's expiry.
    private func appendIdentity(of viewer: Viewer, to headers: inout [(name: String, value: String)]) {
        guard case .person(_, let app, let token) = viewer else { return }
        if !app.isGitHubApp {
            headers += [
                (name: "X-OAuth-Scopes", value: token.details.scopes.joined(by: ", ")),
                (name: "X-Accepted-OAuth-Scopes", value: endpoint?.accepted ?? ""),
            ]
        } else if let permissions = endpoint?.acceptedPermissions {
            headers.append((name: "X-Accepted-GitHub-Permissions", value: permissions))
        }
        headers.append((name: "X-OAuth-Client-Id", value: app.clientID))
        if let expires = token.expires {
            headers.append((name: "github-authentication-token-expiration", value: RESTContext.date(expires)))
        }
    }
}

/// The format of times in HTTP headers: <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7>.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Converts a time from RFC 3339 in UTC, with whole seconds, to the format of HTTP headers.
    static func text(_ timestamp: String) -> String {
        let bytes = Array(timestamp.utf8.prefix(19))
        func number(_ range: Range<Int>) -> Int? {
            var number = 0
            for byte in bytes[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            return number
        }
        guard bytes.count == 19, let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            (1...12).contains(month)
        else { return timestamp }
        var text = Array("\(weekday(year, month, day)), ".utf8)
        text += bytes[8..<10]
        text += " \(months[month - 1]) ".utf8
        text += bytes[..<4]
        text.append(UInt8(ascii: " "))
        text += bytes[11..<19]
        text += " GMT".utf8
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the day of the week of a date, by Sakamoto's congruence for the Gregorian calendar.
    private static func weekday(_ year: Int, _ month: Int, _ day: Int) -> String {
        let offsets = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
        let year = month < 3 ? year - 1 : year
        return days[(year + year / 4 - year / 100 + year / 400 + offsets[month - 1] + day) % 7]
    }
}

// A person's limit counts the requests of all apps; requests without a token share a limit of their own. An hour begins
// with its first request, by the world's clock.

/// The state of a caller's rate limit at GitHub's REST API.
struct RateStatus: Sendable {
    static let period = TimeSpan.hours(1)

    let limit: Int
    let used: Int
    let resetsAt: Instant

    /// Whether the present request exceeded the rate limit.
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
    /// The path of the documentation page that GitHub's rate limit errors named in 2025 and 2026. The page itself has
    /// moved.
    static let documentation = "overview/rate-limits-for-the-rest-api"

    /// Returns GitHub's error message for a caller who has exceeded the rate limit.
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

/// The number of API requests in the current hour by one person, by one app, or by all callers without credentials.
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

    /// Counts an API request for the caller's rate limit. If the limit is reached, the request is refused and not
    /// counted.
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

    /// Undoes the count of one API request for the caller's rate limit.
    func refund(_ viewer: Viewer, in world: World) throws -> RateStatus {
        try world.update { tables in
            _ = tables.change(RequestCount.self, rateKey(viewer)) { $0.used = max(0, $0.used - 1) }
            return rate(of: viewer, tables)
        }
    }

    /// Returns the caller's count of API requests in the current hour: `known`, or a new count if `known` is `nil` or
    /// its hour is over.
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
