import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings

/// The column of a page that shows a recorded request or response: its address or status, its fields, cookies, headers
/// and body.
struct MessageColumn {
    let document: ExchangeDocument
    /// The browser's request for the page, as opposed to the recorded request that the page shows.
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
        let title = exchange.mail == nil ? name.capitalizedFirst : ofRequest ? "Conversation" : "Reply"
        return .of(
            "section.card.exchange-message", ["aria-labelledby": "\(name)-title"],
            .of("h2#\(name)-title", .text(title)), .group(ofRequest ? address : answer), cookies,
            .group(bodyPart), exchange.mail == nil ? headerTable : nil)
    }

    // MARK: - Address and status

    private var address: [HTML] {
        let request = exchange.request
        if let mail = exchange.mail {
            // Only a sender and recipients that the server accepted are listed.
            let sender = mail.sender.map { [("From", $0.isEmpty ? "nobody (a report)" : $0)] } ?? []
            let rows = sender + mail.recipients.prefix(FieldTable.limit).map { ("To", $0) }
            return rows.isEmpty ? [] : [FieldTable(caption: "Envelope", rows: rows).html]
        }
        let place = "\(exchange.host.map { "https://\($0)" } ?? "")\(document.shown(encoded: exchange.path))"
        let fields = document.isWithheld ? [] : request.queryForm.fields
        let query =
            document.isWithheld && request.query != nil
            ? HTML.of("p.soft", "The query is masked.")
            : FieldTable(caption: "Query", rows: fields.map { ($0.name, document.shown($0.value)) }).htmlIfAny
        return [
            .of(
                "p.exchange-address", .of("strong", ShownText.isolated(request.method, limit: 40)), " ",
                ShownText.code(place)), query ?? "",
        ] + nested("request.query")
    }

    private var answer: [HTML] {
        let status = exchange.response.status
        var parts: [HTML] = [.of("p.exchange-address", .of("strong", "\(status) \(StatusWords.of(status))"))]
        guard let location = exchange.response.header("Location") else { return parts }
        let shown = document.shown(encoded: location)
        let mark = shown.firstIndex { $0 == "?" || $0 == "#" } ?? shown.endIndex
        let values = shown[mark...].split { $0 == "?" || $0 == "#" }.flatMap { Form(parsing: $0).fields }
        parts.append(.of("p.exchange-address", "Redirects to ", ShownText.code(String(shown[..<mark]))))
        let caption = shown[mark...].hasPrefix("#") ? "In its fragment" : "In its query"
        parts.append(FieldTable(caption: caption, rows: values.map { ($0.name, $0.value) }).htmlIfAny ?? "")
        return parts
    }

    // MARK: - Cookies and headers

    private var cookies: HTML? {
        let rows = headers.flatMap { header -> [(String, String)] in
            switch header.name.lowercased() {
            case "cookie" where ofRequest:
                header.value.split(separator: ";", maxSplits: 100).map { MessageColumn.pair($0.drop { $0 == " " }) }
            case "set-cookie" where !ofRequest: [MessageColumn.pair(header.value[...])]
            default: []
            }
        }
        return FieldTable(
            caption: ofRequest ? "Cookies" : "Cookies that are set",
            // A cookie's value is masked with the whole header.
            rows: rows.map { ($0, document.isMasked ? "masked-\($1.utf8.count)" : $1) }
        ).htmlIfAny
    }

    private static func pair(_ text: Substring) -> (String, String) {
        guard let mark = text.firstIndex(of: "=") else { return (String(text), "") }
        return (String(text[..<mark]), String(text[mark...].dropFirst()))
    }

    private var headerTable: HTML? {
        guard !headers.isEmpty else { return nil }
        let rows = document.shown(headers: headers).filter {
            ![Diagnosis.headerName, Note.headerName, Evidence.headerName].contains($0.name)
        }
        return .of(
            "details", ["open": rows.count <= 8], .of("summary", "Headers (\(rows.count))"),
            FieldTable(caption: "Headers", rows: rows.map { ($0.name, $0.value) }, isCaptionSpoken: true).html)
    }

    // MARK: - Body

    private var bodyPart: [HTML] {
        guard bodySize > 0 else { return [.of("p.soft", "No body.")] }
        let save = HTML.of(
            "a.button.quiet.small",
            [
                "href": page.inspector("requests/\(exchange.id)/\(name)-body"),
                "download": Inspector.bodyName(exchange.id, ofRequest: ofRequest),
            ], "Save the \(name)'s body")
        var parts: [HTML] = [
            .of(
                "div.row.exchange-body-title", .of("h3", "Body"),
                .of(
                    "span.soft.small", "\(bodySize) bytes",
                    type.map { .group([", ", ShownText.isolated($0, limit: 100)]) }),
                document.isWithheld ? nil : save)
        ]
        if bodySize > body.count {
            parts.append(.of("p.note.warn.small", "Only the first \(body.count) of \(bodySize) bytes were recorded."))
        }
        switch document.shown(body: body, type: type) {
        case .withheld: parts.append(.of("p.soft", "The body is masked."))
        case .bytes(let bytes): parts += BodyView.bytes(bytes, label: "The \(name)'s body")
        case .text(let text): parts += BodyView.text(text, type: type, label: "The \(name)'s body")
        }
        return parts + nested("\(name).body")
    }

    /// Returns a table for each form or URL that is nested in a part of the message. `place` is the part's path, such
    /// as `request.body`.
    private func nested(_ place: String) -> [HTML] {
        guard !document.isWithheld else { return [] }
        let all = ofRequest ? exchange.requestFindings : exchange.responseFindings
        let findings = all.filter { $0.place.hasPrefix(place) }.prefix(FieldTable.limit)
        return findings.filter { $0.value.contains("=") }.compactMap { outer in
            let inner = findings.filter { finding in
                finding.place.hasPrefix("\(outer.place).") || finding.place.hasPrefix("\(outer.place) → ")
            }
            return FieldTable(
                caption: "Within \(ShownText.plain(outer.name, limit: 60))",
                rows: inner.map { ($0.name, document.shown($0.value)) }
            ).htmlIfAny
        }
    }
}

