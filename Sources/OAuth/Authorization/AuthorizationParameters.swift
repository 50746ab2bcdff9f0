import EmulatorCore
import HTTPServer
import JSON
import Time

/// The parameters of an authorization request, read by the rules of the specifications.
/// <https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest>
package struct AuthorizationParameters: Sendable {
    package let responseTypes: Set<String>
    package let scopes: [String]
    package let nonce: String?
    package let challenge: CodeChallenge?
    package let prompts: Set<Substring>
    /// The longest time since the person's sign-in.
    package let maxAge: TimeSpan?
    package let claims: ClaimsParameter
    package let acrValues: [String]
    package let resources: [String]

    /// The most resources and scopes of a request. They are limited because they are stored as long as the grant.
    private static let (resourceLimit, scopeLimit) = (20, 100)
    /// The most bytes of a resource and of `acr_values`.
    private static let (longestResource, longestACR) = (2_048, 1_024)

    /// The parameters that the specifications define. Others are dropped.
    static let names: Set<String> = [
        "acr_values", "claims", "claims_locales", "client_id", "code_challenge", "code_challenge_method", "display",
        "dpop_jkt", "id_token_hint", "login_hint", "max_age", "nonce", "prompt", "redirect_uri", "registration",
        "request",
        "resource", "response_mode", "response_type", "scope", "state", "ui_locales",
    ]

    package init(_ form: Form, _ client: ClientMetadata, _ policy: ServerPolicy) throws(OAuthRefusal) {
        responseTypes = try AuthorizationParameters.responseTypes(
            form, among: client.responseTypes ?? policy.responseTypes)
        guard !responseTypes.contains("token") || policy.dpop != .required else {
            throw OAuthRefusal(
                "unsupported_response_type",
                Diagnosis(
                    received: "response_type \(Diagnosis.quote(form["response_type"] ?? ""))",
                    expected: "one without token",
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

    /// Returns the way in which the answer is sent. A mode that doesn't exist, or that would expose tokens, is replaced
    /// by the default.
    package static func mode(of form: Form) -> ResponseMode {
        let bringsNoToken = bringsNoToken(responseType(form["response_type"] ?? ""))
        switch form["response_mode"].flatMap({ ResponseMode(rawValue: $0) }) {
        case .formPost: return .formPost
        case .fragment: return .fragment
        case .query, .webMessage, nil: return bringsNoToken ? .query : .fragment
        }
    }

    /// Whether the answer may be in a query. For `none`,
    /// <https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#none> allows it too.
    private static func bringsNoToken(_ types: Set<String>) -> Bool { types.isSubset(of: ["code", "none"]) }

    /// Returns the words of a response type, whose order doesn't matter.
    package static func responseType(_ text: String) -> Set<String> {
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
                        .joined(separator: " or "), "allow others in the seed: responseTypes"))
        }
        return types
    }

    /// Returns the requested scopes in order, each once.
    package static func scopes(_ text: String?, among allowed: [String]?) throws(OAuthRefusal) -> [String] {
        var seen: Set<String> = []
        let scopes = (text ?? "").split(separator: " ").map(String.init).filter { seen.insert($0).inserted }
        guard scopes.count <= scopeLimit else {
            throw OAuthRefusal(
                "invalid_scope",
                Diagnosis(received: "\(scopes.count) scopes", expected: "at most \(scopeLimit)", "ask for fewer"))
        }
        if let allowed, let other = scopes.first(where: { !allowed.contains($0) }) {
            throw OAuthRefusal(
                "invalid_scope",
                Diagnosis(
                    received: "scope \(Diagnosis.quote(other))", expected: allowed.joined(separator: " "),
                    "ask for what the client may have, or was granted"))
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
                    expected: methods.joined(separator: " or "), "name a method that is allowed"))
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
    package static func resources(_ form: Form) throws(OAuthRefusal) -> [String] {
        let all = form.fields.filter { $0.name == "resource" }.map(\.value)
        try checkTargets(all)
        if let other = all.first(where: { WebAddress($0) == nil && !$0.hasPrefix("urn:") || $0.contains("#") }) {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis(received: "resource \(Diagnosis.quote(other))", "send an absolute URI without a fragment"))
        }
        return all
    }

    /// Refuses too many or too long targets of a token.
    package static func checkTargets(_ targets: [String]) throws(OAuthRefusal) {
        guard targets.count <= resourceLimit else {
            throw OAuthRefusal(
                "invalid_target",
                Diagnosis(
                    received: "\(targets.count) resources", expected: "at most \(resourceLimit)", "name fewer"))
        }
        guard let long = targets.first(where: { $0.utf8.count > longestResource }) else { return }
        throw OAuthRefusal(
            "invalid_target",
            Diagnosis(
                received: "a resource of \(long.utf8.count) bytes", expected: "at most \(longestResource)", "shorten it"
            ))
    }
}

private func invalid(_ reason: String) -> OAuthRefusal { OAuthRefusal("invalid_request", Diagnosis(reason)) }

extension AuthorizationParameters {
    /// Returns the `acr` of a sign-in at a provider that offers `offered`, or any if that is empty. Throws if an
    /// essential value isn't offered:
    /// <https://openid.net/specs/openid-connect-unmet-authentication-requirements-1_0.html>.
    package func acr(among offered: [String]) throws(OAuthRefusal) -> String? {
        let wish = claims.idToken["acr"]
        let wanted = wish?.values.compactMap(\.string) ?? []
        if let chosen = (wanted + acrValues).first(where: { offered.isEmpty || offered.contains($0) }) { return chosen }
        guard let wish, wish.isEssential, !wanted.isEmpty else { return offered.first }
        throw OAuthRefusal(
            "unmet_authentication_requirements",
            Diagnosis(
                received: "acr \(wanted.map { Diagnosis.quote($0) }.joined(separator: " or "))",
                expected: offered.joined(separator: " or "), "ask for what the seed has in acrValues"))
    }

