import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Time

/// A recorded request and its response for display: as JSON, as an entry of a HAR file, and for pages. With
/// `--mask-secrets`, secrets are masked.
package struct ExchangeDocument: Sendable {
    package let known: KnownExchange
    private let mask: Mask?
    /// Whether bodies, and texts that may quote them, are hidden. This is so if secrets must be masked, but a body is
    /// incomplete or unreadable: secrets in such a body can't be found.
    package let isWithheld: Bool

    package init(_ known: KnownExchange, masksSecrets: Bool) {
        self.known = known
        mask = masksSecrets ? Mask(known.exchange) : nil
        isWithheld = masksSecrets && (known.exchange.isCut || !known.exchange.isRequestBodyRead)
    }

    package var isMasked: Bool { mask != nil }

    package func shown(_ text: String) -> String { mask?.apply(to: text) ?? text }

    /// Returns a form, a query or a URL with its secrets masked.
    package func shown(encoded text: String) -> String { mask?.apply(toEncoded: text) ?? text }

    func shown(body text: String, type: String?) -> String {
        let isForm = type?.mediaType == "application/x-www-form-urlencoded" && !Array(text.utf8).holdsJSON
        return isForm ? shown(encoded: text) : shown(text)
    }

    /// The reason why the request was refused, with secrets masked; `nil` if it wasn't refused.
    package var diagnosis: String? { known.exchange.diagnosis.map { isWithheld ? "masked" : shown($0) } }

    /// The note on what is surprising in a successful response, with secrets masked.
    package var note: String? { known.exchange.note.map { isWithheld ? "masked" : shown($0) } }

    /// The evidence that the provider really answers in this way, or the reason for the answer if there is no public
    /// source; `nil` if the answer doesn't imitate a provider.
    package var evidence: Evidence? { known.exchange.evidence.flatMap { Evidence(line: $0) } }

    /// The request's method, host and path: `POST appleid.apple.com/auth/token`.
    package var name: String {
        "\(known.exchange.request.method) \(known.exchange.host ?? "")\(shown(encoded: known.exchange.path))"
    }

    var json: JSONValue {
        let exchange = known.exchange
        var object = JSONObject([("id", .string(exchange.id)), ("flow", .string(known.flow))])
        object["parent"] = exchange.parent.map { .string($0) }
        object["time"] = .string(exchange.time.text)
        object["durationMilliseconds"] = .number(Double(exchange.duration) / 1000)
        object["host"] = exchange.host.map { .string($0) }
        object["path"] = .string(shown(encoded: exchange.path))
        object["method"] = .string(exchange.request.method)
        object["client"] = known.client.map { .string($0) }
        object["mail"] = mail
        object["status"] = .integer(Int64(exchange.response.status))
        object["diagnosis"] = diagnosis.map { .string($0) }
        object["note"] = note.map { .string($0) }
        object["evidence"] = evidence.map { known in
            var evidence = JSONObject([("kind", .string(known.kind.rawValue)), ("source", .string(known.source))])
            evidence["date"] = known.date.map { .string($0) }
            return .object(evidence)
        }
        object["fault"] = exchange.fault.map { .string(shown($0)) }
        var request = JSONObject([("target", .string(shown(encoded: target)))])
        request["headers"] = headers(exchange.request.headers)
        add(
            body: exchange.request.body, size: exchange.requestBodySize,
            type: exchange.request.header("Content-Type"), to: &request)
        object["request"] = .object(request)
        var response = JSONObject([("headers", headers(exchange.response.headers))])
        switch exchange.response.delivery {
        case .whole, .stream: break
        case .dropped: response["disconnected"] = "beforeHeaders"
        case .cut: response["disconnected"] = "midBody"
        }
        add(
            body: exchange.response.body, size: exchange.responseBodySize,
            type: exchange.response.header("Content-Type"), to: &response)
        object["response"] = .object(response)
        let tokens = tokens
        if !tokens.isEmpty { object["tokens"] = .array(tokens) }
        return .object(object)
    }

    /// The envelope of a received mail as JSON, with the IDs of the inbox's messages that were made of the mail.
    private var mail: JSONValue? {
        guard let mail = known.exchange.mail else { return nil }
        var object = JSONObject()
        object["from"] = mail.sender.map { .string($0) }
        object["to"] = .array(mail.recipients.map { .string($0) })
        object["user"] = mail.user.map { .string($0) }
        object["tls"] = .bool(mail.isSecure)
        object["messages"] = .array(mail.messages.map { .string($0) })
        return .object(object)
    }

    private var target: String {
        let request = known.exchange.request
        return request.path + (request.query.map { "?\($0)" } ?? "")
    }

    func headers(_ headers: [(name: String, value: String)]) -> JSONValue {
        .array(shown(headers: headers).map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    package func shown(headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        headers.map { header in
            if isWithheld, [Diagnosis.headerName, Note.headerName].contains(header.name) {
                return (name: header.name, value: "masked")
            }
            let isURL = ["location", "referer"].contains(header.name.lowercased())
            return (name: header.name, value: isURL ? shown(encoded: header.value) : shown(header.value))
        }
    }

    /// The body of a recorded request or response, prepared for display.
    package enum Body: Sendable {
        case text(String)
        /// The body isn't UTF-8, and so is shown as bytes.
        case bytes([UInt8])
        /// The body isn't shown, because secrets in it can't be found and masked.
        case withheld
    }

    package func shown(body: [UInt8], type: String?) -> Body {
        if isWithheld { return .withheld }
        if let text = String(validating: body, as: UTF8.self) { return .text(shown(body: text, type: type)) }
        // Secrets can't be masked within base64.
        guard mask != nil else { return .bytes(body) }
        return .text(shown(body: String(decoding: body, as: UTF8.self), type: type))
    }

    private func add(body: [UInt8], size: Int, type: String?, to object: inout JSONObject) {
        if size > body.count {
            object["bodySize"] = .integer(Int64(size))
            object["bodyShown"] = .integer(Int64(isWithheld ? 0 : body.count))
        }
        switch shown(body: body, type: type) {
        case .withheld: object["body"] = .string("masked-\(size)")
        case .text(let text): object["body"] = .string(text)
        case .bytes(let bytes): object["bodyBase64"] = .string(Base64.encode(bytes))
        }
    }

    /// A JSON Web Token, signed or not, that was found in a recorded request or response.
    package struct FoundToken: Sendable {
        package let finding: Finding
        package let token: JWS
    }

    /// The JSON Web Tokens in a recorded request and its response, each listed once. The list is empty if the bodies
    /// are hidden, because secrets in them couldn't be found and masked.
    package var foundTokens: [FoundToken] {
        var seen: Set<String> = []
        guard !isWithheld else { return [] }
        return (known.exchange.requestFindings + known.exchange.responseFindings).compactMap { finding in
            guard finding.value.hasPrefix("eyJ"), seen.insert(finding.value).inserted,
                let token = try? JWS(parsing: finding.value)
            else { return nil }
            return FoundToken(finding: finding, token: token)
        }
    }

    private var tokens: [JSONValue] {
        foundTokens.map { found in
            [
                "place": .string(found.finding.place), "header": .object(found.token.header),
                "claims": .object(found.token.claims), "signed": .bool(!found.token.signature.isEmpty),
            ]
        }
    }
}

extension ExchangeDocument {
    static let schema = Schema.members(
        "Exchange",
        [
            .required("id", .string, "The request's ID in answers, diagnoses and the log."),
            .required("flow", .string, "The sign-in's first request."),
            .optional("parent", .string, "The cause: a request's ID, or \"scenario\" for a scenario."),
            .required("time", .time, "The request's time, by the world's clock."),
            .required("durationMilliseconds", .number(0...1e15), "The response time."),
            .optional("host", .string, "The provider's host; if absent, the daemon's own address."),
            .required("path", .string, "The path of the URL."), .required("method", .string, "The method."),
            .optional("client", .string, "The client's ID, if it is known."),
            .optional("mail", mailSchema, "The envelope of a mail."),
            .required("status", .integer(0...999), "The answer's status."),
            .optional("diagnosis", .string, "Why the request failed."),
            .optional("note", .string, "A warning about a successful response."),
            .optional("evidence", evidenceSchema, "Evidence for the provider's response."),
            .optional("fault", .string, "The injected fault that occurred."),
            .required("request", requestSchema, "The request."),
            .required("response", responseSchema, "The answer."),
            .optional("tokens", .sequence(of: tokenSchema), "The JSON Web Tokens."),
            .optional("world", .string, "Test world, if several were queried."),
            .optional("gone", .boolean, "The request's world is gone or reset."),
        ])

    private static let evidenceSchema = Schema.members([
        .required(
            "kind", .choice(Evidence.Kind.allCases.map(\.rawValue)),
            "How the behaviour is known: from documentation, a specification, a recording, a report, or not at all."
        ),
        .required("source", .string, "The evidence's URL, or Understudy's reason."),
        .optional("date", .string, "The evidence's date, as \"2024-05\"."),
    ])

    private static let mailSchema = Schema.members([
        .optional("from", .string, "The envelope's sender."), .required("to", .strings(), "The envelope's recipients."),
        .optional("user", .string, "The user of the SMTP session."),
        .required("tls", .boolean, "Whether the connection is encrypted."),
        .required("messages", .strings(), "IDs of inbox messages of this mail."),
    ])

    private static let headersSchema = Schema.sequence(
        of: .members([
            .required("name", .string, "The field's name."), .required("value", .string, "The field's value."),
        ]))

    private static let bodyFields: [Schema.Field] = [
        .optional("bodySize", .count, "The size of the whole body in bytes, if parts are omitted."),
        .optional("bodyShown", .count, "How many body bytes are shown."),
        .optional("body", .string, "The body, as text."),
        .optional("bodyBase64", .string, "Base64 of a non-UTF-8 body."),
    ]

    private static let requestSchema = Schema.members(
        [
            .required("target", .string, "Path and query, as they were sent."),
            .required("headers", headersSchema, "The header fields."),
        ] + bodyFields)

    private static let responseSchema = Schema.members(
        [
            .required("headers", headersSchema, "The header fields."),
            .optional(
                "disconnected", .choice(["beforeHeaders", "midBody"]), "The point of disconnection."),
        ] + bodyFields)

    private static let tokenSchema = Schema.members([
        .required("place", .string, "The token's position."),
        .required("header", .map(of: .any), "The token's header."),
        .required("claims", .map(of: .any), "The token's claims."),
        .required("signed", .boolean, "Whether the token is signed."),
    ])

    static let listSchema = Schema.members(
        "Exchanges",
        [
            .required("requests", .sequence(of: schema), "The requests, the oldest first."),
            .optional("last", .string, "Last listed request's ID."),
            .optional("more", .boolean, "Whether more requests follow after `last`."),
            .optional(
                "dropped", .count,
                "How many of the world's requests were dropped because the recording was full."),
        ])

    /// The schema of a HAR file: <http://www.softwareishard.com/blog/har-12-spec/>.
    static let harSchema = Schema.members(
        "HTTPArchive",
        [
            .required(
                "log",
                .members([
                    .required("version", .choice(["1.2"]), "The format's version."),
                    .required("creator", .map(of: .string), "The HAR file's creator."),
                    .optional("pages", .sequence(of: .any), "One HAR page per world, if there are several."),
                    .optional("_mail", .sequence(of: schema), "Recorded mail (not HTTP)."),
                    .required("entries", .sequence(of: .any), "The exchanges."),
                    .optional("comment", .string, "The value of `after` for the next page, if there is one."),
                ]), "The archive: HAR 1.2.")
        ])
}

extension ExchangeDocument {
    /// A recorded request and its response as an entry of a HAR file:
    /// <http://www.softwareishard.com/blog/har-12-spec/#entries>.
    var harEntry: JSONValue {
        let exchange = known.exchange
        let base = "https://\(exchange.host ?? "localhost")"
        let query = exchange.request.queryForm.fields.map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(shown(field.value))]
        }
        var request = JSONObject([
            ("method", .string(exchange.request.method)),
            ("url", .string(base + shown(encoded: exchange.path + (exchange.request.query.map { "?\($0)" } ?? "")))),
            ("httpVersion", "HTTP/1.1"), ("cookies", []), ("headers", headers(exchange.request.headers)),
            ("queryString", .array(query)), ("headersSize", -1),
            ("bodySize", .integer(Int64(exchange.requestBodySize))),
        ])
        if !exchange.request.body.isEmpty {
            request["postData"] = [
                "mimeType": .string(exchange.request.header("Content-Type") ?? ""),
                "text": .string(
                    harText(exchange.request.body, exchange.requestBodySize, exchange.request.header("Content-Type"))),
            ]
        }
        let response: JSONValue = [
            "status": .integer(Int64(exchange.response.status)), "statusText": "", "httpVersion": "HTTP/1.1",
            "cookies": [], "headers": headers(exchange.response.headers),
            "content": [
                "size": .integer(Int64(exchange.responseBodySize)),
                "mimeType": .string(exchange.response.header("Content-Type") ?? ""),
                "text": .string(
                    harText(
                        exchange.response.body, exchange.responseBodySize, exchange.response.header("Content-Type"))),
            ],
            "redirectURL": .string(shown(encoded: exchange.response.header("Location") ?? "")), "headersSize": -1,
            "bodySize": .integer(Int64(exchange.responseBodySize)),
        ]
        let milliseconds = Double(exchange.duration) / 1000
        var entry = JSONObject([
            ("startedDateTime", .string(Instant.text(microseconds: exchange.began))),
            ("time", .number(milliseconds)), ("request", .object(request)), ("response", response), ("cache", [:]),
            ("timings", ["send": 0, "wait": .number(milliseconds), "receive": 0]),
        ])
        entry["comment"] = (diagnosis ?? note).map { .string($0) }
        return .object(entry)
    }

    private func harText(_ body: [UInt8], _ size: Int, _ type: String?) -> String {
        isWithheld ? "masked-\(size)" : shown(body: String(decoding: body, as: UTF8.self), type: type)
    }

    /// Returns a HAR file. If the file doesn't have room for all requests, `last` is the ID of its last request, and
    /// the file says that more follow; otherwise `last` is `nil`. If `worlds` is true, each test world becomes a page
    /// of the HAR file: <http://www.softwareishard.com/blog/har-12-spec/#pages>.
    static func har(
        _ documents: [ExchangeDocument], version: String, goesOnAfter last: String?, worlds: Bool = false
    ) -> JSONValue {
        var log = JSONObject([
            ("version", "1.2"), ("creator", ["name": "Understudy", "version": .string(version)]),
        ])
        if worlds { log["pages"] = .array(pages(documents)) }
        // All entries are HTTP exchanges. A viewer skips members that begin with an underscore:
        // http://www.softwareishard.com/blog/har-12-spec/#customFields
        let mail = documents.filter { $0.known.exchange.mail != nil }
        if !mail.isEmpty { log["_mail"] = .array(mail.map(\.json)) }
        log["entries"] = .array(
            documents.filter { $0.known.exchange.mail == nil }.map { document in
                guard worlds, case .object(var entry) = document.harEntry else { return document.harEntry }
                entry["pageref"] = .string(document.known.exchange.world)
                return .object(entry)
            })
        log["comment"] = last.map { .string("more requests follow: get them with after=\($0)") }
        return ["log": .object(log)]
    }

    private static func pages(_ documents: [ExchangeDocument]) -> [JSONValue] {
        var seen: Set<String> = []
        return documents.map(\.known.exchange).filter { seen.insert($0.world).inserted }.map { exchange in
            [
                "startedDateTime": .string(Instant.text(microseconds: exchange.began)), "id": .string(exchange.world),
                "title": .string("the world \(exchange.world)"), "pageTimings": [:],
            ]
        }
    }
}

/// Texts from recorded requests, to be shown on the daemon's web pages. With `--mask-secrets`, secrets in the texts are
/// masked.
extension ControlAPI {
    /// Returns the reason why a recorded request was refused; `nil` if it wasn't refused.
    package func shownDiagnosis(of known: KnownExchange) -> String? {
        guard masksSecrets else { return known.exchange.diagnosis }
        return ExchangeDocument(known, masksSecrets: true).diagnosis
    }

    /// Returns a description of the fault that changed a recorded response; `nil` if there was none.
    package func shownFault(of known: KnownExchange) -> String? {
        guard masksSecrets else { return known.exchange.fault }
        return known.exchange.fault.map { Mask(known.exchange).apply(to: $0) }
    }

    /// Returns a recorded request's path, without the query.
    package func shownPath(of known: KnownExchange) -> String {
        guard masksSecrets else { return known.exchange.path }
        return Mask(known.exchange).apply(toEncoded: known.exchange.path)
    }

    /// Returns the given recorded requests and their responses as one HAR file, however long the file is.
    package func archive(of known: [KnownExchange]) -> Response {
        let documents = known.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        return ControlAnswer.ok(ExchangeDocument.har(documents, version: version, goesOnAfter: nil))
    }
}
