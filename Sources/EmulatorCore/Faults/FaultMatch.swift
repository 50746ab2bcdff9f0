import HTTPServer
import JSON

/// The requests to which a fault applies. A member that is left out matches everything.
package struct FaultMatch: SchemaObject {
    package static let schemaName: String? = "FaultMatch"

    package let host: String?
    /// A pattern of the path, in which `*` stands for any characters.
    package let path: String?
    package let method: String?
    package let client: String?
    /// The owner of the keys with which the endpoint signs tokens.
    package let tokensOf: String?
    /// The fields of the query, the form or the JSON body that must have these values.
    package let fields: [(name: String, value: String)]
    /// The step of SMTP to which the fault applies; `nil` for requests.
    package let smtp: SMTPStep?
    /// Patterns of the envelope's sender and of a recipient, in lower case.
    package let from: String?
    package let to: String?
    /// The match as the test ordered it.
    package let document: JSONValue

    package init(_ fields: inout Fields) {
        document = .object(fields.written)
        host = fields.optional("host", .text(FaultMatch.host), "The provider's host, such as \"appleid.apple.com\".")?
            .lowercased()
        path = fields.optional(
            "path", .text(FaultMatch.path),
            "The path at `host`, or without `host` a path such as \"/oidc/corp/token\"; \"*\" stands for any characters."
        )
        method = fields.optional("method", .text(.nonEmpty), "\"GET\", \"POST\"…")?.uppercased()
        client = fields.optional("client", .text(.nonEmpty), "The client ID; at Firebase, the project.")
        tokensOf = fields.optional(
            "tokensOf", .text(.nonEmpty),
            "The issuer of the endpoint's ID tokens: a provider, or \"openid.\" and an issuer's id.")
        self.fields =
            fields.optional(
                "fields", .map(of: .text(.any)), "Fields of the query, form or JSON body, such as \"grant_type\".")
            ?? []
        smtp = fields.optional(
            "smtp", .choice(SMTPStep.self), "Mail in place of requests: at which command, or at the end of a message.")
        from = fields.optional(
            "from", .text(FaultMatch.address),
            "With \"smtp\": the envelope's sender; \"*\" stands for any characters.")?.lowercased()
        to = fields.optional(
            "to", .text(FaultMatch.address), "With \"smtp\": a recipient; \"*\" stands for any characters.")?
            .lowercased()
    }

    private static let address = TextRule(about: "an address or a pattern, of at most 320 bytes", pattern: ".*") {
        $0.utf8.count <= 320
    }

    /// The rule for patterns of paths, which are compared with the path of every endpoint.
    private static let path = TextRule(
        about: "a path that begins with \"/\" or \"*\", of at most 1,024 bytes, or 256 with \"*\"", pattern: "^[/*]"
    ) {
        ($0.hasPrefix("/") || $0.hasPrefix("*")) && $0.utf8.count <= ($0.utf8.contains(UInt8(ascii: "*")) ? 256 : 1_024)
    }
    private static let host = TextRule(about: "a host's name, of at most 253 bytes", pattern: ".+") {
        !$0.isEmpty && $0.utf8.count <= 253
    }

    /// Returns whether the fault applies to this host of an endpoint, which may be a pattern such as
    /// `*.firebaseapp.com`, and is `nil` for the daemon's own address.
    package func takes(host known: String?) -> Bool {
        guard let host else { return true }
        guard let known else { return false }
        return Glob.matches(known, host) || Glob.matches(host, known)
    }

    /// Returns whether the fault applies to this request to `endpoint`, which has these short addresses. `client` is
    /// called last, because it may have to read the world.
    func takes(
        _ exchange: Exchange, at endpoint: Endpoint, shortPaths: () -> [String], client name: () -> String?,
        fields sent: () -> [String: String]
    ) -> Bool {
        guard smtp == nil else { return false }
        if let method, method != exchange.request.method { return false }
        if let tokensOf, endpoint.traits?.mints?.name != tokensOf { return false }
        if let host, exchange.address.host.map({ Glob.matches(host, $0) }) != true { return false }
        if let path, !endpoint.paths(of: exchange).contains(where: { Glob.matches(path, $0) }) {
            guard host == nil, shortPaths().contains(where: { Glob.matches(path, $0) }) else { return false }
        }
        if !fields.isEmpty {
            let sent = sent()
            guard fields.allSatisfy({ field in sent[field.name] == field.value }) else { return false }
        }
        return client.map { $0 == name() } ?? true
    }

    /// Returns whether the fault applies to this step of SMTP. Of several recipients, one must match.
    func takes(_ step: SMTPStep, from sender: String?, to recipients: [String]) -> Bool {
        guard smtp == step else { return false }
        if let from, sender.map({ Glob.matches(from, $0.lowercased()) }) != true { return false }
        guard let to else { return true }
        return recipients.contains { Glob.matches(to, $0.lowercased()) }
    }
}

/// Patterns in which `*` stands for any characters.
package enum Glob {
    private static let star = UInt8(ascii: "*")

    static func isPattern(_ text: String) -> Bool { text.utf8.contains(star) }

    /// Returns whether the text matches the pattern. Takes linear time: the parts between the stars are searched one
    /// after the other, each at its first occurrence.
    package static func matches(_ pattern: String, _ text: String) -> Bool {
        guard pattern.utf8.contains(star) else { return pattern == text }
        let parts = Array(pattern.utf8).split(separator: star, omittingEmptySubsequences: false)
        var rest = Array(text.utf8)[...]
        guard let first = parts.first, let last = parts.last, rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        guard rest.count >= last.count, rest.suffix(last.count).elementsEqual(last) else { return false }
        rest = rest.dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let end = TextSearch(exactly: part).end(in: rest) else { return false }
            rest = rest[end...]
        }
        return true
    }

    /// Returns whether any text matches both patterns. Takes time proportional to the product of their lengths, so they
    /// must be short.
    package static func overlap(_ left: String, _ right: String) -> Bool {
        guard left.utf8.contains(star) else { return matches(right, left) }
        guard right.utf8.contains(star) else { return matches(left, right) }
        let right = Array(right.utf8)
        // `row[j]` is whether any text matches both the first i bytes of `left` and the first j of `right`.
        var row = [Bool](repeating: false, count: right.count + 1)
        row[0] = true
        for j in right.indices where right[j] == star { row[j + 1] = row[j] }
        var next = row
        for byte in left.utf8 {
            next[0] = byte == star && row[0]
            for (j, other) in right.enumerated() {
                let isOpen = byte == star || other == star
                next[j + 1] = row[j] && (isOpen || byte == other) || isOpen && (row[j + 1] || next[j])
            }
            swap(&row, &next)
        }
        return row[right.count]
    }
}
