import Control
import EmulatorCore
import HTTPServer
import JSON

/// A request or a response: its address or status, its fields, cookies, headers and body.
struct MessageColumn {
    let document: ExchangeDocument
    /// The exchange in which the page is requested.
    let page: Exchange
    let ofRequest: Bool

    private var exchange: RecordedExchange { document.known.exchange }
    private var name: String { ofRequest ? "request" : "response" }
    private var headers: [(name: String, value: String)] {
        ofRequest ? exchange.request.headers : exchange.response.headers
    }
    private var type: String? { headers.first { $0.name.lowercased() == "content-type" }?.value }
    private var body: [UInt8] { ofRequest ? exchange.request.body : exchange.response.body }
    private var bodySize: Int { ofRequest ? exchange.requestBodySize : exchange.responseBodySize }

    var html: HTML {
        .tag(
            "section", [("class", "card exchange-message"), ("aria-labelledby", "\(name)-title")],
            .tag("h2", [("id", "\(name)-title")], title),
            .group(ofRequest ? address : answer), .group(cookies), .group(bodyPart),
            .group(exchange.mail == nil ? headerTable : []))
    }

    private var title: String {
        guard exchange.mail == nil else { return ofRequest ? "Conversation" : "Reply" }
        return ofRequest ? "Request" : "Response"
    }

    // MARK: - Address and status

    private var address: [HTML] {
        let request = exchange.request
        if let mail = exchange.mail { return [MailFacts.envelope(mail)] }
        var parts: [HTML] = [
            .tag(
                "p", [("class", "exchange-address")], .tag("strong", [], ShownText.isolated(request.method, limit: 40)),
                .text(" "),
                ShownText.code(
                    "\(exchange.host.map { "https://\($0)" } ?? "")\(document.shown(encoded: exchange.path))"))
        ]
        let fields = document.isWithheld ? [] : request.queryForm.fields
        if !fields.isEmpty {
            parts.append(FieldTable(caption: "Query", rows: fields.map { ($0.name, document.shown($0.value)) }).html)
        } else if document.isWithheld, request.query != nil {
            parts.append(.tag("p", [("class", "soft")], "The query is masked."))
        }
        return parts + nested("request.query")
    }

    private var answer: [HTML] {
        let status = exchange.response.status
        var parts: [HTML] = [
            .tag("p", [("class", "exchange-address")], .tag("strong", [], "\(status) \(StatusWords.of(status))"))
        ]
        guard let location = exchange.response.header("Location") else { return parts }
        let shown = document.shown(encoded: location)
        let mark = shown.firstIndex { $0 == "?" || $0 == "#" }
        parts.append(
            .tag(
                "p", [("class", "exchange-address")], .text("Redirects to "),
                ShownText.code(mark.map { String(shown[..<$0]) } ?? shown)))
        let values = mark.map { mark in
            shown[mark...].split(whereSeparator: { $0 == "?" || $0 == "#" }).flatMap { Form(parsing: $0).fields }
        }
        if let values, !values.isEmpty {
            let caption = mark.map { shown[$0] == "#" } ?? false ? "In its fragment" : "In its query"
            parts.append(FieldTable(caption: caption, rows: values.map { ($0.name, $0.value) }).html)
        }
        return parts
    }

    // MARK: - Cookies and headers

    private var cookies: [HTML] {
        let rows = headers.flatMap { header -> [(String, String)] in
            switch header.name.lowercased() {
            case "cookie" where ofRequest:
                return header.value.split(separator: ";", maxSplits: 100).map {
                    MessageColumn.pair($0.drop { $0 == " " })
                }
            case "set-cookie" where !ofRequest: return [MessageColumn.pair(header.value[...])]
            default: return []
            }
        }
        guard !rows.isEmpty else { return [] }
        return [
            FieldTable(
                caption: ofRequest ? "Cookies" : "Cookies that are set",
                rows: rows.map { name, value in
                    // A cookie's value is masked with the whole header.
                    (name, document.isMasked ? "masked-\(value.utf8.count)" : value)
                }
            ).html
        ]
    }

    private static func pair(_ text: Substring) -> (String, String) {
        guard let mark = text.firstIndex(of: "=") else { return (String(text), "") }
        return (String(text[..<mark]), String(text[mark...].dropFirst()))
    }

    private var headerTable: [HTML] {
        guard !headers.isEmpty else { return [] }
        let rows = document.shown(headers: headers).filter {
            ![Diagnosis.headerName, Note.headerName].contains($0.name)
        }
        return [
            .tag(
                "details", rows.count <= 8 ? [("open", nil)] : [], .tag("summary", [], "Headers (\(rows.count))"),
                FieldTable(caption: "Headers", rows: rows.map { ($0.name, $0.value) }, isCaptionSpoken: true).html)
        ]
    }

    // MARK: - Body

    private var bodyPart: [HTML] {
        guard bodySize > 0 else { return [.tag("p", [("class", "soft")], "No body.")] }
        var parts: [HTML] = [
            .tag(
                "div", [("class", "row exchange-body-title")], .tag("h3", [], "Body"),
                .tag(
                    "span", [("class", "soft small")], .text("\(bodySize) bytes"),
                    type.map { .group([.text(", "), ShownText.isolated($0, limit: 100)]) } ?? .group([])),
                document.isWithheld
                    ? .group([])
                    : .tag(
                        "a",
                        [
                            ("class", "button quiet small"),
                            ("href", page.inspector("requests/\(exchange.id)/\(name)-body")),
                            ("download", Inspector.bodyName(exchange.id, ofRequest: ofRequest)),
                        ], "Save the \(name)'s body"))
        ]
        if bodySize > body.count {
            parts.append(
                .tag(
                    "p", [("class", "note warn small")], "Only the first \(body.count) of \(bodySize) bytes were kept.")
            )
        }
        switch document.shown(body: body, type: type) {
        case .withheld: parts.append(.tag("p", [("class", "soft")], "The body is masked."))
        case .bytes(let bytes): parts += BodyView.bytes(bytes, label: "The \(name)'s body")
        case .text(let text): parts += BodyView.text(text, type: type, label: "The \(name)'s body")
        }
        return parts + nested("\(name).body")
    }

    /// Returns the parsed forms and URLs within the fields below `place`.
    private func nested(_ place: String) -> [HTML] {
        guard !document.isWithheld else { return [] }
        let all = ofRequest ? exchange.requestFindings : exchange.responseFindings
        let findings = all.filter { $0.place.hasPrefix(place) }.prefix(FieldTable.limit)
        return findings.compactMap { outer in
            guard outer.value.contains("=") else { return nil }
            let inner = findings.filter { finding in
                finding.place.hasPrefix("\(outer.place).") || finding.place.hasPrefix("\(outer.place) → ")
            }
            guard !inner.isEmpty else { return nil }
            let rows = inner.map { ($0.name, document.shown($0.value)) }
            return FieldTable(caption: "Within \(ShownText.plain(outer.name, limit: 60))", rows: rows).html
        }
    }
}

/// The reason phrases, which HTTP/2 no longer has and people still use:
/// <https://www.rfc-editor.org/rfc/rfc9110#section-15>.
enum StatusWords {
    private static let words = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found",
        303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict", 410: "Gone", 413: "Content Too Large", 415: "Unsupported Media Type",
        422: "Unprocessable Content", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]

    static func of(_ status: Int) -> String { words[status] ?? "" }
}
