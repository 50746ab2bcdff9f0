import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// A difference between the recorded answer of a real provider and the answer of this program.
package struct Difference: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case status
        /// The provider's answer and this program's differ in form: in the content type, in whether the body can be
        /// read, in the target of a redirect, in the type of a value, or in whether a token is a JWT.
        case form
        /// A JSON member, parameter or header is only in the provider's answer, or only in this program's; or the
        /// schemes of `WWW-Authenticate` differ.
        case member
        /// The provider and this program both answer with an error, but with different words or values.
        case error
        /// The provider's answer and this program's have different values where the protocol fixes the value, such as
        /// `token_type`.
        case value
    }

    package let kind: Kind
    package let text: String
}

/// Compares the recorded answer of a real provider with the answer of this program. Tokens, times, IDs and user data
/// differ in every sign-in, so only their form is compared.
struct AnswerComparison {
    /// The JSON members whose values the protocol fixes. They must be equal in the provider's recorded answer and in
    /// this program's answer.
    private static let fixed: Set<String> = [
        "token_type", "scope", "expires_in", "refresh_token_expires_in", "issued_token_type", "alg", "typ", "iss",
        "aud",
        "issuer", "kind", "active", "kty", "use", "interval",
    ]
    /// The JSON members of error answers whose values differ in every answer. Members with secrets aren't listed.
    private static let momentary: Set<String> = [
        "state", "nonce", "request_id", "requestid", "trace_id", "fbtrace_id", "correlation_id", "timestamp", "id",
        "url", "date", "request-id", "client-request-id",
    ]
    /// The number of seconds by which lifetimes, such as `expires_in`, may differ between the provider's answer and
    /// this program's.
    private static let tolerance: Int64 = 5

    private(set) var differences: [Difference] = []
    /// The host to which the request was sent, and to which a redirect without a host leads.
    private let host: String
    /// Returns, for a value in the recording such as a code, the value that this program has issued instead.
    private let translated: (String) -> String
    private var isRefusal = false

    init(host: String, translated: @escaping (String) -> String) { (self.host, self.translated) = (host, translated) }

    // MARK: - Answers

