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
            return isKnown ? [] : [.init(holds: false, "no provider here signs with this algorithm")]
        case "typ": return typeWords(value.string?.lowercased() ?? "")
        default: return []
        }
    }

    private func typeWords(_ type: String) -> [Finding] {
        let words: String? =
            switch type {
            case "at+jwt": "an access token (RFC 9068), which clients shouldn't read"
            case "logout+jwt": "a logout token: the user was logged out elsewhere (back-channel logout)"
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
            let advice = "nonce is missing, though a nonce was sent to \(sent.receiver): refuse the token"
            findings.append(.init(holds: false, advice, exchange: sent.exchange))
        }
        return findings
    }

    // MARK: - Times

    private func time(_ name: String, _ value: JSONValue) -> Finding? {
        guard ["exp", "iat", "nbf", "auth_time"].contains(name) else { return nil }
        if value.isInMilliseconds {
            return .init(holds: false, "the time is in milliseconds: JWT times are seconds since 1970")
        }
        guard let time = value.numericDate else {
            return .init(holds: false, "the time isn't a whole number of seconds from 1970 to the year 9999")
        }
        let span = (time - now).inWords
        let isPast = time <= now
        switch name {
        case "exp":
            return isPast
                ? .init(holds: false, "the token expired \(span) ago by the world's clock: get a new token")
                : .init(holds: true, "the token expires in \(span), at \(time.text)")
        case "nbf":
            return isPast
                ? .init(holds: true, "the token became valid \(span) ago")
                : .init(holds: false, "the token becomes valid only in \(span): a clock is wrong")
        case "auth_time":
            return time > now + .minutes(1)
                ? .init(holds: false, "the user's sign-in is \(span) in the future: a clock is wrong")
                : .init(holds: nil, "the user signed in \(span) ago")
        default:
            return time > now + .minutes(1)
                ? .init(
                    holds: false,
                    "the token's issue time is \(span) in the future by the world's clock: a clock is wrong")
                : .init(holds: true, "the token was issued \(span) ago by the world's clock")
        }
    }

    // MARK: - Issuer, subject and audience

    private func issuerFinding(_ value: JSONValue) -> Finding {
        guard let text = value.string else { return .init(holds: false, "the claim must be a string") }
        if kind == .clientSecret {
            return .init(holds: nil, "the issuer of a client secret: \(clientWords(text) ?? "a team or the client")")
        }
        if let maker = surroundings.maker, maker.name != issuer?.name {
            let found = issuer.map { "\(ValueReader.title(of: $0))" } ?? "no provider here"
            return .init(
                holds: false,
                "\(ValueReader.title(of: maker)) made the token, but iss names \(found): refuse the token"
            )
        }
        guard let issuer else {
            return .init(holds: false, "no provider here has this issuer: refuse the token")
        }
        let isReal = [issuer].explainers.contains { $0.isIssuer(text) }
        return .init(holds: true, ValueReader.title(of: issuer) + (isReal ? "" : ", at its address here"))
    }

    private func audienceFindings(_ value: JSONValue) -> [Finding] {
        let audiences = value.array?.compactMap(\.string) ?? value.string.map { [$0] } ?? []
        guard !audiences.isEmpty else {
            return [.init(holds: false, "the claim must be a string or a list of strings")]
        }
        if kind == .clientSecret {
            let provider = audiences.lazy.compactMap { reader.provider(ofIssuer: $0) }.first
            let words = provider.map { "meant for \(ValueReader.title(of: $0))" }
            return [
                .init(
                    holds: provider != nil,
                    words ?? "a client secret's aud must be a provider's issuer; no provider here has this issuer")
            ]
        }
        if kind == .idToken, let client = surroundings.client, !audiences.contains(client.text) {
            let advice = "the token isn't for \(Diagnosis.quote(client.text)), the client that received it"
            return [.init(holds: false, advice, exchange: client.exchange)]
        }
        let isOurs = kind == .idToken || kind == .logoutToken
        return audiences.prefix(10).map { audience in
            if let words = clientWords(audience) { return .init(holds: isOurs ? true : nil, words) }
            guard isOurs, surroundings.client == nil, issuer != nil else {
                return .init(holds: nil, "the application that the token is meant for")
            }
            return .init(holds: false, "no client of \(issuerTitle) in the seed has this ID")
        }
    }

    /// Describes the seed's client with this `client_id` in words; `nil` if the seed has no such client.
    private func clientWords(_ id: String) -> String? {
        let provider = surroundings.maker ?? issuer
        return reader.clients(of: provider).first { $0.id == id }.map { "a client configured in the seed: \($0.kind)" }
    }

    private func subjectFinding(_ value: JSONValue) -> Finding {
        guard let text = value.string, !text.isEmpty else { return .init(holds: false, "the claim must be a string") }
        guard kind != .clientSecret else { return .init(holds: nil, clientWords(text) ?? "the client_id") }
        let audience = token.claims["aud"]?.string ?? token.claims["aud"]?.array?.first?.string ?? ""
        let minting = (surroundings.maker ?? issuer) as? any MintsIDTokens
        let known = minting?.subject(text, of: audience, in: reader.world)
        return .init(
            holds: nil,
            known?.about ?? "a user's ID at \(issuerTitle); no account in this test world has this ID")
    }

    private func emailFindings(_ value: JSONValue) -> [Finding] {
        guard let email = value.string else { return [.init(holds: false, "the claim must be a string")] }
        let kinds = reader.providers.explainers.lazy.compactMap { $0.kind(ofEmail: email) }
        return kinds.first.map { [.init(holds: nil, $0)] } ?? []
    }

    private func verifiedFindings(_ value: JSONValue) -> [Finding] {
        let isText = value.string != nil
        switch value.bool ?? value.string.flatMap({ Bool($0) }) {
        case true?:
            return isText ? [.init(holds: nil, "email_verified is a string: accept \"true\" as well as true")] : []
        case false?:
            return [.init(holds: false, "the e-mail address isn't verified: don't link accounts by it")]
        case nil: return [.init(holds: false, "the claim must be true or false")]
        }
    }

    // MARK: - Nonce and hashes

    private func nonceFindings(_ value: JSONValue) -> [Finding] {
        guard let nonce = value.string else { return [.init(holds: false, "the claim must be a string")] }
        var findings: [Finding] = []
        if let sent = surroundings.sentNonce {
            let isSame = sent.text == nonce
            findings.append(
                .init(
                    holds: isSame ? nil : false,
                    isSame
                        ? "the nonce that was sent to \(sent.receiver)"
                        : "the nonce isn't the one that was sent to \(sent.receiver), \(Diagnosis.quote(sent.text)): refuse the token",
                    exchange: sent.exchange))
        }
        if let raw = surroundings.rawNonce {
            let comparison = NonceComparison(tokenNonce: nonce, rawNonce: raw.text)
            let words =
                comparison == .matches
                ? "the nonce is the SHA-256 of the raw nonce"
                    + (raw.exchange == nil ? " that was given here" : " that was sent to \(raw.receiver)")
                : comparison.explanation(provider: issuerTitle)
            findings.append(.init(holds: comparison == .matches, words, exchange: raw.exchange))
        } else if nonce.utf8.count == 64, Hex.decode(nonce) != nil {
            findings.append(.init(holds: nil, "the nonce looks like the SHA-256 of a raw nonce that isn't known here"))
        }
        return findings
    }

    private func hashFinding(_ value: JSONValue, of what: String, among candidates: [String]) -> Finding {
        guard let hash = value.string else { return .init(holds: false, "the claim must be a string") }
        guard !candidates.isEmpty else { return .init(holds: nil, "not checked: no \(what) came with the token") }
        // The hash is that of the token's algorithm (OpenID Connect Core 3.1.3.6). A token that was broken on order has
        // the hash that it was made with.
        let algorithms = [token.algorithm.flatMap { Algorithm(rawValue: $0) } ?? .rs256, .rs256]
        let holds = candidates.contains { text in algorithms.contains { $0.leftHalf(of: text) == hash } }
        return .init(
            holds: holds,
            holds
                ? "the hash matches the \(what) that came with the token"
                : "the hash doesn't match the \(what) that came with the token: the hash or the \(what) was replaced")
    }
}

