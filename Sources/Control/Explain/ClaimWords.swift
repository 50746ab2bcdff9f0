import EmulatorCore
import JOSE
import JSON
import Recordings
import Time

/// Explains each header member and each claim of a JSON Web Token in words.
struct ClaimWords {
    typealias Finding = ExplainedPart.Finding

    let reader: ValueReader
    let token: JWS
    let kind: TokenKind
    let issuer: (any Provider)?
    let surroundings: TokenSurroundings

    private var now: Instant { reader.now }

    private var issuerTitle: String {
        (surroundings.maker ?? issuer).map { ValueReader.title(of: $0) } ?? "the provider"
    }

    // MARK: - Header

    func header(_ name: String, _ value: JSONValue) -> [Finding] {
        switch name {
        case "alg":
            guard kind != .clientSecret else { return [] }
            let isKnown = value.string.map { $0 == "none" || Algorithm(rawValue: $0) != nil } ?? false
            return isKnown ? [] : [.init(holds: false, "no algorithm that anybody here signs with")]
        case "typ": return typeWords(value.string?.lowercased() ?? "")
        default: return []
        }
    }

    private func typeWords(_ type: String) -> [Finding] {
        let words: String? =
            switch type {
            case "at+jwt": "an access token (RFC 9068): it isn't for the client to read"
            case "logout+jwt": "the person was logged out elsewhere (back-channel logout)"
            case "oauth-authz-req+jwt": "an authorization request, signed (RFC 9101)"
            default: nil
            }
        return words.map { [.init(holds: nil, $0)] } ?? []
    }

    // MARK: - Claims

    func claim(_ name: String, _ value: JSONValue) -> [Finding] {
        if let finding = time(name, value) { return [finding] }
        switch name {
        case "iss": return [issuerFinding(value)]
        case "aud": return audienceFindings(value)
        case "azp": return value.string.map { [.init(holds: nil, clientWords($0) ?? "the client that asked")] } ?? []
        case "sub": return [subjectFinding(value)]
        case "nonce": return nonceFindings(value)
        case "at_hash": return [hashFinding(value, of: "access token", among: surroundings.accessTokens)]
        case "c_hash": return [hashFinding(value, of: "code", among: surroundings.codes)]
        case "email": return emailFindings(value)
        case "email_verified": return verifiedFindings(value)
        default: return ClaimMeanings.words(name, value).map { [.init(holds: nil, $0)] } ?? []
        }
    }

    /// The findings about claims that the token should have and lacks.
    var missing: [Finding] {
        var findings = kind.required.filter { token.claims[$0] == nil }.map { name in
            Finding(holds: false, "\(name) is missing: \(ClaimMeanings.advice[name] ?? "it is required")")
        }
        guard kind == .idToken, token.claims["nonce"] == nil else { return findings }
        if let raw = surroundings.rawNonce {
            let comparison = NonceComparison(tokenNonce: nil, rawNonce: raw.text)
            findings.append(
                .init(holds: false, comparison.explanation(provider: issuerTitle), exchange: raw.exchange))
        } else if let sent = surroundings.sentNonce {
            let advice = "nonce is missing, though \(sent.receiver) was sent one: refuse the token"
            findings.append(.init(holds: false, advice, exchange: sent.exchange))
        }
        return findings
    }

    // MARK: - Times

    private func time(_ name: String, _ value: JSONValue) -> Finding? {
        guard ["exp", "iat", "nbf", "auth_time"].contains(name) else { return nil }
        if value.isInMilliseconds {
            return .init(holds: false, "that is milliseconds: JWT times are seconds since 1970")
        }
        guard let time = value.numericDate else {
            return .init(holds: false, "not a whole number of seconds from 1970 to the year 9999")
        }
        let span = (time - now).inWords
        let isPast = time <= now
        switch name {
        case "exp":
            return isPast
                ? .init(holds: false, "expired \(span) ago by the world's clock: get a new one")
                : .init(holds: true, "expires in \(span), at \(time.text)")
        case "nbf":
            return isPast
                ? .init(holds: true, "valid since \(span) ago")
                : .init(holds: false, "not valid before \(span) from now: a clock is wrong")
        case "auth_time":
            return time > now + .minutes(1)
                ? .init(holds: false, "the person would have signed in \(span) from now: a clock is wrong")
                : .init(holds: nil, "the person signed in \(span) ago")
        default:
            return time > now + .minutes(1)
                ? .init(holds: false, "issued \(span) from now by the world's clock: a clock is wrong")
                : .init(holds: true, "issued \(span) ago by the world's clock")
        }
    }

