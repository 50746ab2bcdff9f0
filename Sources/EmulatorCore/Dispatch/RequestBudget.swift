import HTTPServer
import JSON
import Text

/// Limits on the size of an HTTP request's fields. They are checked before the endpoint runs, and each provider words
/// its error response itself (`Provider.overBudget`). Few providers document their limits, so the limits here are
/// several times larger than what clients send.
package enum RequestBudget {
    /// The largest number of fields that a request's query or form may have.
    package static let fields = 1_000
    /// The largest number of bytes that the name of a query's or form's field may have.
    static let name = 256
    /// The largest number of bytes that the value of a field may have, unless the field has a limit of its own.
    package static let value = 1 << 16
    /// The largest number of bytes of the header `Host`: a DNS name has at most 253 bytes, and a port six.
    private static let hostName = 260
    /// The smallest of the limits on fields, in bytes. A query or form of at most this length needs no further check.
    private static let unnamed = 254

    /// Returns the largest number of bytes that the decoded value of the field `name` may have.
    static func limit(of name: String) -> Int {
        switch name {
        // RFC 5321 §4.5.3.1.3: a path has 256 octets with its brackets.
        case "email", "identifier", "login", "login_hint", "user_name": 254
        case "client_id", "app_id", "response_type", "response_mode", "grant_type", "prompt", "display", "user_code":
            1_024
        case "nonce": 4_096
        case "redirect_uri", "return_to", "continueUrl", "next", "cancel_url": 8_192
        // The value is repeated in a redirect's header.
        case "state", "scope", "code_verifier", "code_challenge": 8_192
        // Unknown credentials are refused by the endpoint, in the provider's words.
        case "code", "client_secret", "refresh_token", "access_token", "id_token", "token", "device_code", "assertion",
            "input_token":
            .max
        // The field has the whole seed of a world, in the inspector.
        case "seed": .max
        default: value
        }
    }

    /// Returns an explanation if the request has too many fields, too large a field, or too many Unicode combining
    /// marks in a row. Returns `nil` if the request exceeds no such limit.
    static func excess(of request: Request) -> Diagnosis? {
        // Paths and headers are short, but comparing many combining marks in a row takes quadratic time.
        if request.path.utf8.count > String.shortLength {
            let path = String(decoding: PercentCoding.decode(Array(request.path.utf8)[...]), as: UTF8.self)
            if path.hasEndlessMarks { return endlessMarks }
        }
        if request.headers.contains(where: { $0.value.hasEndlessMarks }) { return endlessMarks }
        if let host = request.header("Host"), host.utf8.count > hostName {
            return Diagnosis(
                received: "a header Host of \(host.utf8.count) bytes", expected: "at most \(hostName) bytes",
                "send a DNS name, and a port if need be")
        }
        let query = request.query.flatMap { query in
            isShort(query.utf8) ? nil : excess(of: Array(query.utf8), called: "query")
        }
        guard query == nil, request.contentType == "application/x-www-form-urlencoded", !request.body.holdsJSON else {
            return query
        }
        return isShort(request.body) ? nil : excess(of: request.body, called: "form")
    }

    /// Returns whether a query or form is so short that none of its fields can exceed a limit.
    private static func isShort(_ bytes: some Collection<UInt8>) -> Bool { bytes.count <= unnamed }

    private static func excess(of bytes: [UInt8], called what: String) -> Diagnosis? {
        var count = 0
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstPlace(of: UInt8(ascii: "&")) ?? rest.endIndex
            let pair = rest[..<end]
            rest = rest[end...].dropFirst()
            guard !pair.isEmpty else { continue }
            count += 1
            // Decoding never makes a text longer.
            guard count <= fields, pair.count > unnamed else { continue }
            let mark = pair.firstPlace(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard mark - pair.startIndex <= 3 * name else {
                return tooLong("a field name that is too long", name, what)
            }
            let label = PercentCoding.decode(pair[..<mark], plusIsSpace: true)
            guard label.count <= name else { return tooLong("a field name that is too long", name, what) }
            let text = String(decoding: label, as: UTF8.self)
            let limit = limit(of: text)
            let value = PercentCoding.decode(pair[mark...].dropFirst(), plusIsSpace: true)
            if String(decoding: value, as: UTF8.self).hasEndlessMarks {
                return endlessMarks
            }
            let length = value.count
            if length > limit { return tooLong("\(Diagnosis.quote(text)) of \(length) bytes", limit, what) }
        }
        guard count > fields else { return nil }
        return Diagnosis(
            received: "a \(what) of \(count) fields", expected: "at most \(fields) fields",
            "leave out the fields that the endpoint doesn't know"
        )
    }

    private static let endlessMarks = Diagnosis(
        received: "more than 30 Unicode combining marks in a row", "send an ordinary text")

    private static func tooLong(_ text: String, _ limit: Int, _ what: String) -> Diagnosis {
        Diagnosis(
            received: "\(text) in the \(what)", expected: "at most \(limit) bytes", "shorten the text")
    }
}