/// The reason phrases of HTTP statuses. HTTP/2 no longer sends them, but people still use them:
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

/// Shows a recorded body: JSON with line breaks, a form as a table, any other text unchanged, and binary data as a dump
/// of the beginning.
enum BodyView {
    /// The greatest number of bytes of a body that a page shows.
    static let limit = 24 << 10

    static func text(_ text: String, type: String?, label: String) -> [HTML] {
        let bytes = Array(text.utf8)
        let kind = type?.mediaType ?? ""
        if bytes.holdsJSON {
            var layout = JSONLayout(limit: limit)
            layout.add(bytes)
            return [source(layout.text, label: label)] + (layout.isCut ? [cut] : [])
        }
        if kind == "application/x-www-form-urlencoded" {
            let fields = Form(parsing: bytes).fields
            return [FieldTable(caption: "Form", rows: fields.map { ($0.name, $0.value) }).html]
        }
        return [source(text, label: label)] + (bytes.count > limit ? [cut] : [])
    }

    static func bytes(_ bytes: [UInt8], label: String) -> [HTML] {
        let note = "The body isn't UTF-8: these are its first \(min(bytes.count, HexDump.limit)) bytes."
        return [.small(note), source(HexDump.text(bytes), label: label)]
    }

    private static let cut = HTML.small("Only the beginning of the body is shown here: save it to see all.")

    private static func source(_ text: String, label: String) -> HTML {
        .of(
            "pre", ["tabindex": "0", "role": "region", "aria-label": label],
            .text(ShownText.source(text, limit: limit)))
    }
}

/// Formats JSON with one member or element a line. Values aren't parsed, so duplicate names, numbers of any length and
/// incomplete JSON are shown as they are.
struct JSONLayout {
    /// The deepest level to which formatted JSON is indented, so that indentation can't make the text much longer.
    private static let deepest = 16

    private let limit: Int
    private var output: [UInt8] = []
    private var level = 0
    private(set) var isCut = false

    /// Makes a formatter of JSON. `limit` is the greatest number of bytes of its output.
    init(limit: Int) { self.limit = limit }

    var text: String { String(decoding: output, as: UTF8.self) }

