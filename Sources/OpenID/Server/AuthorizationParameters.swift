import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

/// The parameters of an authorization request, read by the rules of the specifications.
/// <https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest>
struct AuthorizationParameters: Sendable {
    let responseTypes: Set<String>
    let scopes: [String]
    let nonce: String?
    let challenge: CodeChallenge?
    let prompts: Set<Substring>
    /// The longest time that may have passed since the person's sign-in: the request's `max_age`.
    let maxAge: TimeSpan?
    let claims: ClaimsParameter
    let acrValues: [String]
    let resources: [String]

    /// The greatest numbers of resources and of scopes in a request. They are limited because they are stored as long
    /// as the grant.
    private static let (resourceLimit, scopeLimit) = (20, 100)
    /// The greatest lengths of the request parameters `resource` and `acr_values`, in bytes.
    private static let (longestResource, longestACR) = (2_048, 1_024)

    /// The names of the request parameters that the specifications define. Other parameters of a pushed request are
    /// dropped.
    static let names: Set<String> = [
        "acr_values", "claims", "claims_locales", "client_id", "code_challenge", "code_challenge_method", "display",
        "dpop_jkt", "id_token_hint", "login_hint", "max_age", "nonce", "prompt", "redirect_uri", "registration",
        "request",
        "resource", "response_mode", "response_type", "scope", "state", "ui_locales",
    ]

    init(_ form: Form, _ client: ClientMetadata, _ policy: ServerPolicy) throws(OAuthRefusal) {
        responseTypes = try AuthorizationParameters.responseTypes(
            form, among: client.responseTypes ?? policy.responseTypes)
        guard !responseTypes.contains("token") || policy.dpop != .required else {
            throw OAuthRefusal(
                "unsupported_response_type",
                Diagnosis(
                    received: "response_type \(Diagnosis.quote(form["response_type"] ?? ""))",
                    expected: "a response_type without token",
                    "this issuer binds access tokens to a key (\"dpop\": \"required\"), which the token endpoint alone can do: use a code"
                ))
        }
        scopes = try AuthorizationParameters.scopes(form["scope"], among: client.scopes)
        nonce = form["nonce"]
        challenge = try AuthorizationParameters.challenge(
            form, policy.pkceMethods, isNeeded: client.mustUsePKCE(policy.pkce) && responseTypes.contains("code"))
        prompts = Set((form["prompt"] ?? "").split(separator: " "))
        claims = try ClaimsParameter(form["claims"])
        let contexts = form["acr_values"] ?? ""
        guard contexts.utf8.count <= AuthorizationParameters.longestACR else {
            throw invalid(
                "acr_values has \(contexts.utf8.count) bytes; at most \(AuthorizationParameters.longestACR) are read")
        }
        acrValues = contexts.split(separator: " ").map(String.init)
        resources = try AuthorizationParameters.resources(form)
        maxAge = try AuthorizationParameters.maxAge(form["max_age"])
        if responseTypes.contains("id_token") {
            if (nonce ?? "").isEmpty { throw invalid("nonce is missing, which an ID token by the browser requires") }
            if !scopes.contains("openid") { throw invalid("scope lacks openid, without which there is no ID token") }
        }
        if prompts.contains("none"), prompts.count > 1 { throw invalid("prompt=none goes with no other prompt") }
        if ResponseMode(rawValue: form["response_mode"] ?? "query").map({ $0 == .webMessage }) ?? true {
            throw invalid("response_mode must be query, fragment or form_post")
        }
        if form["response_mode"] == "query", !AuthorizationParameters.bringsNoToken(responseTypes) {
            throw invalid("response_mode=query would put tokens into logs: use fragment or form_post")
        }
    }

    /// Returns the response mode of an authorization request. An unknown mode, or one that would expose tokens, is
    /// replaced by the default.
    static func mode(of form: Form) -> ResponseMode {
        let bringsNoToken = bringsNoToken(responseType(form["response_type"] ?? ""))
        switch form["response_mode"].flatMap({ ResponseMode(rawValue: $0) }) {
        case .formPost: return .formPost
        case .fragment: return .fragment
        case .query, .webMessage, nil: return bringsNoToken ? .query : .fragment
        }
    }

    /// Whether the authorization response contains no tokens, so that it may be sent in a query.
    /// <https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#none> allows a query for the response type
    /// `none` too.
    private static func bringsNoToken(_ types: Set<String>) -> Bool { types.isSubset(of: ["code", "none"]) }

    /// Returns the set of words in a `response_type`, whose order doesn't matter.
    static func responseType(_ text: String) -> Set<String> {
        Set(text.split(separator: " ").map(String.init))
    }

    private static func responseTypes(_ form: Form, among allowed: [Set<String>]) throws(OAuthRefusal) -> Set<String> {
        let text = form["response_type"] ?? ""
        let types = responseType(text)
        guard !types.isEmpty else { throw invalid("response_type is missing") }
        guard allowed.contains(types) else {
            throw OAuthRefusal(
                "unsupported_response_type",
                Diagnosis(
                    received: "response_type \(Diagnosis.quote(text))",
                    expected: allowed.map { Diagnosis.quote($0.sorted().joined(separator: " ")) }
                        .joined(separator: " or "),
                    "to allow another response type, add it to responseTypes in the seed"))
        }
        return types
    }