    // MARK: - Issuer, subject and audience

    private func issuerFinding(_ value: JSONValue) -> Finding {
        guard let text = value.string else { return .init(holds: false, "it must be a string") }
        if kind == .clientSecret {
            return .init(holds: nil, "the client's own side: \(clientWords(text) ?? "a team or the client")")
        }
        if let maker = surroundings.maker, maker.name != issuer?.name {
            let found = issuer.map { "\(ValueReader.title(of: $0))'s" } ?? "nobody's here"
            return .init(
                holds: false, "not \(ValueReader.title(of: maker))'s, which made the token, but \(found): refuse it")
        }
        guard let issuer else {
            return .init(holds: false, "no provider of this world is called so: refuse the token")
        }
        let isReal = [issuer].explainers.contains { $0.isIssuer(text) }
        return .init(holds: true, ValueReader.title(of: issuer) + (isReal ? "" : ", at its address here"))
    }

    private func audienceFindings(_ value: JSONValue) -> [Finding] {
        let audiences = value.array?.compactMap(\.string) ?? value.string.map { [$0] } ?? []
        guard !audiences.isEmpty else { return [.init(holds: false, "it must be a string or a list of strings")] }
        if kind == .clientSecret {
            let provider = audiences.lazy.compactMap { reader.provider(ofIssuer: $0) }.first
            let words = provider.map { "meant for \(ValueReader.title(of: $0))" }
            return [
                .init(holds: provider != nil, words ?? "no provider of this world: it must be the provider's issuer")
            ]
        }
        if kind == .idToken, let client = surroundings.client, !audiences.contains(client.text) {
            let advice = "not for this client: it was asked for \(Diagnosis.quote(client.text))"
            return [.init(holds: false, advice, exchange: client.exchange)]
        }
        let isOurs = kind == .idToken || kind == .logoutToken
        return audiences.prefix(10).map { audience in
            if let words = clientWords(audience) { return .init(holds: isOurs ? true : nil, words) }
            guard isOurs, surroundings.client == nil, issuer != nil else { return .init(holds: nil, "whom it is for") }
            return .init(holds: false, "no client of \(issuerTitle)'s in this world's seed is called so")
        }
    }

    /// Describes the seed's client with this `client_id` in words; `nil` if the seed has no such client.
    private func clientWords(_ id: String) -> String? {
        let provider = surroundings.maker ?? issuer
        return reader.clients(of: provider).first { $0.id == id }.map { "a client of the seed: \($0.kind)" }
    }

    private func subjectFinding(_ value: JSONValue) -> Finding {
        guard let text = value.string, !text.isEmpty else { return .init(holds: false, "it must be a string") }
        guard kind != .clientSecret else { return .init(holds: nil, clientWords(text) ?? "the client_id") }
        let audience = token.claims["aud"]?.string ?? token.claims["aud"]?.array?.first?.string ?? ""
        let minting = (surroundings.maker ?? issuer) as? any MintsIDTokens
        let known = minting?.subject(text, of: audience, in: reader.world)
        return .init(holds: nil, known?.about ?? "nobody whom this world can name: the person's ID at \(issuerTitle)")
    }

    private func emailFindings(_ value: JSONValue) -> [Finding] {
        guard let email = value.string else { return [.init(holds: false, "it must be a string")] }
        let kinds = reader.providers.explainers.lazy.compactMap { $0.kind(ofEmail: email) }
        return kinds.first.map { [.init(holds: nil, $0)] } ?? []
    }

    private func verifiedFindings(_ value: JSONValue) -> [Finding] {
        let isText = value.string != nil
        switch value.bool ?? value.string.flatMap({ Bool($0) }) {
        case true?: return isText ? [.init(holds: nil, "verified, as a text: compare \"true\" as well as true")] : []
        case false?:
            return [.init(holds: false, "nobody has proved that the address is theirs: link no account by it")]
        case nil: return [.init(holds: false, "it must be true or false")]
        }
    }

