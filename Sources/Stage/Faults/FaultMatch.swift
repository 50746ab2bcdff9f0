import HTTPServer
import JOSE

/// Which requests a fault is for. What is left out matches everything.
package struct FaultMatch: Sendable {
    package let host: String?
    /// `*` stands for any characters.
    package let path: String?
    package let method: String?
    package let client: String?
    /// Fields of the query, the form or the JSON body that must have these values.
    package let fields: [(name: String, value: String)]
    package let json: JSONValue

    package init(_ value: JSONValue) {
        json = value
        host = value["host"]?.string?.lowercased()
        path = value["path"]?.string
        method = value["method"]?.string?.uppercased()
        client = value["client"]?.string
        fields = (value["fields"]?.object?.members ?? []).map { (name: $0.key, value: $0.value.string ?? "") }
    }

    package static let shape = Shape.object([
        .optional("host", .text(.nonEmpty), "The provider's host, such as \"appleid.apple.com\"."),
        .optional("path", .text(path), "The path on that host; \"*\" stands for any characters."),
        .optional("method", .text(.nonEmpty), "\"GET\", \"POST\"…"),
        .optional("client", .text(.nonEmpty), "The client ID; at Firebase, the project."),
        .optional(
            "fields", .map(of: .text(.any)), "Fields of the query, form or JSON body, such as \"grant_type\"."),
    ])

    private static let path = TextRule(about: "a path that begins with \"/\" or \"*\"", pattern: "^[/*]") {
        $0.hasPrefix("/") || $0.hasPrefix("*")
    }

    /// Whether a host of the tables, perhaps a pattern such as `*.firebaseapp.com`, is meant. `nil` is our own address.
    package func takes(host known: String?) -> Bool {
        guard let host else { return true }
        guard let known else { return false }
        return Glob.matches(known, host) || Glob.matches(host, known)
    }

    /// Whether the request to `route` is meant. `client` is asked last, since it may take a look into the state.
    func takes(_ exchange: Exchange, at route: Route, client name: () -> String?) -> Bool {
        if let method, method != exchange.request.method { return false }
        if let host, exchange.address.host.map({ Glob.matches(host, $0) }) != true { return false }
        if let path, !route.paths(of: exchange).contains(where: { Glob.matches(path, $0) }) { return false }
        if !fields.isEmpty {
            let sent = exchange.fields
            guard fields.allSatisfy({ field in sent[field.name] == field.value }) else { return false }
        }
        return client.map { $0 == name() } ?? true
    }
}

/// Patterns in which `*` stands for any characters.
package enum Glob {
    package static func matches(_ pattern: String, _ text: String) -> Bool {
        guard pattern.contains("*") else { return pattern == text }
        return overlap(Array(pattern.utf8), Array(text.utf8), textHasStars: false)
    }

    /// Whether some text matches both patterns.
    package static func overlap(_ left: String, _ right: String) -> Bool {
        overlap(Array(left.utf8), Array(right.utf8), textHasStars: true)
    }

    /// Row by row, so that no pattern is expensive.
    private static func overlap(_ left: [UInt8], _ right: [UInt8], textHasStars: Bool) -> Bool {
        let star = UInt8(ascii: "*")
        func isStar(_ byte: UInt8) -> Bool { textHasStars && byte == star }
        // row[j]: whether the first i bytes of `left` fit the first j of `right`.
        var row = [true] + [Bool](repeating: false, count: right.count)
        for j in right.indices where isStar(right[j]) { row[j + 1] = row[j] }
        for byte in left {
            var next = [byte == star && row[0]]
            for (j, other) in right.enumerated() {
                if byte == star || isStar(other) {
                    next.append(row[j + 1] || next[j] || row[j])
                } else {
                    next.append(byte == other && row[j])
                }
            }
            row = next
        }
        return row[right.count]
    }
}
