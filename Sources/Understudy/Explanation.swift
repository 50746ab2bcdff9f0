import HTTPClient
import JOSE
import JSON
import EmulatorCore
import Time

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What `understudy explain` says of a token, a nonce or a client secret: findings, each of which holds or doesn't.
public struct Explanation: Sendable {
    /// One sentence about one thing.
    public struct Finding: Sendable {
        /// Whether it is as it should be; `nil` for a mere statement.
        public let holds: Bool?
        /// The sentence, without a full stop.
        public let text: String
    }

    /// In the order in which things were looked at, under headings.
    public private(set) var sections: [(heading: String, findings: [Finding])] = []

    /// Whether nothing was found to be wrong.
    public var isClean: Bool { sections.allSatisfy { $0.findings.allSatisfy { $0.holds ?? true } } }

    /// Examines everything that is given.
    ///
    /// - Parameters:
    ///   - rawNonce: the text whose SHA-256 the app sent to the provider.
    ///   - token: an access token whose form tells which provider made it, or an ID token.
    ///   - jwks: a JSON Web Key Set, as text, to check the ID token's signature with.
    ///   - seeds: whose teams and keys a client secret is checked against; none are needed.
    ///   - now: seconds since 1970, to the end of the year 9999; the machine's time by default.
    /// - Throws: ``StartError`` when a seed can't be used.
    public init(
        idToken: String? = nil, rawNonce: String? = nil, clientSecret: String? = nil, token: String? = nil,
        jwks: String? = nil, seeds: [SeedInput] = [],
        now: Int64? = nil
    ) throws {
        let now = now.map { Instant(seconds: $0) ?? ($0 < 0 ? .first : .last) } ?? MachineClock.now
        for text in [idToken, token].compactMap({ $0?.filter { !$0.isWhitespace } }) {
            let meantAsIDToken = text == idToken
            let explained = Providers.all.lazy.compactMap { $0.explain(token: text, meantAsIDToken: meantAsIDToken) }
            add(explained.first ?? idTokenParts(text, rawNonce: rawNonce, jwks: jwks, now: now))
        }
        if idToken == nil, token == nil, let rawNonce {
            add(Providers.all.flatMap { $0.explain(rawNonce: rawNonce) })
        }
        if let clientSecret {
            let seed = seeds.isEmpty ? nil : try SeedInput.load(seeds)
            add(Providers.all.flatMap { $0.explain(clientSecret: clientSecret, seed: seed, now: now) })
        }
    }