    // MARK: - Nonce and hashes

    private func nonceFindings(_ value: JSONValue) -> [Finding] {
        guard let nonce = value.string else { return [.init(holds: false, "it must be a string")] }
        var findings: [Finding] = []
        if let sent = surroundings.sentNonce {
            let isSame = sent.text == nonce
            findings.append(
                .init(
                    holds: isSame ? nil : false,
                    isSame
                        ? "what \(sent.receiver) was sent"
                        : "not what \(sent.receiver) was sent, \(Diagnosis.quote(sent.text)): refuse the token",
                    exchange: sent.exchange))
        }
        if let raw = surroundings.rawNonce {
            let comparison = NonceComparison(tokenNonce: nonce, rawNonce: raw.text)
            let words =
                comparison == .matches
                ? "the SHA-256 of the raw nonce that "
                    + (raw.exchange == nil ? "was given here" : "\(raw.receiver) was handed")
                : comparison.explanation(provider: issuerTitle)
            findings.append(.init(holds: comparison == .matches, words, exchange: raw.exchange))
        } else if nonce.utf8.count == 64, Hex.decode(nonce) != nil {
            findings.append(.init(holds: nil, "it looks like a SHA-256: its raw nonce isn't known here"))
        }
        return findings
    }

    private func hashFinding(_ value: JSONValue, of what: String, among candidates: [String]) -> Finding {
        guard let hash = value.string else { return .init(holds: false, "it must be a string") }
        guard !candidates.isEmpty else { return .init(holds: nil, "not checked: there is no \(what) beside the token") }
        // The hash is that of the token's algorithm (OpenID Connect Core 3.1.3.6). A token that was broken on order has
        // the hash that it was made with.
        let algorithms = [token.algorithm.flatMap { Algorithm(rawValue: $0) } ?? .rs256, .rs256]
        let holds = candidates.contains { text in algorithms.contains { $0.leftHalf(of: text) == hash } }
        return .init(
            holds: holds,
            holds
                ? "the \(what) beside the token"
                : "not the hash of the \(what) beside the token: one of them was exchanged")
    }
}

/// The meanings of claims that can be explained without comparing them with anything:
/// <https://www.iana.org/assignments/jwt/jwt.xhtml> and the providers' documentation of their ID tokens.
enum ClaimMeanings {
    /// The consequences if a token lacks a claim, by the claim's name.
    static let advice = [
        "iss": "nobody knows whose the token is", "sub": "nobody knows whom it means",
        "aud": "nobody knows for whom it is", "exp": "it would be valid for ever", "iat": "nobody knows how old it is",
        "events": "nobody knows what has happened",
    ]

    private static let words = [
        "jti": "unique to this token", "sid": "the browser's session at the provider",
        "acr": "how strongly the person was authenticated", "amr": "by which methods the person was authenticated",
        "scope": "what was granted", "client_id": "the client that it was given to",
        "hd": "the organization whose account it is", "act": "who acts for the person",
        "events": "what has happened", "transfer_sub": "the person's ID while the app moves to another team",
        "nonce_supported": "whether the device could send a nonce: if so, a nonce that was sent must be here",
        "user_id": "the same as sub", "firebase": "how the user has signed in, and by which providers",
        "org_id": "the organization", "cnf": "the key that the holder must prove to have",
    ]

    /// The meanings of the values 0, 1 and 2 of Apple's claim `real_user_status`.
    private static let userStatus = [
        "the device can't tell whether this is a person", "whether this is a person isn't known",
        "likely a real person",
    ]

    static func words(_ name: String, _ value: JSONValue) -> String? {
        switch name {
        case "is_private_email":
            return value.bool ?? value.string.flatMap({ Bool($0) }) ?? false
                ? "mail to the address is relayed: register whom you send as" : nil
        case "real_user_status":
            guard let number = value.integer, userStatus.indices.contains(Int(clamping: number)) else { return nil }
            return userStatus[Int(clamping: number)]
        default: return words[name]
        }
    }
}