    mutating func add(_ bytes: [UInt8]) {
        var isInText = false
        var place = 0
        while place < bytes.count {
            guard output.count < limit else {
                isCut = true
                return
            }
            let byte = bytes[place]
            place += 1
            if isInText {
                output.append(byte)
                if byte == UInt8(ascii: "\\"), place < bytes.count {
                    output.append(bytes[place])
                    place += 1
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case UInt8(ascii: "\""):
                output.append(byte)
                isInText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): place = open(byte, bytes, place)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                level = max(0, level - 1)
                breakLine()
                output.append(byte)
            case UInt8(ascii: ","):
                output.append(byte)
                breakLine()
            case UInt8(ascii: ":"): output += [byte, 0x20]
            default: output.append(byte)
            }
        }
    }

    /// Writes the opening bracket of a JSON object or array. An empty one is closed on the same line. Returns the index
    /// at which the input continues.
    private mutating func open(_ byte: UInt8, _ bytes: [UInt8], _ place: Int) -> Int {
        output.append(byte)
        var next = place
        while next < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[next]) { next += 1 }
        if next < bytes.count, bytes[next] == UInt8(ascii: "}") || bytes[next] == UInt8(ascii: "]") {
            output.append(bytes[next])
            return next + 1
        }
        level += 1
        breakLine()
        return next
    }

    private mutating func breakLine() {
        output.append(0x0A)
        output += [UInt8](repeating: 0x20, count: 2 * min(level, JSONLayout.deepest))
    }
}

enum HexDump {
    /// The greatest number of bytes that a hexadecimal dump shows.
    static let limit = 512

    /// Returns a dump of `bytes` with sixteen bytes a line: the position, the hexadecimal digits, and the ASCII
    /// characters.
    static func text(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(limit)
        return stride(from: 0, to: shown.count, by: 16).map { start in
            let line = shown[start..<min(start + 16, shown.count)]
            let digits = line.map { Hex.encode([$0]) }.joined(separator: " ")
            let text = line.map { (0x20..<0x7F).contains($0) ? String(Unicode.Scalar($0)) : "." }.joined()
            let pad = String(repeating: " ", count: 47 - digits.utf8.count)
            return Hex.encode([UInt8(truncatingIfNeeded: start >> 8), UInt8(truncatingIfNeeded: start)])
                + "  \(digits)\(pad)  \(text)"
        }.joined(separator: "\n")
    }
}

/// An HTML table of names and values, one a row. Repeated names keep their order.
struct FieldTable {
    /// The greatest number of rows that a table of names and values shows.
    static let limit = 100
    /// The approximate number of bytes of names and values after which a table shows no more rows.
    private static let byteLimit = 24 << 10
    private static let valueLimit = 4 << 10
    private static let folded = 300

    let caption: String
    let rows: [(String, String)]
    /// Whether the table's caption is read by screen readers only, and not shown.
    var isCaptionSpoken = false

    var htmlIfAny: HTML? { rows.isEmpty ? nil : html }

    var html: HTML {
        var size = 0
        let shown = rows.prefix(FieldTable.limit).prefix { row in
            defer { size += min(row.0.utf8.count, 500) + min(row.1.utf8.count, FieldTable.valueLimit) }
            return size < FieldTable.byteLimit
        }
        return .group([
            .table(
                "exchange-fields", [], caption: isCaptionSpoken ? nil : .text(caption),
                label: isCaptionSpoken ? caption : nil, headed: true,
                shown.map { [ShownText.isolated($0, limit: 500), FieldTable.value($1)] }),
            .more(rows.count - shown.count, "more rows aren't shown in this table. The JSON has them all.") ?? "",
        ])
    }

    /// Returns a value of the table as HTML. A long value, such as a token, is collapsed, so that the table's other
    /// rows stay in view.
    private static func value(_ value: String) -> HTML {
        guard !value.isEmpty else { return .soft("empty") }
        guard value.utf8.count > folded else { return ShownText.code(value) }
        return .of(
            "details.exchange-long",
            .of("summary", ShownText.code(BoundedText.shortened(value, to: 20)), .soft(" \(value.utf8.count) bytes")),
            ShownText.code(value, limit: valueLimit))
    }
}
