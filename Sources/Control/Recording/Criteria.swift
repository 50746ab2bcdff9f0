import HTTPServer
import JSON
import EmulatorCore
import Recordings

/// Conditions on recorded requests: the query of `GET requests`, or an expectation of `POST verify`.
struct Criteria: SchemaObject {
    let host: Glob?
    let path: Glob?
    let method: String?
    let client: String?
    /// The response's status as a pattern: `401`, or `4xx`.
    let status: String?
    let flow: String?
    let isRefused: Bool?
    /// The fields of the request's query, form or JSON body, with the values that they must have.
    let fields: [(name: String, value: String)]

    init(_ fields: inout Fields) {
        self.init(&fields, ofQuery: false)
    }

    /// Reads from the query of `GET requests` which recorded requests to return. Only `POST verify`, which has a JSON
    /// body, can also compare the fields of recorded requests.
    init(query fields: inout Fields) { self.init(&fields, ofQuery: true) }

    private init(_ fields: inout Fields, ofQuery isQuery: Bool) {
        host = fields.optional(
            "host", .text(.pattern), "The provider's host; \"*\" matches any characters."
        ).map { Glob($0.lowercased()) }
        path = fields.optional("path", .text(.pattern), "The path; \"*\" matches any characters.").map { Glob($0) }
        method = fields.optional("method", .text(.nonEmpty), "\"GET\", \"POST\"…")?.uppercased()
        client = fields.optional("client", .text(.nonEmpty), "The client ID; at Firebase, the project.")
        let status = fields.optional(
            "status", .either(.integer(100...599), .text(Criteria.statusRule)),
            "The status, or a class: \"4xx\".")
        switch status {
        case .first(let number): self.status = String(number)
        case .second(let text): self.status = text
        case nil: self.status = nil
        }
        flow = fields.optional("flow", .text(.nonEmpty), "The ID of the first request of a sign-in.")
        isRefused = fields.optional("refused", .boolean, "Whether the request was refused.")
        self.fields =
            isQuery
            ? [] : fields.optional("fields", .map(of: .text(.any)), "Fields of the query, form or JSON body.") ?? []
    }

    private static let statusRule = TextRule(
        about: "a status such as \"401\", or a class such as \"4xx\"", pattern: "^[1-5]([0-9]{2}|xx)$"
    ) { text in
        let digits = Array(text.utf8)
        return digits.count == 3 && (0x31...0x35).contains(digits[0])
            && (text.hasSuffix("xx") || digits.allSatisfy { (0x30...0x39).contains($0) })
    }

    /// Returns a line for each condition that the recorded request doesn't meet. The list is empty if it meets all
    /// conditions.
    func differences(_ known: KnownExchange, _ fieldsSent: SentFields = SentFields()) -> [String] {
        let exchange = known.exchange
        var differences: [String] = []
        func compare(
            _ name: String, _ expected: String?, _ found: String?, by matches: ((String) -> Bool)? = nil
        ) {
            guard let expected else { return }
            if let found, matches?(found) ?? (found == expected) { return }
            let (wanted, was) = (
                BoundedText.shortened(expected, to: 200), BoundedText.shortened(found ?? "none", to: 200)
            )
            differences.append("\(name): expected \(wanted), was \(was)")
        }
        compare("host", host?.text, exchange.host, by: host?.matches)
        compare("path", path?.text, exchange.path, by: path?.matches)
        compare("method", method, exchange.request.method)
        compare("client", client, known.client)
        compare("flow", flow, known.flow)
        let found = String(exchange.response.status)
        if let status, status != found, !(status.hasSuffix("xx") && status.first == found.first) {
            differences.append("status: expected \(status), was \(found)")
        }
        if let isRefused, isRefused != (exchange.diagnosis != nil) {
            differences.append(
                isRefused ? "refused: it wasn't" : "refused: it was, because \(exchange.diagnosis ?? "")")
        }
        guard !fields.isEmpty else { return differences }
        let sent = fieldsSent.of(exchange)
        for field in fields {
            let values = sent[field.name] ?? []
            guard !values.contains(field.value) else { continue }
            let name = BoundedText.shortened(field.name, to: 100)
            let found = BoundedText.shortened(values.first ?? "missing", to: 200)
            differences.append("fields.\(name): expected \(BoundedText.shortened(field.value, to: 200)), was \(found)")
        }
        return differences
    }
}

/// The parsed fields of recorded requests, by name. They are kept so that each request is parsed only once for all
/// expectations.
final class SentFields {
    private var known: [String: [String: [String]]] = [:]

    func of(_ exchange: RecordedExchange) -> [String: [String]] {
        if let fields = known[exchange.id] { return fields }
        var fields: [String: [String]] = [:]
        for finding in exchange.requestFindings { fields[finding.name, default: []].append(finding.value) }
        known[exchange.id] = fields
        return fields
    }
}
