import HTTPServer
import JOSE
import JSON

/// A named value somewhere in a recorded request or answer, such as a form field or a member of JSON.
package struct Finding: Sendable {
    /// The place of the value in the recorded request or answer: a path such as `response.body.id_token`, which begins
    /// with `request` or `response`.
    package let place: String
    package let name: String
    package let value: String
}

extension RecordedExchange {
    /// The named values in a recorded request's query and in its body, a form or JSON. The query of the URL in the
    /// header Referer and the access token in the header Authorization are included.
    package var requestFindings: [Finding] { requestFindings(Finder(), request.jsonBody) }

    /// The named values, such as form fields, of a recorded request and of its response, at most 1,000 of each. To save
    /// time, their paths aren't determined: each `place` is empty.
    package var unplacedFindings: (request: [Finding], response: [Finding]) {
        (requestFindings(Finder(limit: 1_000), request.jsonBody), responseFindings(Finder(limit: 1_000)))
    }

    /// Returns the fields of a recorded request that have one of these names, and the fields whose values are
    /// themselves forms or URLs. To save time, their paths aren't determined: each `place` is empty. `json` is the
    /// request's body, parsed.
    func requestFindings(named names: Set<String>, _ json: JSONValue?) -> [Finding] {
        requestFindings(Finder(only: names), json)
    }

    private func requestFindings(_ finder: Finder, _ json: JSONValue?) -> [Finding] {
        var finder = finder
        finder.add(request.queryForm, "request.query")
        if let json {
            finder.add(json, name: "", "request.body")
        } else {
            finder.add(request.bodyForm, "request.body")
        }
        if let referrer = request.header("Referer") { finder.add(url: referrer, "request.headers.Referer") }
        let words = (request.header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, ["bearer", "token", "firebase"].contains(words[0].lowercased()) {
            finder.add("access_token", String(words[1]), "request.headers.Authorization")
        } else if let basic = BasicCredentials.read(request), request.holdsToken(basic) {
            finder.add("access_token", basic.user, "request.headers.Authorization")
        }
        return finder.findings
    }

    /// Whether the request's named values include every value in its body. This is true for a form, and for JSON in
    /// which no name occurs twice.
    package var isRequestBodyRead: Bool {
        guard !request.body.isEmpty else { return true }
        if (try? JSONValue(parsing: request.body, limits: .control)) != nil { return true }
        return request.contentType == "application/x-www-form-urlencoded" && !request.body.holdsJSON
    }

    /// The named values of a recorded answer: those in its JSON, form or XML, and in the parameters of a redirect. In
    /// an HTML page, they are the fields of a form, and the members of the message that the page sends to its opener.
    package var responseFindings: [Finding] { responseFindings(Finder()) }

    /// Returns the fields of a recorded answer that have one of these names, and the fields whose values are themselves
    /// forms or URLs. To save time, their paths aren't determined: each `place` is empty.
    func responseFindings(named names: Set<String>) -> [Finding] { responseFindings(Finder(only: names)) }

    private func responseFindings(_ finder: Finder) -> [Finding] {
        var finder = finder
        if let location = response.header("Location") { finder.add(url: location, "response.headers.Location") }
        let type = response.header("Content-Type")?.mediaType ?? ""
        let text = { String(decoding: self.response.body, as: UTF8.self) }
        switch type {
        case "application/x-www-form-urlencoded": finder.add(Form(parsing: response.body), "response.body")
        case "text/html": finder.add(page: text(), "response.body")
        case "application/xml", "text/xml": finder.add(elements: text(), "response.body")
        case _ where response.body.holdsJSON: finder.add(json: response.body, "response.body")
        default: break
        }
        return finder.findings
    }
}

/// Collects the named values of forms, JSON, URLs and HTML pages. If the value of a field is itself a form or a URL,
/// its values are collected, too.
private struct Finder {
    /// The names of fields whose values are themselves forms or URLs.
    private static let carriers: Set<String> = ["postbody", "returnto", "requesturi", "request", "ooblink", "link"]
    private static let depthLimit = 8

    private(set) var findings: [Finding] = []
    private var depth = 0
    /// The names of the fields to find, in lower case without `_` and `-`; `nil` for all fields.
    private let names: Set<String>?
    /// Whether each found value gets a `place`: its path in the recorded request or answer. This takes much time and
    /// memory. If it is `false`, all places are empty.
    private let isPlacing: Bool
    /// The greatest number of values that are collected from one recorded request or answer. A recorded body may
    /// contain 100,000 values.
    private let limit: Int

    init(only names: Set<String>) { (self.names, isPlacing, limit) = (names, false, .max) }
    init() { (names, isPlacing, limit) = (nil, true, .max) }
    init(limit: Int) { (names, isPlacing, self.limit) = (nil, false, limit) }

