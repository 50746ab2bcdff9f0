import HTTPServer
import JSON

/// The conditions that a request or a mail must meet for a fault to apply. A condition that is left out is always met.
package struct FaultMatch: SchemaObject {
    package static let schemaName: String? = "FaultMatch"

    package let host: Glob?
    package let path: Glob?
    package let method: String?
    package let client: String?
    /// A provider or issuer. The fault applies only to endpoints that sign tokens with this provider's or issuer's
    /// keys. With `nil`, the fault applies to all endpoints.
    package let tokensOf: String?
    /// The fields of a request's query, form or JSON body, with the values that they must have for the fault to apply.
    package let fields: [(name: String, value: String)]
    /// The step of SMTP to which the fault applies; `nil` for a fault that applies to HTTP requests.
    package let smtp: SMTPStep?
    /// A pattern in lower case that the sender of a mail's envelope must match for the fault to apply.
    package let from: Glob?
    package let to: Glob?
    /// The fault's conditions as JSON, as the test or the seed has them.
    package let document: JSONValue

    package init(_ fields: inout Fields) {
        document = .object(fields.written)
        host = fields.optional("host", .text(FaultMatch.host), "The provider's host, such as \"appleid.apple.com\".")
            .map { Glob($0.lowercased()) }
        path = fields.optional(
            "path", .text(FaultMatch.path),
            "The path; \"*\" is any text. With a path of the daemon, such as \"/oidc/corp/token\", omit `host`."
        ).map { Glob($0) }
        method = fields.optional("method", .text(.nonEmpty), "\"GET\", \"POST\"…")?.uppercased()
        client = fields.optional("client", .text(.nonEmpty), "The client ID, or the Firebase project.")
        tokensOf = fields.optional(
            "tokensOf", .text(.nonEmpty),
            "The issuer of the endpoint's ID tokens: a provider such as \"google\", or an OpenID issuer such as "
                + "\"openid.corp\".")
        self.fields =
            fields.optional(
                "fields", .map(of: .text(.any)), "Fields of the query, form or JSON body, such as \"grant_type\".")
            ?? []
        smtp = fields.optional(
            "smtp", .choice(SMTPStep.self), "Match an SMTP step, not HTTP: a command, or \"MESSAGE\" for a whole mail.")
        from = fields.optional(
            "from", .text(FaultMatch.address),
            "If `smtp` is given: the mail's envelope sender; \"*\" stands for any characters."
        ).map { Glob($0.lowercased()) }
        to = fields.optional(
            "to", .text(FaultMatch.address),
            "If `smtp` is given: a recipient of the mail; \"*\" stands for any characters."
        ).map { Glob($0.lowercased()) }
    }

    private static let address = TextRule(
        about: "an e-mail address or a pattern, of at most 320 bytes, with at most 16 \"*\"", pattern: ".*"
    ) {
        $0.utf8.count <= 320 && TextRule.hasFewStars($0)
    }

    /// The rule for path patterns of faults. A pattern must be short because it is compared with the path of every
    /// endpoint.
    private static let path = TextRule(
        about:
            "a path of at most 1,024 bytes that begins with \"/\", or a pattern of at most 256 bytes that begins with "
            + "\"/\" or \"*\" and has up to 16 \"*\"",
        pattern: "^[/*]"
    ) {
        ($0.hasPrefix("/") || $0.hasPrefix("*")) && TextRule.hasFewStars($0)
            && $0.utf8.count <= ($0.utf8.contains(UInt8(ascii: "*")) ? 256 : 1_024)
    }
    private static let host = TextRule(
        about: "a host name or a pattern, of at most 253 bytes, with at most 16 \"*\"", pattern: ".+"
    ) {
        !$0.isEmpty && $0.utf8.count <= 253 && TextRule.hasFewStars($0)
    }

    /// Returns whether the fault can apply to an endpoint with the host `known`. An endpoint's host may be a pattern,
    /// such as `*.firebaseapp.com`. It is `nil` for an endpoint at the daemon's own address.
    package func accepts(host known: Glob?) -> Bool {
        guard let host else { return true }
        return known.map { host.overlaps($0) } ?? false
    }

    /// Returns whether the fault applies to an HTTP request (`exchange`) that `endpoint` answers. `shortPaths` returns
    /// the endpoint's paths at the daemon's own address. `client` returns the client's ID, and is called last because
    /// finding the ID may take long.
    func accepts(
        _ exchange: Exchange, at endpoint: Endpoint, shortPaths: () -> [String], client name: () -> String?,
        fields sent: () -> [String: String]
    ) -> Bool {
        guard smtp == nil else { return false }
        if let method, method != exchange.request.method { return false }
        if let tokensOf, endpoint.traits?.mints?.name != tokensOf { return false }
        if let host, exchange.address.host.map({ host.matches($0) }) != true { return false }
        if let path, !endpoint.paths(of: exchange).contains(where: { path.matches($0) }) {
            guard host == nil, shortPaths().contains(where: { path.matches($0) }) else { return false }
        }
        if !fields.isEmpty {
            let sent = sent()
            guard fields.allSatisfy({ field in sent[field.name] == field.value }) else { return false }
        }
        return client.map { $0 == name() } ?? true
    }

    /// Returns whether the fault applies to a step of SMTP with this sender and these recipients. If there are several
    /// recipients, it is enough that one of them matches.
    func accepts(_ step: SMTPStep, from sender: String?, to recipients: [String]) -> Bool {
        guard smtp == step else { return false }
        if let from, sender.map({ from.matches($0.lowercased()) }) != true { return false }
        guard let to else { return true }
        return recipients.contains { to.matches($0.lowercased()) }
    }
}