    mutating func compare(_ theirs: Response, _ ours: Response) {
        if theirs.status != ours.status {
            add(.status, "\(theirs.status) in the recording, \(ours.status) in Understudy")
        }
        let types = (AnswerComparison.type(of: theirs), AnswerComparison.type(of: ours))
        if types.0 != types.1 {
            add(.form, "the content type is \(types.0) in the recording, \(types.1) in Understudy")
        }
        let challenges = (theirs.header("WWW-Authenticate"), ours.header("WWW-Authenticate"))
        if challenges.0.map(AnswerComparison.scheme) != challenges.1.map(AnswerComparison.scheme) {
            add(
                .member,
                "WWW-Authenticate is \(challenges.0.map { "\"\(AnswerComparison.scheme(of: $0))\"" } ?? "missing") "
                    + "in the recording, \(challenges.1.map { "\"\(AnswerComparison.scheme(of: $0))\"" } ?? "missing") "
                    + "in Understudy")
        }
        switch (theirs.header("Location"), ours.header("Location")) {
        case (let location?, let own?):
            compareDestinations(location, own)
            compareParameters(AnswerComparison.parameters(of: location), AnswerComparison.parameters(of: own))
        case (nil, nil): break
        case (let location, _):
            add(
                .member,
                location == nil ? "only Understudy's response has Location" : "only the recorded response has Location")
        }
        let bodies = (Body(of: theirs), Body(of: ours))
        guard case (.value(let body), .value(let own)) = bodies else {
            if types.0 == types.1, bodies.0.title != bodies.1.title {
                add(.form, "the response is \(bodies.0.title) in the recording, \(bodies.1.title) in Understudy")
            }
            return
        }
        isRefusal = theirs.status >= 400 || body["error"] != nil
        compare(body, own, at: "")
    }

    /// Compares the targets of the provider's and of this program's redirect or posted form, without their parameters.
    mutating func compareDestinations(_ theirs: String, _ ours: String) {
        let there = destination(of: theirs).split(separator: "/", omittingEmptySubsequences: false)
            .map { translated(String($0)) }.joined(separator: "/")
        let here = destination(of: ours)
        if there != here { add(.form, "the response leads to \(there) in the recording, to \(here) in Understudy") }
    }

    mutating func compareParameters(_ theirs: JSONObject, _ ours: JSONObject) {
        isRefusal = theirs["error"] != nil
        compare(.object(theirs), .object(ours), at: "")
    }

    // MARK: - Values

    private mutating func compare(_ theirs: JSONValue, _ ours: JSONValue, at place: String) {
        switch (theirs, ours) {
        case (.object(let theirs), .object(let ours)):
            for (key, value) in theirs.members {
                let place = BoundedText.extended(place, place.isEmpty ? key : ".\(key)")
                if let own = ours[key] {
                    compare(value, own, at: place)
                } else {
                    add(.member, "only the recorded response has \(place)")
                }
            }
            for key in ours.keys where theirs[key] == nil {
                add(
                    .member,
                    "only Understudy's response has \(BoundedText.extended(place, place.isEmpty ? key : ".\(key)"))")
            }
        case (.array(let theirs), .array(let ours)):
            let names = (theirs.compactMap(\.string), ours.compactMap(\.string))
            if place.hasSuffix("_supported"), Set(names.0) != Set(names.1) {
                add(
                    .value,
                    "\(place) is \(names.0.joined(separator: " ")) in the recording, "
                        + "\(names.1.joined(separator: " ")) in Understudy"
                )
            } else if let first = theirs.first, let own = ours.first {
                // The elements of a list are of one form.
                compare(first, own, at: "\(place)[0]")
            }
        case (.null, _) where !isRefusal, (_, .null) where !isRefusal: break
        case (.string(let theirs), .string(let ours)): compare(theirs, ours, at: place)
        default:
            guard theirs.kindName == ours.kindName else {
                return add(.form, "\(place) is \(theirs.kindName) in the recording, \(ours.kindName) in Understudy")
            }
            guard isCompared(place), theirs != ours else { return }
            if let one = theirs.integer, let other = ours.integer, !isRefusal,
                one.subtractingReportingOverflow(other).partialValue.magnitude <= AnswerComparison.tolerance
            {
                return
            }
            add(isRefusal ? .error : .value, "\(place) is \(theirs.text) in the recording, \(ours.text) in Understudy")
        }
    }

    private mutating func compare(_ theirs: String, _ ours: String, at place: String) {
        switch (try? JWS(parsing: theirs), try? JWS(parsing: ours)) {
        case (let theirs?, let ours?):
            let wasRefusal = isRefusal
            isRefusal = false
            defer { isRefusal = wasRefusal }
            compare(.object(theirs.header), .object(ours.header), at: "\(place).header")
            return compare(.object(theirs.claims), .object(ours.claims), at: "\(place).claims")
        case (nil, nil): break
        case (let there, _):
            return add(
                .form, "\(place) is a JWT only in \(there == nil ? "Understudy's response" : "the recorded response")")
        }
        guard isCompared(place) else { return }
        let texts = (AnswerComparison.withoutTrace(theirs), AnswerComparison.withoutTrace(ours))
        guard !AnswerComparison.areSame(translatedWords(texts.0), texts.1) else { return }
        add(isRefusal ? .error : .value, "\(place) is \"\(texts.0)\" in the recording, \"\(texts.1)\" in Understudy")
    }

    private func isCompared(_ place: String) -> Bool {
        let name = place.split(separator: ".").last.map { String($0.prefix { $0 != "[" }) } ?? ""
        if isRefusal {
            return !AnswerComparison.momentary.contains(name.lowercased())
                && (!Mask.isSecret(name) || place.hasPrefix("error"))
        }
        return AnswerComparison.fixed.contains(name) || name.hasSuffix("_endpoint") || name.hasSuffix("_supported")
    }

    private func translatedWords(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { translated(String($0)) }.joined(
            separator: " ")
    }

    /// Returns an error message of Microsoft Entra ID without the IDs and the time at its end: "Trace ID: … Correlation
    /// ID: … Timestamp: …".
    private static func withoutTrace(_ text: String) -> String {
        guard let trace = text.firstRange(of: "Trace ID: "),
            text[trace.upperBound...].firstRange(of: "Correlation ID: ") != nil
        else { return text }
        let rest = text[..<trace.lowerBound]
        return String(rest[..<(rest.lastIndex { !$0.isWhitespace }.map(rest.index(after:)) ?? rest.startIndex)])
    }

    /// Whether a text in the recorded answer and a text in this program's answer are equal, apart from the origins of
    /// URLs and the sequence of scopes.
    private static func areSame(_ theirs: String, _ ours: String) -> Bool {
        if theirs == ours || path(of: theirs) == path(of: ours) { return true }
        let separators: Set<Character> = [" ", ","]
        let words = (theirs.split { separators.contains($0) }, ours.split { separators.contains($0) })
        return words.0.map { path(of: String($0)) }.sorted() == words.1.map { path(of: String($0)) }.sorted()
    }

    private mutating func add(_ kind: Difference.Kind, _ text: String) {
        differences.append(Difference(kind: kind, text: text))
    }

    // MARK: - Parts

    /// Returns the path of an HTTP URL, without the provider's host. Of any other text, everything before `?` or `#` is
    /// returned.
    private static func path(of url: String) -> String {
        let place = url.prefix { $0 != "?" && $0 != "#" }
        guard place.lowercased().hasPrefix("http"), let mark = place.firstRange(of: "://") else { return String(place) }
        let rest = place[mark.upperBound...].drop { $0 != "/" }
        // At the daemon's own address, the path begins with the host.
        let first = rest.dropFirst().prefix { $0 != "/" }
        return String(first.contains(".") ? rest.dropFirst(1 + first.count) : rest)
    }

    /// Returns host and path of a URL, without the port. Of a URL whose scheme isn't HTTP or HTTPS, everything before
    /// the parameters is returned.
    private func destination(of url: String) -> String {
        let place = url.prefix { $0 != "?" && $0 != "#" }
        if place.hasPrefix("/"), !place.hasPrefix("//") { return host + place }
        guard let mark = place.firstRange(of: "//"),
            ["http:", "https:", ""].contains(place[..<mark.lowerBound].lowercased())
        else { return String(place) }
        let authority = place[mark.upperBound...].prefix { $0 != "/" }
        let path = place[authority.endIndex...]
        let name = authority.prefix { $0 != ":" }.lowercased()
        return name + (path.isEmpty ? "/" : path)
    }

    /// Returns the parameters of a URL's query and fragment.
    static func parameters(of url: String) -> JSONObject {
        guard let mark = url.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return JSONObject() }
        let fields = url[mark...].split(whereSeparator: { $0 == "?" || $0 == "#" }).flatMap {
            Form(parsing: $0).fields
        }
        return JSONObject(fields.map { ($0.name, .string($0.value)) })
    }

    private static func type(of response: Response) -> String {
        guard !response.body.isEmpty, !(300..<400).contains(response.status) else { return "none" }
        let type = response.header("Content-Type")?.mediaType ?? "none"
        return type == "text/javascript" ? "application/javascript" : type
    }

    private static func scheme(of challenge: String) -> String {
        challenge.split(separator: " ").first.map { $0.lowercased() } ?? ""
    }

    /// The body of an answer, in the form in which two answers are compared.
    private enum Body {
        case none
        /// The body is a web page. This program's pages differ from the provider's.
        case page
        /// The body is JSON, or has the fields of a form.
        case value(JSONValue)
        case unread

        init(of response: Response) {
            guard !response.body.isEmpty, !(300..<400).contains(response.status) else {
                self = .none
                return
            }
            switch response.header("Content-Type")?.mediaType ?? "" {
            case "application/x-www-form-urlencoded":
                let fields = Form(parsing: response.body).fields
                self = .value(.object(JSONObject(fields.map { ($0.name, .string($0.value)) })))
            case "text/html": self = .page
            default: self = (try? JSONValue(parsing: response.body, limits: .answer)).map { .value($0) } ?? .unread
            }
        }

        var title: String {
            switch self {
            case .none: "empty"
            case .page: "a page"
            case .value: "JSON"
            case .unread: "unreadable as JSON"
            }
        }
    }
}
