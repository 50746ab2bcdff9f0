import JOSE
import JSON
import Time

/// The ways in which a fault, or a test's call of the control API for a token, breaks a token: added, changed or
/// removed claims and header members, and a wrong signature.
package struct Tampering: SchemaObject {
    package static let schemaName: String? = "Tampering"

    package enum Signature: String, Sendable, CaseIterable {
        case valid
        /// A well-formed signature, but of other content than the token's.
        case invalid
        /// A signature by a key that isn't published. If the token has a `kid`, it names that key.
        case unknownKey
        /// A signature by HS256 with the PEM text of the public key as the secret. Only verifiers that trust the
        /// token's `alg` accept it.
        case wrongAlgorithm
        /// No signature, and `alg: none` in the token's header.
        case none
    }

    package let claims: JSONObject
    package let header: JSONObject
    package let signature: Signature

    /// The JSON by which the test requested changes to a token, with defaults filled in.
    let document: JSONValue

    package init(_ fields: inout Fields) {
        var document = fields.written
        claims = Tampering.object(
            fields.optional(
                "claims", .map(of: .any),
                "Claims to set; null removes one. Times may be relative to now: \"exp\": \"-1h\" or \"+1h\". In a text, {nonce} stands for the "
                    + "claim of that name as it would have been."))
        header = Tampering.object(
            fields.optional("header", .map(of: .any), "Token header members to set; null removes one."))
        signature = fields(
            "signature", .choice(Signature.self), default: .valid, "The kind of signature.")
        document["signature"] = .string(signature.rawValue)
        self.document = .object(document)
    }

    private static func object(_ members: [(name: String, value: JSONValue)]?) -> JSONObject {
        JSONObject((members ?? []).map { ($0.name, $0.value) })
    }

    private static let times = ["exp", "iat", "nbf", "auth_time"]

    /// Returns the duration that a text such as `-1h` or `+1h` stands for.
    private static func span(_ text: String) -> TimeSpan? {
        TimeSpan(text.hasPrefix("+") && !text.hasPrefix("+-") ? String(text.dropFirst()) : text)
    }

    /// A remark about a time, such as the claim `exp`, that is set to a text which isn't a duration; `nil` if there is
    /// no such claim. It isn't refused, because a test may want a token with an invalid time.
    package var remarkOnTimes: String? {
        for (name, value) in claims.members where Tampering.times.contains(name) {
            guard let text = value.string, Tampering.span(text) == nil else { continue }
            return "the token's \(name) is the text \(Diagnosis.quote(text)), which isn't a valid time; for a time "
                + "relative to now, order a duration such as \"-1h\""
        }
        return nil
    }

    /// Whether a fault changes only a token's claims, and neither its header nor its signature. Such changes can also
    /// be made to claims that a JSON response contains without a token.
    var changesClaimsOnly: Bool { header.isEmpty && signature == .valid }

    var isNothing: Bool { claims.isEmpty && header.isEmpty && signature == .valid }

    /// Returns the claims with the changes that the test requested. `now` is the test world's time, to which relative
    /// times refer.
    package func apply(to claims: JSONObject, now: Instant) -> JSONObject {
        let original = claims
        var claims = claims
        for (name, value) in self.claims.members {
            if Tampering.times.contains(name), let span = value.string.flatMap(Tampering.span) {
                claims[name] = .numericDate(now + span)
            } else {
                claims[name] = value.isNull ? nil : Tampering.filled(value, name, from: original)
            }
        }
        return claims
    }

    /// Returns the `value` to which a test wants to set the claim `name`. In a text, the first placeholder, such as
    /// `{email}`, is replaced by the original value of the claim `email`. If there is no claim `email`, the placeholder
    /// stays, unless `name` is `email`, too: then the placeholder is removed.
    private static func filled(_ value: JSONValue, _ name: String, from claims: JSONObject) -> JSONValue {
        guard let text = value.string, let start = text.firstIndex(of: "{"),
            let end = text[start...].firstIndex(of: "}")
        else { return value }
        let wanted = String(text[text.index(after: start)..<end])
        guard let known = claims[wanted]?.string ?? (wanted == name ? "" : nil) else { return value }
        return .string(text[..<start] + known + text[text.index(after: end)...])
    }

    func apply(toHeader header: JSONObject) -> JSONObject {
        var header = header
        for (name, value) in self.header.members { header[name] = value.isNull ? nil : value }
        return header
    }
}

extension KeyRing {
    /// Returns a signing key that isn't published, so that verifiers can't know it.
    private func unknown(_ algorithm: Algorithm?) throws(KeyError) -> KeyGenerator.NamedKey {
        if algorithm == .hs256 { return .shared(try Key.generate(for: .hs256)) }
        guard let key = unpublished(algorithm) else { throw KeyError("no unpublished signing key is ready yet") }
        return key
    }

    package static func unsigned(_ claims: JSONObject, at time: Instant, tampering: Tampering) -> String {
        JWS.unsigned(
            header: tampering.apply(toHeader: unsignedHeader),
            claims: tampering.apply(to: claims, now: time))
    }

    package func mint(
        _ claims: JSONObject, at time: Instant, type: String? = nil, algorithm: Algorithm? = nil,
        secret: String? = nil, tampering: Tampering
    ) throws(KeyError) -> String {
        let named =
            tampering.signature == .unknownKey
            ? try unknown(algorithm) : try signer(at: time, with: algorithm, secret)
        let claims = tampering.apply(to: claims, now: time)
        let header = tampering.apply(toHeader: KeyRing.header(named, type: type))
        switch tampering.signature {
        case .valid, .unknownKey:
            return try JWS.mint(header: header, claims: claims, key: named.key, algorithm: named.algorithm)
        case .invalid:
            var other = claims
            other["understudy"] = "signed over something else"
            let signature = try JWS.mint(header: header, claims: other, key: named.key, algorithm: named.algorithm)
                .split(separator: ".").last.map(String.init)
            return JWS.unsigned(header: header, claims: claims) + (signature ?? "")
        case .wrongAlgorithm:
            var confused = header
            confused["alg"] = "HS256"
            // A token that is signed by HS256 already uses the client's secret, not the key that anybody can have.
            let confusing = named.algorithm == .hs256 ? try signer(at: time, with: nil, nil).key : named.key
            let secret = try Key(secret: Array(try confusing.publicPEM().utf8))
            return try JWS.mint(header: confused, claims: claims, key: secret, algorithm: .hs256)
        case .none:
            var unsigned = header
            unsigned["alg"] = "none"
            unsigned["kid"] = nil
            return JWS.unsigned(header: unsigned, claims: claims)
        }
    }
}