/// The meanings of claims that can be explained without comparing them with anything:
/// <https://www.iana.org/assignments/jwt/jwt.xhtml> and the providers' documentation of their ID tokens.
enum ClaimMeanings {
    /// The consequences if a token lacks a claim, by the claim's name.
    static let advice = [
        "iss": "the issuer of the token is unknown", "sub": "the user of the token is unknown",
        "aud": "the token doesn't name its audience", "exp": "the token would be valid forever",
        "iat": "the age of the token is unknown",
        "events": "the token doesn't say which event it reports",
    ]

    private static let words = [
        "jti": "unique to this token", "sid": "the ID of the browser's session at the provider",
        "acr": "how strongly the user was authenticated", "amr": "the methods by which the user was authenticated",
        "scope": "what was granted", "client_id": "the client to which the token was issued",
        "hd": "the organization that the user's account belongs to", "act": "who acts on behalf of the user",
        "events": "what has happened", "transfer_sub": "the user's ID while the app is transferred to another team",
        "nonce_supported": "whether the device supports a nonce: if so, a nonce that was sent must be in the token",
        "user_id": "the same as sub", "firebase": "how the user has signed in, and by which providers",
        "org_id": "the organization", "cnf": "the key that the token's holder must prove to have",
    ]

    /// The meanings of the values 0, 1 and 2 of Apple's claim `real_user_status`.
    private static let userStatus = [
        "the device can't tell whether the user is a real person", "it isn't known whether the user is a real person",
        "likely a real person",
    ]

    static func words(_ name: String, _ value: JSONValue) -> String? {
        switch name {
        case "is_private_email":
            return value.bool ?? value.string.flatMap({ Bool($0) }) ?? false
                ? "mail to the address goes through a relay: register your sender addresses" : nil
        case "real_user_status":
            guard let number = value.integer, userStatus.indices.contains(Int(clamping: number)) else { return nil }
            return userStatus[Int(clamping: number)]
        default: return words[name]
        }
    }
}