    /// Returns the requested scopes in the order of the request, each once. Scopes outside `allowed` are an error.
    static func scopes(_ text: String?, among allowed: [String]?) throws(OAuthRefusal) -> [String] {
        var seen: Set<String> = []
        let scopes = (text ?? "").split(separator: " ").map(String.init).filter { seen.insert($0).inserted }
        guard scopes.count <= scopeLimit else {
            throw OAuthRefusal(
                "invalid_scope",
                Diagnosis(received: "\(scopes.count) scopes", expected: "at most \(scopeLimit)", "request fewer scopes")
            )
        }
        if let allowed, let other = scopes.first(where: { !allowed.contains($0) }) {
            throw OAuthRefusal(
                "invalid_scope",
                Diagnosis(
                    received: "scope \(Diagnosis.quote(other))", expected: allowed.joined(separator: " "),
                    "request only scopes that the client may have, or was granted"))
        }
        return scopes
    }

    private static func challenge(
        _ form: Form, _ methods: [String], isNeeded: Bool
    ) throws(OAuthRefusal) -> CodeChallenge? {
        guard let text = form["code_challenge"], !text.isEmpty else {
            guard isNeeded else { return nil }
            throw invalid("code_challenge is missing: this client must use PKCE")
        }
        let method = form["code_challenge_method"] ?? "plain"
        guard form["code_challenge_method"] != nil || methods.contains("plain") else {
            throw invalid(
                "code_challenge_method is missing, which means plain (RFC 7636 section 4.3): send \(methods.joined(separator: " or "))"
            )
        }
        guard let known = CodeChallenge.Method(rawValue: method), methods.contains(method) else {
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: "code_challenge_method \(Diagnosis.quote(method))",
                    expected: methods.joined(separator: " or "), "send a method that the client may use"))
        }
        guard CodeChallenge.isWellFormed(text) else {
            throw invalid("code_challenge must be 43 to 128 unreserved characters")
        }
        return CodeChallenge(method: known, challenge: text)
    }

    private static func maxAge(_ text: String?) throws(OAuthRefusal) -> TimeSpan? {
        guard let text else { return nil }
        guard let seconds = Int64(text), seconds >= 0 else { throw invalid("max_age must be a number of seconds") }
        return .seconds(seconds)
    }

    /// Returns the resources for which tokens are requested: <https://datatracker.ietf.org/doc/html/rfc8707#section-2>.
    static func resources(_ form: Form) throws(OAuthRefusal) -> [String] {
        let all = form.fields.filter { $0.name == "resource" }.map(\.value)
        try checkTargets(all)
        if let other = all.first(where: { WebAddress($0) == nil && !$0.hasPrefix("urn:") || $0.contains("#") }) {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis(received: "resource \(Diagnosis.quote(other))", "send an absolute URI without a fragment"))
        }
        return all
    }

    /// Refuses a request that names too many targets for a token (`resource` or `audience`), or too long ones.
    static func checkTargets(_ targets: [String]) throws(OAuthRefusal) {
        guard targets.count <= resourceLimit else {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis(
                    received: "\(targets.count) resources", expected: "at most \(resourceLimit)", "send fewer resources"
                ))
        }
        guard let long = targets.first(where: { $0.utf8.count > longestResource }) else { return }
        throw OAuthRefusal(
            "invalid_target",
            Diagnosis(
                received: "a resource parameter of \(long.utf8.count) bytes",
                expected: "at most \(longestResource) bytes",
                "send a shorter URI"
            ))
    }
}

private func invalid(_ reason: String) -> OAuthRefusal { OAuthRefusal("invalid_request", Diagnosis(reason)) }

extension AuthorizationParameters {
    /// Returns the `acr` of a sign-in. `offered` are the values that the issuer supports; an empty list means that it
    /// supports any value. Throws if the request marks `acr` as essential and names only unsupported values:
    /// <https://openid.net/specs/openid-connect-unmet-authentication-requirements-1_0.html>.
    func acr(among offered: [String]) throws(OAuthRefusal) -> String? {
        let wish = claims.idToken["acr"]
        let wanted = wish?.values.compactMap(\.string) ?? []
        if let chosen = (wanted + acrValues).first(where: { offered.isEmpty || offered.contains($0) }) { return chosen }
        guard let wish, wish.isEssential, !wanted.isEmpty else { return offered.first }
        throw OAuthRefusal(
            "unmet_authentication_requirements",
            Diagnosis(
                received: "acr \(wanted.map { Diagnosis.quote($0) }.joined(separator: " or "))",
                expected: offered.joined(separator: " or "), "request an acr that the seed lists in acrValues"))
    }

    /// Whether the `prompt` and `max_age` of the authorization request accept the person's earlier sign-in in this
    /// browser session.
    func isContent(with session: BrowserSession, at now: Instant) -> Bool {
        guard prompts.isDisjoint(with: ["login", "select_account"]) else { return false }
        return maxAge.map { now - session.authenticatedAt <= $0 } ?? true
    }
}
