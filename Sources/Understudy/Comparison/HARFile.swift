import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

/// A recording of HTTP traffic in the form of an HTTP archive (HAR), as browsers and proxies write it:
/// <http://www.softwareishard.com/blog/har-12-spec/>. Only the parts that can be compared are read.
package struct HARFile: Sendable {
    package struct Entry: Sendable {
        /// The host in the recorded request's URL, in lower case and without port.
        let host: String
        let request: Request
        let response: Response
        let isAnswered: Bool
    }

    package static let entryLimit = 2_000

    package let entries: [Entry]
    /// The time of the recording's first request.
    let began: Instant?

    /// Reads a recording from an HTTP archive (HAR). `name` is the file's name, for messages.
    ///
    /// - Throws: An error with the JSON path of the first part that isn't valid in an HTTP archive.
    package init(_ bytes: [UInt8], name: String) throws(Issues) {
        let file: LocatedJSON
        do { file = LocatedJSON(try JSONValue(parsing: bytes, limits: .answer), file: name) } catch {
            throw Issues(file: name, "not JSON: \(error)")
        }
        guard let log = file["log"], log.value.object != nil else {
            throw Issues(file: name, "expected an HTTP archive: an object with a member \"log\"")
        }
        guard let list = log["entries"], list.value.array != nil else {
            throw Issues([Issue(log, "expected a list \"entries\"")])
        }
        guard list.items.count <= HARFile.entryLimit else {
            throw Issues([
                Issue(
                    list,
                    "the recording has \(list.items.count) entries; at most \(HARFile.entryLimit) can be compared: filter the recording"
                )
            ])
        }
        var entries: [Entry] = []
        for item in list.items { entries.append(try HARFile.entry(item)) }
        self.entries = entries
        guard let start = list.items.first?["startedDateTime"] else {
            began = nil
            return
        }
        guard let began = start.string.flatMap({ HARFile.instant($0) }) else {
            throw Issues([Issue(start, "expected a time such as \"2026-04-01T12:00:00Z\"")])
        }
        self.began = began
    }

    private static func entry(_ json: LocatedJSON) throws(Issues) -> Entry {
        let request = try member("request", of: json, "an object") { $0.object }
        let method = try text("method", of: request.json)
        guard !method.isEmpty, method.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }) else {
            throw Issues([Issue(request.json["method"] ?? request.json, "expected an HTTP method such as \"GET\"")])
        }
        let url = try text("url", of: request.json)
        guard let scheme = url.firstRange(of: "://"), url[..<scheme.lowerBound].lowercased().hasPrefix("http"),
            !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else {
            throw Issues([Issue(request.json["url"] ?? request.json, "expected an http or https URL")])
        }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last.map { String($0.prefix { $0 != ":" }).lowercased() } ?? ""
        let (headers, body) = (try self.headers(of: request.json), try body(of: request.json))
        let response = try member("response", of: json, "an object") { $0.object }
        let status = try member("status", of: response.json, "a status") { $0.integer }.value
        return Entry(
            host: host,
            request: Request(
                method: method.uppercased(), target: String(url.prefix { $0 != "#" }), headers: headers, body: body),
            response: Response(
                status: Int(clamping: status), headers: try self.headers(of: response.json),
                body: try content(of: response.json)),
            isAnswered: (100...599).contains(status))
    }

    private static func member<Value>(
        _ name: String, of json: LocatedJSON, _ expected: String, _ read: (JSONValue) -> Value?
    ) throws(Issues) -> (json: LocatedJSON, value: Value) {
        guard let member = json[name] else {
            throw Issues([Issue(json, "\"\(name)\" is missing: expected \(expected)")])
        }
        guard let value = read(member.value) else { throw Issues([Issue(member, "expected \(expected)")]) }
        return (member, value)
    }

    private static func text(_ name: String, of json: LocatedJSON) throws(Issues) -> String {
        try member(name, of: json, "a string") { $0.string }.value
    }

    /// Returns the headers of a recorded request or answer, without HTTP/2's pseudo-headers, whose names begin with a
    /// colon.
    private static func headers(of json: LocatedJSON) throws(Issues) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for item in json["headers"]?.items ?? [] {
            let (name, value) = (try text("name", of: item), try text("value", of: item))
            if name.hasPrefix(":") { continue }
            guard !name.isEmpty, !(name + value).utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                throw Issues([Issue(item, "an HTTP header has an empty name, or contains a line break")])
            }
            headers.append((name: name, value: value))
        }
        return headers
    }

    private static func body(of json: LocatedJSON) throws(Issues) -> [UInt8] {
        guard let data = json["postData"], !data.value.isNull else { return [] }
        if let text = data["text"]?.string, !text.isEmpty { return Array(text.utf8) }
        var fields: [Form.Field] = []
        for item in data["params"]?.items ?? [] {
            fields.append(Form.Field(name: try text("name", of: item), value: item["value"]?.string ?? ""))
        }
        return Array(Form(fields: fields).encoded.utf8)
    }

    private static func content(of json: LocatedJSON) throws(Issues) -> [UInt8] {
        guard let content = json["content"], let text = content["text"], let written = text.string else { return [] }
        guard content["encoding"]?.string == "base64" else { return Array(written.utf8) }
        guard let bytes = Base64.decode(written) else { throw Issues([Issue(text, "expected Base64")]) }
        return bytes
    }

    /// Reads a time such as `2026-08-01T12:00:00.123+02:00`; `nil` for another text.
    private static func instant(_ text: String) -> Instant? {
        if let instant = Instant(text) { return instant }
        let zone = text.suffix(6)
        guard zone.utf8.count == 6, let sign = zone.first, "+-".contains(sign), zone.dropFirst(3).first == ":",
            let hours = Int64(zone.dropFirst().prefix(2)), let minutes = Int64(zone.suffix(2)),
            let local = Instant(text.dropLast(6) + "Z")
        else { return nil }
        let offset = TimeSpan.minutes(hours * 60 + minutes)
        return sign == "+" ? local - offset : local + offset
    }
}
