import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Text

/// The explanation of a value that somebody has pasted, such as a token, a code or a callback's URL.
package struct PastedValue: Sendable {
    /// The kind of value that a pasted text was recognized to be, such as "A callback URL".
    package let kind: String
    package let parts: [ExplainedPart]
    /// The parsed token, if the pasted value is a JSON Web Token.
    package let token: ReadToken?

    /// Whether the pasted value has passed all checks.
    package var isSound: Bool { parts.allSatisfy { $0.findings.allSatisfy { $0.holds ?? true } } }

    init(_ kind: String, _ parts: [ExplainedPart], token: ReadToken? = nil) {
        self.kind = kind
        self.parts = parts
        self.token = token
    }

    /// The greatest number of bytes of a pasted value. A callback's URL with an ID token has about 2,000.
    package static let limit = 32 << 10
}

extension ValueReader {
    /// Recognizes the pasted `text` by its form, and returns what this test world knows about it. `rawNonce` is the
    /// nonce before hashing, which is compared with a pasted token's nonce. This searches the recording of requests, so
    /// don't call it on a server's worker thread.
    package func explain(_ text: String, rawNonce: String? = nil) throws -> PastedValue {
        let text = text.trimmed
        let rawNonce = rawNonce.flatMap { $0.isEmpty ? nil : $0 }
        let search = RecordingSearch(world.recording.known().exchanges)
        let bare = text.dropFirst(text.lowercased().hasPrefix("bearer ") ? 7 : 0).filter { !$0.isWhitespace }
        if RecordingSearch.isToken(bare), !bare.contains("&") { return try explain(token: bare, rawNonce, search) }
        if let returned = ReturnedValues(text) {
            let kind = returned.address == nil ? "The result of a sign-in" : "A callback URL"
            return PastedValue(kind, try read(returned, in: search))
        }
        if let address = explain(address: text) { return address }
        let form = providers.explainers.lazy.compactMap { $0.explain(token: bare, meantAsIDToken: false) }.first
        if form != nil || issued(bare) != nil || search.maker(of: bare) != nil {
            let known = issuedFindings(bare, name: nil, returnedTo: nil, search)
            return PastedValue("A code or a token", (form ?? []) + [ExplainedPart("In this world", known)])
        }
        return seeded(text) ?? explain(nonce: text, search)
    }

    /// Explains an e-mail address; `nil` if `address` isn't one. Call this before a search for codes and tokens:
    /// recorded responses contain e-mail addresses, too, which the search would take for codes or tokens.
    private func explain(address: String) -> PastedValue? {
        guard TextRule.email.holds(address) else { return nil }
        let kind = providers.explainers.lazy.compactMap { $0.kind(ofEmail: address.lowercased()) }.first
        let finding = ExplainedPart.Finding(
            holds: nil, "the text is \(kind ?? "an ordinary address"), not a code or a token")
        return PastedValue("An e-mail address", [ExplainedPart("Address", [finding])])
    }

    /// Explains a text that is the ID or the secret of a client in the seed; `nil` for any other text.
    private func seeded(_ text: String) -> PastedValue? {
        for section in world.seed.sections {
            for client in section.seededClients {
                let name = "\(client.kind) \(Diagnosis.quote(client.id))"
                if client.id == text {
                    return PastedValue("A client's ID", [ExplainedPart("In the seed", [.init(holds: true, name)])])
                }
                if section.secret(ofClient: client.id) == text {
                    let words = "the secret of \(name); other clients may have the same secret"
                    return PastedValue("A client secret", [ExplainedPart("In the seed", [.init(holds: true, words)])])
                }
            }
        }
        return nil
    }

    private func explain(token text: String, _ rawNonce: String?, _ search: RecordingSearch) throws -> PastedValue {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            let finding = ExplainedPart.Finding(holds: false, "the token can't be read: \(error.description)")
            return PastedValue("A JSON Web Token", [ExplainedPart("JSON Web Token", [finding])])
        }
        let maker = search.maker(of: text)?.exchange
        let sender = maker == nil ? search.senders(of: text).first : nil
        let field = maker == nil && sender == nil ? nil : fieldName(of: text, in: maker ?? sender?.exchange)
        let read = try read(token, text: text, surroundings(of: text, field: field, in: search, rawNonce: rawNonce))
        var origin: [ExplainedPart.Finding] = []
        if let maker {
            origin.append(
                .init(
                    holds: nil, "a provider issued the token in response to a recorded request of this world",
                    exchange: maker.id))
        }
        origin += search.senders(of: text).suffix(3).map {
            .init(holds: nil, "the token was sent to \($0.exchange.host ?? "this daemon")", exchange: $0.exchange.id)
        }
        let parts = read.parts + (origin.isEmpty ? [] : [ExplainedPart("In the recording", origin)])
        return PastedValue("A JSON Web Token: \(read.title)", parts, token: read)
    }

    private func fieldName(of value: String, in exchange: RecordedExchange?) -> String? {
        guard let exchange else { return nil }
        return (exchange.responseFindings + exchange.requestFindings).first { $0.value == value }?.name
    }

    // MARK: - Nonces

    /// Explains a text that may be a raw nonce or a nonce's hash.
    private func explain(nonce text: String, _ search: RecordingSearch) -> PastedValue {
        var found: [ExplainedPart.Finding] = []
        for asked in search.asked("nonce").suffix(200) {
            let receiver = provider(of: asked.known.exchange).map { ValueReader.title(of: $0) } ?? "the provider"
            let comparison = NonceComparison(tokenNonce: asked.value, rawNonce: text)
            guard comparison != .unrelated else { continue }
            let words =
                switch comparison {
                case .matches: "this text's SHA-256 was sent to \(receiver) as the nonce, as it should be"
                case .hashGivenAsRawNonce:
                    "this text was sent to \(receiver) as the nonce, as it should be if it is a SHA-256"
                // Whether that is right depends on the program that compares it, which isn't known here.
                case .rawNonceSent:
                    "this text was sent to \(receiver) unhashed: correct for a backend that compares it with the nonce "
                        + "in the token; if Firebase is the backend, send the text's SHA-256 to \(receiver), and the "
                        + "text itself to Firebase"
                default: comparison.explanation(provider: receiver)
                }
            let holds: Bool? =
                comparison == .rawNonceSent
                ? nil : [NonceComparison.matches, .hashGivenAsRawNonce].contains(comparison)
            found.append(.init(holds: holds, words, exchange: asked.known.exchange.id))
        }
        let isHash = text.utf8.count == 64 && Hex.decode(text) != nil
        let advice = isHash ? [] : providers.explainers.flatMap { $0.explain(rawNonce: text) }
        if found.isEmpty {
            found = [.init(holds: nil, "no recorded request of this world sent this text or its SHA-256 as a nonce")]
        }
        return PastedValue(
            isHash ? "A SHA-256, as of a nonce" : "Perhaps a raw nonce: the text has no other known form",
            advice + [ExplainedPart("In the recording", Array(found.suffix(10)))])
    }
}