    private func step(_ place: String, _ next: @autoclosure () -> String) -> String {
        isPlacing ? BoundedText.extended(place, next()) : ""
    }

    private mutating func append(_ name: String, _ value: String, _ place: String) {
        guard findings.count < limit else { return }
        findings.append(Finding(place: isPlacing ? place : "", name: name, value: value))
    }

    mutating func add(_ name: String, _ value: String, _ place: String) {
        let canonical = Traces.canonical(name)
        if let names {
            guard let canonical, names.contains(canonical) || Finder.carriers.contains(canonical) else { return }
        }
        append(name, value, place)
        guard let canonical, Finder.carriers.contains(canonical), depth < Finder.depthLimit else { return }
        depth += 1
        defer { depth -= 1 }
        if value.contains("?") {
            add(url: value, step(place, " → \(name)"))
        } else if value.contains("=") {
            add(Form(parsing: value), place)
        } else if let bytes = Base64URL.decode(value) {
            add(Form(parsing: bytes), place)
        }
    }

    mutating func add(_ form: Form, _ place: String) {
        for field in form.fields { add(field.name, field.value, step(place, ".\(field.name)")) }
    }

    mutating func add(url: String, _ place: String) {
        guard let mark = url.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return }
        for part in url[mark...].split(whereSeparator: { $0 == "?" || $0 == "#" }) { add(Form(parsing: part), place) }
    }

    mutating func add(json bytes: [UInt8], _ place: String) {
        guard let value = try? JSONValue(parsing: bytes, limits: .answer) else { return }
        add(value, name: "", place)
    }

    mutating func add(_ value: JSONValue, name: String, _ place: String) {
        switch value {
        case .string(let text): add(name, text, place)
        case .array(let items):
            for (number, item) in items.enumerated() { add(item, name: name, step(place, "[\(number)]")) }
        case .object(let object):
            // The member `code` of an error isn't an authorization code.
            for (key, value) in object.members where key != "error" {
                add(value, name: key, step(place, ".\(key)"))
            }
            if let error = object["error"] { add(error: error, step(place, ".error")) }
        default: break
        }
    }

    /// Collects the value of a JSON member `error`. If the value is an object, its `name`, `code` or `message` is
    /// collected.
    private mutating func add(error: JSONValue, _ place: String) {
        let name = error.string ?? ["name", "code", "message"].lazy.compactMap { error[$0]?.string }.first
        if let name { append("error", name, place) }
    }

    /// Collects the values of XML elements that contain only text: `<name>…</name>`.
    mutating func add(elements text: String, _ place: String) {
        for bytes in text.utf8.split(separator: UInt8(ascii: "<")) where bytes.first != UInt8(ascii: "/") {
            let part = Substring(bytes)
            guard let end = bytes.firstIndex(of: UInt8(ascii: ">")) else { continue }
            let name = String(part[..<end])
            add(name, Finder.unescaped(part[end...].dropFirst()), step(place, ".\(name)"))
        }
    }

    /// Collects the named values of an HTML page of the daemon: the form fields (`name="…" value="…"`), and the message
    /// that a popup sends to the page that opened it (`data-message="…"`).
    mutating func add(page: String, _ place: String) {
        // The texts between tags are skipped, such as a style sheet; a ">" in a value is escaped.
        let tags = page.utf8.split(separator: UInt8(ascii: "<")).map { $0.prefix { $0 != UInt8(ascii: ">") } }
        for tag in tags where Finder.holdsMessage(tag) {
            guard let text = Finder.attribute("data-message", of: Substring(tag)) else { continue }
            add(json: Array(text.utf8), place)
        }
        for tag in tags where tag.starts(with: "input ".utf8) {
            let tag = Substring(tag)
            guard let name = Finder.attribute("name", of: tag), let value = Finder.attribute("value", of: tag) else {
                continue
            }
            add(name, value, step(place, ".\(name)"))
        }
    }

    private static func holdsMessage(_ tag: Substring.UTF8View) -> Bool {
        let message = "data-message=\"".utf8
        return tag.indices.contains { tag[$0] == UInt8(ascii: "d") && tag[$0...].starts(with: message) }
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        guard let start = tag.firstRange(of: " \(name)=\"") else { return nil }
        return unescaped(Substring(tag[start.upperBound...].utf8.prefix { $0 != UInt8(ascii: "\"") }))
    }

    private static let entities: [(text: [UInt8], byte: UInt8)] = [
        ("quot;", "\""), ("#39;", "'"), ("lt;", "<"), ("gt;", ">"), ("amp;", "&"),
    ].map { (Array($0.0.utf8), UInt8(ascii: $0.1)) }

    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            let entity = byte == UInt8(ascii: "&") ? entities.first { rest.starts(with: $0.text) } : nil
            bytes.append(entity?.byte ?? byte)
            if let entity { rest.removeFirst(entity.text.count) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