    /// Reads a key set from a file, or from an http or https URL.
    ///
    /// - Throws: ``StartError`` when it can't be read.
    public static func readKeySet(_ place: String) throws -> String {
        do {
            if place.hasPrefix("http://") || place.hasPrefix("https://") {
                let answer = try OutgoingRequest.send("GET", to: place)
                guard answer.status == 200 else { throw StartError(description: "\(place) answered \(answer.status)") }
                return String(decoding: answer.body, as: UTF8.self)
            }
            return try File.text(at: place)
        } catch let error as StartError {
            throw error
        } catch let error as OutgoingRequest.Failure {
            throw StartError(description: error.description)
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    // MARK: - ID tokens

    private func idTokenParts(_ text: String, rawNonce: String?, jwks: String?, now: Instant) -> [ExplainedPart] {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            return [ExplainedPart("ID token", [.init(holds: false, "it can't be read: \(error.description)")])]
        }
        let issuer = token.claims["iss"]?.string ?? "missing"
        let owner = Providers.all.first { $0.isIssuer(issuer) }?.title
        let algorithm = token.algorithm ?? "missing"
        var findings: [ExplainedPart.Finding] = [
            algorithmFinding(algorithm, isKnownProvider: owner != nil),
            .init(holds: nil, "iss is \(Diagnosis.quote(issuer))" + (owner.map { ", \($0)" } ?? "")),
        ]
        for name in ["aud", "sub"] {
            let value = token.claims[name]
            // OpenID Connect Core section 2: the audience may be a list.
            let isList = name == "aud" && value?.array?.contains { $0.string != nil } ?? false
            let found = Diagnosis.quote(value.map { $0.string ?? $0.text } ?? "missing")
            findings.append(.init(value?.string != nil || isList, "\(name) is \(found)", else: "it must be a string"))
        }
        findings += timeFindings(token.claims, now: now)
        if let email = token.claims["email"]?.string {
            let kind = Providers.all.lazy.compactMap { $0.kind(ofEmail: email) }.first.map { ", \($0)" } ?? ""
            let verified = token.claims["email_verified"].map { ", email_verified is \($0.text)" } ?? ""
            findings.append(.init(holds: nil, "email is \(Diagnosis.quote(email))\(kind)\(verified)"))
        }
        return [ExplainedPart("ID token", findings), ExplainedPart("Signature", [signatureFinding(token, jwks)])]
            + nonceParts(token.claims["nonce"]?.string, rawNonce, owner) + [ExplainedPart(claims: token.claims)]
    }

    /// The providers that are known by name sign with RS256, other issuers with what they like.
    private func algorithmFinding(_ name: String, isKnownProvider: Bool) -> ExplainedPart.Finding {
        let usual = isKnownProvider ? ["RS256"] : Algorithm.published.map(\.rawValue)
        let remedy =
            isKnownProvider ? "providers sign with RS256" : "issuers sign with \(usual.joined(separator: ", "))"
        return .init(usual.contains(name), "alg is \(Diagnosis.quote(name))", else: remedy)
    }

    private func nonceParts(_ nonce: String?, _ rawNonce: String?, _ owner: String?) -> [ExplainedPart] {
        guard rawNonce != nil || nonce != nil else { return [] }
        let comparison = NonceComparison(tokenNonce: nonce, rawNonce: rawNonce)
        guard comparison != .rawNonceMissing else {
            let advice = "not checked: give the text that was hashed with --raw-nonce"
            return [ExplainedPart("Nonce", [.init(holds: nil, advice)])]
        }
        let explanation = comparison.explanation(provider: owner ?? "the provider")
        return [ExplainedPart("Nonce", [.init(holds: comparison == .matches, explanation)])]
    }

    private func timeFindings(_ claims: JSONObject, now: Instant) -> [ExplainedPart.Finding] {
        if ["iat", "exp"].contains(where: { claims[$0]?.isInMilliseconds ?? false }) {
            return [.init(holds: false, "iat or exp is in milliseconds: JWT times are seconds since 1970")]
        }
        guard let issued = claims["iat"]?.numericDate, let expires = claims["exp"]?.numericDate else {
            let text = "iat or exp is missing, or not a whole number of seconds from 1970 to the year 9999"
            return [.init(holds: false, text)]
        }
        return [
            .init(
                issued <= now + .minutes(1), "it was issued \(Explanation.span(now - issued))", else: "a clock is wrong"
            ),
            .init(expires > now, "it expires \(Explanation.span(now - expires))", else: "get a new one"),
        ]
    }

    /// How long ago something was, in whole seconds.
    private static func span(_ age: TimeSpan) -> String {
        let length = TimeSpan.seconds(age.length.seconds)
        return age < .zero ? "in \(length)" : "\(length) ago"
    }

    private func signatureFinding(_ token: JWS, _ jwks: String?) -> ExplainedPart.Finding {
        guard let jwks else { return .init(holds: nil, "not checked: give the provider's keys with --jwks") }
        guard let keys = (try? JSONValue(parsing: jwks, limits: .answer))?["keys"]?.array else {
            return .init(holds: false, "the key set isn't a JSON object with \"keys\"")
        }
        guard let algorithm = token.algorithm.flatMap({ Algorithm(rawValue: $0) }) else {
            return .init(holds: false, "the token's alg can't be checked: \(token.algorithm ?? "missing")")
        }
        let keyID = token.keyID ?? ""
        guard let member = keys.first(where: { $0["kid"]?.string == keyID }) else {
            let known = keys.compactMap { $0["kid"]?.string }.joined(separator: ", ")
            return .init(
                holds: false,
                "kid \(Diagnosis.quote(keyID)) isn't in the key set (\(known)): fetch it again, keys rotate")
        }
        do {
            let verdict = token.verify(with: try Key(jwk: member), algorithm: algorithm)
            return .init(
                verdict == .valid, "checked with key \(Diagnosis.quote(keyID))", else: "it isn't that key's signature")
        } catch {
            return .init(holds: false, "key \(Diagnosis.quote(keyID)) can't be used: \(error)")
        }
    }

    private mutating func add(_ parts: [ExplainedPart]) {
        sections += parts.map { part in
            (heading: part.heading, findings: part.findings.map { Finding(holds: $0.holds, text: $0.text) })
        }
    }
}