    /// Whether a person who has signed in before needn't do so again.
    package func isContent(with session: BrowserSession, at now: Instant) -> Bool {
        guard prompts.isDisjoint(with: ["login", "select_account"]) else { return false }
        return maxAge.map { now - session.authenticatedAt <= $0 } ?? true
    }
}

/// The parameter `claims`: a request for single claims.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter>
package struct ClaimsParameter: Codable, Sendable {
    /// A request for one claim.
    package struct Wish: Codable, Sendable {
        package let isEssential: Bool
        /// The accepted values; empty if any is accepted.
        package let values: [JSONValue]
    }

    private static let limit = 100
    /// The most bytes of the text, which is stored as long as the grant.
    private static let sizeLimit = 8_192

    package let idToken: [String: Wish]
    package let userInfo: [String: Wish]

    package init() { (idToken, userInfo) = ([:], [:]) }

    /// Reads the parameter. Without a text, no claims are requested.
    package init(_ text: String?) throws(OAuthRefusal) {
        guard let text else {
            (idToken, userInfo) = ([:], [:])
            return
        }
        guard text.utf8.count <= ClaimsParameter.sizeLimit else {
            throw ClaimsParameter.refusal(
                "it has \(text.utf8.count) bytes; at most \(ClaimsParameter.sizeLimit) are read")
        }
        guard let value = try? JSONValue(parsing: Array(text.utf8), limits: .control), value.object != nil else {
            throw ClaimsParameter.refusal("it must be an object of JSON")
        }
        idToken = try ClaimsParameter.wishes(value["id_token"])
        userInfo = try ClaimsParameter.wishes(value["userinfo"])
    }

    private static func wishes(_ value: JSONValue?) throws(OAuthRefusal) -> [String: Wish] {
        guard let value, !value.isNull else { return [:] }
        guard let object = value.object, object.count <= limit else {
            throw refusal("its members id_token and userinfo must be objects of at most \(limit) claims")
        }
        return Dictionary(
            object.members.map { name, wish in
                let values = wish["values"]?.array ?? wish["value"].map { [$0] } ?? []
                return (name, Wish(isEssential: wish["essential"]?.bool ?? false, values: values))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func refusal(_ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_request", Diagnosis("claims can't be used: \(reason)"))
    }
}

extension Form {
    /// The form without empty fields, which count as missing:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-3.1>.
    package var withoutEmptyFields: Form { Form(fields: fields.filter { !$0.bytes.isEmpty }) }

    /// Refuses a field that occurs twice: <https://datatracker.ietf.org/doc/html/rfc6749#section-3.2>. Only resources
    /// and audiences may be repeated (RFC 8707 section 2, RFC 8693 section 2.1).
    func checkRepetitions() throws(OAuthRefusal) {
        let single = fields.filter { $0.name != "resource" && $0.name != "audience" }
        guard let name = Form(fields: single).repeatedName else { return }
        throw OAuthRefusal("invalid_request", Diagnosis("\(Diagnosis.quote(name)) occurs twice: send it once"))
    }

    /// Returns a required field.
    package func required(_ name: String) throws(OAuthRefusal) -> String {
        if let value = self[name], !value.isEmpty { return value }
        throw OAuthRefusal("invalid_request", Diagnosis("\(name) is missing: send it"))
    }
}

extension Request {
    /// Returns the fields of a request to an endpoint that reads forms.
    ///
    /// - Throws: `invalid_request` for a body that isn't a form, and for a field that occurs twice.
    package func parameters() throws(OAuthRefusal) -> Form {
        guard body.isEmpty || contentType == "application/x-www-form-urlencoded" else {
            let type = header("Content-Type").map { Diagnosis.quote($0) } ?? "no Content-Type"
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: hasJSONBody ? "a JSON body" : "a body with \(type)",
                    expected: "application/x-www-form-urlencoded", "send the parameters as a form"))
        }
        let form = bodyForm.withoutEmptyFields
        try form.checkRepetitions()
        return form
    }
}

extension Request {
    /// The reason why a body has no parameters, for an endpoint that reads forms and JSON; `nil` if the body was read
    /// or is empty.
    package var unreadBody: Diagnosis? {
        guard !body.isEmpty else { return nil }
        let type = header("Content-Type").map { "Content-Type \(Diagnosis.quote($0))" } ?? "no Content-Type"
        guard hasJSONBody || body.holdsJSON else {
            guard contentType != "application/x-www-form-urlencoded" else { return nil }
            return Diagnosis(
                received: "a body with \(type)", expected: "application/x-www-form-urlencoded or application/json",
                "say what the body is")
        }
        do {
            guard case .object = try JSONValue(parsing: body) else {
                return Diagnosis(
                    received: "a JSON body that isn't an object", "send the parameters as an object's members")
            }
        } catch { return Diagnosis("the JSON body can't be read: \(error.description)") }
        guard !hasJSONBody else { return nil }
        return Diagnosis(
            received: "a JSON body with \(type)", expected: "Content-Type: application/json", "say what the body is")
    }
}

extension Request {
    /// Returns the request's access token: from the header Authorization with one of these schemes, in upper or lower
    /// case, or from the parameter access_token of the query or a form
    /// (<https://datatracker.ietf.org/doc/html/rfc6750#section-2>).
    package func accessToken(schemes: Set<String> = ["bearer"]) -> String? {
        let words = (header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, schemes.contains(words[0].lowercased()) { return String(words[1]) }
        return queryForm["access_token"] ?? bodyForm["access_token"]
    }
}
