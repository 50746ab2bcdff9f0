import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Time

/// An exchange for display: as JSON, as an entry of a HAR file, and for pages. Secrets are masked if they are to be.
package struct ExchangeDocument: Sendable {
    package let known: KnownExchange
    private let mask: Mask?
    /// Whether no body is shown, and no text that may quote one: in a body that isn't complete or can't be read,
    /// secrets can't be found.
    package let isWithheld: Bool

    package init(_ known: KnownExchange, masksSecrets: Bool) {
        self.known = known
        mask = masksSecrets ? Mask(known.exchange) : nil
        isWithheld = masksSecrets && (known.exchange.isCut || !known.exchange.isRequestBodyRead)
    }

    package var isMasked: Bool { mask != nil }

    package func shown(_ text: String) -> String { mask?.apply(to: text) ?? text }

    /// Returns a form, a query or a URL, masked.
    package func shown(encoded text: String) -> String { mask?.apply(toEncoded: text) ?? text }

    func shown(body text: String, type: String?) -> String {
        let isForm = type?.mediaType == "application/x-www-form-urlencoded" && !Array(text.utf8).holdsJSON
        return isForm ? shown(encoded: text) : shown(text)
    }

    /// The diagnosis, masked; `nil` if the request wasn't refused.
    package var diagnosis: String? { known.exchange.diagnosis.map { isWithheld ? "masked" : shown($0) } }

    /// The note on an answer that refuses nothing, masked.
    package var note: String? { known.exchange.note.map { isWithheld ? "masked" : shown($0) } }

    /// The request's method and address: `POST appleid.apple.com/auth/token`.
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

    /// The envelope of a mail, and its messages in the inbox.
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
            let isURL = ["location", "referer"].contains(header.name.lowercased())
            return (name: header.name, value: isURL ? shown(encoded: header.value) : shown(header.value))
        }
    }

    /// A body for display.
    package enum Body: Sendable {
        case text(String)
        /// The body isn't UTF-8.
        case bytes([UInt8])
        /// Secrets in the body can't be found.
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

    /// A JSON Web Token in the exchange, signed or not.
    package struct FoundToken: Sendable {
        package let finding: Finding
        package let token: JWS
    }

    /// The tokens, each of them once. There are none if a body can't be searched for secrets.
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
