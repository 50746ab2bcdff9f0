import EmulatorCore
import JOSE
import JSON
import Recordings
import Time

/// Explains a token for the command `understudy explain`, without a running daemon.
package struct TokenExplainer: Sendable {
    private let explainers: [any ExplainsValues.Type]
    private let rawNonce: String?
    private let jwks: String?
    private let now: Instant

    /// Makes an explainer of tokens. `jwks` is the text of a JSON Web Key Set with which signatures are checked.
    package init(_ providers: [any Provider.Type], rawNonce: String?, jwks: String?, now: Instant) {
        explainers = providers.explainers
        self.rawNonce = rawNonce
        self.jwks = jwks
        self.now = now
    }

    /// Explains an ID token, or an access token whose form reveals the provider that issued it.
    package func explain(_ text: String, meantAsIDToken: Bool) -> [ExplainedPart] {
        let explained = explainers.lazy.compactMap { $0.explain(token: text, meantAsIDToken: meantAsIDToken) }
        return explained.first ?? idTokenParts(text)
    }

    private func idTokenParts(_ text: String) -> [ExplainedPart] {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            return [ExplainedPart("ID token", [.init(holds: false, "it can't be read: \(error.description)")])]
        }
        let issuer = token.claims["iss"]?.string ?? "missing"
        let owner = explainers.first { $0.isIssuer(issuer) }?.title
        let algorithm = token.algorithm ?? "missing"
        var findings: [ExplainedPart.Finding] = [
            algorithmFinding(algorithm, isKnownProvider: owner != nil),
            .init(holds: nil, "iss is \(Diagnosis.quote(issuer))" + (owner.map { ", \($0)" } ?? "")),
        ]
        for name in ["aud", "sub"] {
            let value = token.claims[name]
            // The audience may be a list: OpenID Connect Core section 2.
            let isList = name == "aud" && value?.array?.contains { $0.string != nil } ?? false
            let found = Diagnosis.quote(value.map { $0.string ?? $0.text } ?? "missing")
            findings.append(
                .init(value?.string != nil || isList, "\(name) is \(found)", else: "the claim must be a string"))
        }
        findings += timeFindings(token.claims)
        if let email = token.claims["email"]?.string {
            let kind = explainers.lazy.compactMap { $0.kind(ofEmail: email) }.first.map { ", \($0)" } ?? ""
            let verified = token.claims["email_verified"].map { ", email_verified is \($0.text)" } ?? ""
            findings.append(.init(holds: nil, "email is \(Diagnosis.quote(email))\(kind)\(verified)"))
        }
        return [ExplainedPart("ID token", findings), ExplainedPart("Signature", [signatureFinding(token)])]
            + nonceParts(token.claims["nonce"]?.string, owner) + [ExplainedPart(claims: token.claims)]
    }

    /// Judges the signature algorithm in a token's header. Providers that are known by name sign with RS256, other
    /// issuers with any algorithm that has public keys.
    private func algorithmFinding(_ name: String, isKnownProvider: Bool) -> ExplainedPart.Finding {
        let usual = isKnownProvider ? ["RS256"] : Algorithm.published.map(\.rawValue)
        let remedy =
            isKnownProvider ? "providers sign with RS256" : "issuers sign with \(usual.joined(separator: ", "))"
        return .init(usual.contains(name), "alg is \(Diagnosis.quote(name))", else: remedy)
    }

    private func nonceParts(_ nonce: String?, _ owner: String?) -> [ExplainedPart] {
        guard rawNonce != nil || nonce != nil else { return [] }
        let comparison = NonceComparison(tokenNonce: nonce, rawNonce: rawNonce)
        guard comparison != .rawNonceMissing else {
            let advice = "the nonce isn't checked: give --raw-nonce, the nonce before hashing"
            return [ExplainedPart("Nonce", [.init(holds: nil, advice)])]
        }
        let explanation = comparison.explanation(provider: owner ?? "the provider")
        return [ExplainedPart("Nonce", [.init(holds: comparison == .matches, explanation)])]
    }

    private func timeFindings(_ claims: JSONObject) -> [ExplainedPart.Finding] {
        if ["iat", "exp"].contains(where: { claims[$0]?.isInMilliseconds ?? false }) {
            return [.init(holds: false, "iat or exp is in milliseconds: JWT times are seconds since 1970")]
        }
        guard let issued = claims["iat"]?.numericDate, let expires = claims["exp"]?.numericDate else {
            let text = "iat or exp is missing, or not a whole number of seconds from 1970 to the year 9999"
            return [.init(holds: false, text)]
        }
        return [
            .init(
                issued <= now + .minutes(1), "the token was issued \(TokenExplainer.span(now - issued))",
                else: "a clock is wrong"
            ),
            .init(expires > now, "the token expires \(TokenExplainer.span(now - expires))", else: "get a new token"),
        ]
    }

    /// Returns a token's age in words and whole seconds: "5s ago", or "in 5s" for a time in the future.
    private static func span(_ age: TimeSpan) -> String {
        let length = TimeSpan.seconds(age.length.seconds)
        return age < .zero ? "in \(length)" : "\(length) ago"
    }

    private func signatureFinding(_ token: JWS) -> ExplainedPart.Finding {
        guard let jwks else {
            return .init(holds: nil, "the signature isn't checked: give the provider's keys with --jwks")
        }
        guard let keys = (try? JSONValue(parsing: jwks, limits: .answer))?["keys"]?.array else {
            return .init(holds: false, "the key set isn't a JSON object with \"keys\"")
        }
        guard let algorithm = token.algorithm.flatMap({ Algorithm(rawValue: $0) }) else {
            return .init(holds: false, "a signature with this alg can't be checked: \(token.algorithm ?? "missing")")
        }
        let keyID = token.keyID ?? ""
        guard let member = keys.first(where: { $0["kid"]?.string == keyID }) else {
            let known = keys.compactMap { $0["kid"]?.string }.joined(separator: ", ")
            return .init(
                holds: false,
                "kid \(Diagnosis.quote(keyID)) isn't in the key set (\(known)): fetch the key set again, because keys rotate"
            )
        }
        do {
            let verdict = token.verify(with: try Key(jwk: member), algorithm: algorithm)
            return .init(
                verdict == .valid, "checked with key \(Diagnosis.quote(keyID))",
                else: "the signature isn't by key \(Diagnosis.quote(keyID))"
            )
        } catch {
            return .init(holds: false, "key \(Diagnosis.quote(keyID)) can't be used: \(error)")
        }
    }
}

/// The kinds of JSON Web Tokens by purpose, such as ID token or client secret.
enum TokenKind: String, Sendable {
    case idToken = "ID token"
    case accessToken = "Access token"
    case clientSecret = "Client secret"
    case requestObject = "Request object"
    case identityAssertion = "Identity assertion (ID-JAG)"
    case logoutToken = "Logout token"
    case notification = "Notification"
    case other = "JSON Web Token"

    /// Recognizes the kind of a token by the header's `typ`, the claims, and the name of the field that contained the
    /// token.
    init(_ token: JWS, field: String?, reader: ValueReader) {
        let name = (field ?? "").lowercased().filter { $0 != "_" && $0 != "-" }
        switch (token.header["typ"]?.string ?? "").lowercased() {
        // RFC 9068 section 2.1.
        case "at+jwt", "application/at+jwt":
            self = .accessToken
            return
        // https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken
        case "logout+jwt":
            self = .logoutToken
            return
        // RFC 9101 section 10.8.
        case "oauth-authz-req+jwt":
            self = .requestObject
            return
        // https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04#section-3
        case "oauth-id-jag+jwt":
            self = .identityAssertion
            return
        default: break
        }
        switch name {
        case "clientsecret", "clientassertion": self = .clientSecret
        case "request": self = .requestObject
        case "logouttoken": self = .logoutToken
        case "idtoken", "identitytoken", "idtokenhint": self = .idToken
        default: self = TokenKind.byClaims(token.claims, reader)
        }
    }

    private static func byClaims(_ claims: JSONObject, _ reader: ValueReader) -> TokenKind {
        if claims["events"] != nil { return .notification }
        let issuer = claims["iss"]?.string ?? ""
        let audience = claims["aud"]?.string ?? ""
        // A client's own token is meant for a provider, and names the client as its subject.
        if reader.provider(ofIssuer: issuer) == nil, reader.provider(ofIssuer: audience) != nil, claims["sub"] != nil {
            return .clientSecret
        }
        if claims["aud"] != nil, claims["sub"] != nil { return .idToken }
        return claims["client_id"] != nil && claims["redirect_uri"] != nil ? .requestObject : .other
    }

    /// The claims without which a token of this kind must be rejected.
    var required: [String] {
        switch self {
        // https://openid.net/specs/openid-connect-core-1_0.html#IDToken
        case .idToken: ["iss", "sub", "aud", "exp", "iat"]
        case .accessToken: ["iss", "exp", "aud", "sub"]
        case .clientSecret: ["iss", "sub", "aud", "exp"]
        case .identityAssertion: ["iss", "sub", "aud", "client_id", "jti", "exp", "iat"]
        case .logoutToken: ["iss", "aud", "iat", "events"]
        case .notification: ["iss", "aud", "iat"]
        case .requestObject, .other: []
        }
    }
}
