import EmulatorCore
import HTTPServer
import OAuth

/// A checked request to the authorization endpoint.
/// <https://developers.google.com/identity/openid-connect/openid-connect#authenticationuriparameters>
struct AuthorizationRequest: Sendable {
    let client: GoogleClient
    let redirectURI: String
    /// The origin of the page that opened this pop-up; `nil` for a request that ends with a redirect.
    let relayOrigin: String?
    let responseTypes: Set<String>
    let scopes: GoogleScopes
    let challenge: CodeChallenge?
    let mode: ResponseMode
    /// The claims about the person's session in the ID token: those that `claims` requests and the client may have.
    /// Other content of `claims`, even if it can't be read, has no effect. Not documented.
    let sessionClaims: Set<String>
    /// The form as it came, for the sign-in page to carry along.
    let form: Form

    var nonce: String? { form["nonce"] }
    var state: Form.Field? { form.field("state") }
    var prompts: [Substring] { (form["prompt"] ?? "").split(separator: " ") }
    var asksForConsent: Bool { prompts.contains("consent") || form["approval_prompt"] == "force" }
    var isOffline: Bool { form["access_type"] == "offline" || client.type.isInstalled }
    /// <https://developers.google.com/identity/protocols/oauth2/web-server#incrementalAuth>
    var includesGrantedScopes: Bool { form["include_granted_scopes"] == "true" }

    /// Checks a request. Missing parameters are reported before wrong ones, and response_type first
    /// (<https://github.com/googleworkspace/node-samples/issues/79>,
    /// <https://github.com/googleworkspace/php-samples/issues/26>). The rest of the order isn't documented.
    init(_ form: Form, _ provider: GoogleProvider) throws(GoogleError) {
        if (form["response_type"] ?? "").isEmpty {
            throw GoogleError(
                "invalid_request", "Required parameter is missing: response_type",
                Diagnosis(expected: "response_type code, id_token or token", "send one of these, or several"))
        }
        for name in ["client_id", "redirect_uri", "scope"] where (form[name] ?? "").isEmpty {
            throw GoogleError.missing(name)
        }
        client = try provider.client(named: form["client_id"] ?? "")
        redirectURI = try client.redirectURI(form, takesOutOfBand: provider.takesOutOfBand)
        relayOrigin = JavaScriptOrigin(relay: redirectURI)?.text
        responseTypes = try AuthorizationRequest.responseTypes(form, client)
        let asked = GoogleScopes(text: form["scope"] ?? "")
        if let error = GoogleError.unknownScopes(asked) { throw error }
        guard !asked.names.isEmpty else { throw GoogleError.missing("scope") }
        scopes = asked.withSignIn
        try AuthorizationRequest.checkNonce(form, responseTypes)
        try AuthorizationRequest.checkChoices(form)
        challenge = try AuthorizationRequest.challenge(form)
        mode = try AuthorizationRequest.mode(form, responseTypes)
        sessionClaims = client.sessionClaims.intersection(((try? ClaimsParameter(form["claims"]))?.idToken ?? [:]).keys)
        self.form = form
    }

    private static func responseTypes(_ form: Form, _ client: GoogleClient) throws(GoogleError) -> Set<String> {
        let text = form["response_type"] ?? ""
        let types = Set(text.split(separator: " ").map(String.init))
        // Only clients of type web get tokens in the redirect: https://github.com/subdavis/Tusk/issues/372.
        let allowed: Set<String> = client.type == .web ? ["code", "id_token", "token"] : ["code"]
        if !types.isEmpty, types.isSubset(of: allowed) { return types }
        throw GoogleError(
            "unsupported_response_type", nil,
            Diagnosis(
                received: "response_type \(Diagnosis.quote(text))",
                expected: client.type == .web ? "code, id_token or token" : "code",
                client.type == .web
                    ? "send one of these, or several separated by spaces"
                    : "a client of type \(client.type.rawValue) signs in with a code"))
    }

    private static func checkNonce(_ form: Form, _ types: Set<String>) throws(GoogleError) {
        if types.contains("id_token"), (form["nonce"] ?? "").isEmpty {
            // The requirement is documented, the words aren't.
            throw .missing("nonce", Diagnosis("nonce is missing: response_type id_token requires one"))
        }
        // https://github.com/odoo/odoo/pull/91443, https://github.com/google/google-api-javascript-client/issues/299
        guard types == ["token"], form["nonce"] != nil else { return }
        throw GoogleError(
            "invalid_request", "Parameter not allowed for this message type: nonce",
            Diagnosis("response_type token brings no ID token: leave nonce out, or ask for id_token, too"))
    }

    /// Checks parameters with only a few possible values.
    private static func checkChoices(_ form: Form) throws(GoogleError) {
        if let type = form["access_type"], !["online", "offline", ""].contains(type) {
            throw .invalidValue(of: "access_type", type, expected: "online or offline")
        }
        if let prompt = form["approval_prompt"], !["auto", "force", ""].contains(prompt) {
            throw .invalidValue(of: "approval_prompt", prompt, expected: "auto or force")
        }
        let text = form["prompt"] ?? ""
        // https://github.com/thephpleague/oauth2-google/issues/42
        if form["approval_prompt"] != nil, !text.isEmpty {
            throw GoogleError(
                "invalid_request", "Conflict params: approval_prompt and prompt",
                Diagnosis("approval_prompt is an older name of prompt: send prompt alone"))
        }
        let prompts = text.split(separator: " ")
        guard
            prompts.contains(where: { !["none", "consent", "select_account"].contains($0) })
                || prompts.contains("none") && prompts.count > 1
        else { return }
        // The words are from https://github.com/googleapis/google-api-php-client/issues/2444. That "none" must be the
        // only value is OpenID Connect's rule.
        throw GoogleError(
            "invalid_request", "Invalid parameter value for prompt: Invalid prompt: \(text)",
            Diagnosis(
                received: "prompt \(Diagnosis.quote(text))", expected: "none, or consent and select_account",
                "send one of these, or several separated by spaces"))
    }

    private static func challenge(_ form: Form) throws(GoogleError) -> CodeChallenge? {
        guard let text = form["code_challenge"], !text.isEmpty else { return nil }
        let name = form["code_challenge_method"] ?? "plain"
        guard let method = CodeChallenge.Method(rawValue: name) else {
            // https://github.com/supabase/auth-js/issues/669
            throw GoogleError(
                "invalid_request",
                "Invalid parameter value for code_challenge_method: '\(name)' is not a valid CodeChallengeMethod",
                Diagnosis(
                    received: "code_challenge_method \(Diagnosis.quote(name))", expected: "plain or S256",
                    "write it in this way"))
        }
        guard CodeChallenge.isWellFormed(text) else {
            // This is RFC 7636's rule; the words aren't documented.
            throw GoogleError(
                "invalid_request", nil,
                Diagnosis(expected: "43 to 128 unreserved characters", "the code_challenge can't be used"))
        }
        return CodeChallenge(method: method, challenge: text)
    }

    /// Returns the response mode: the query for a code alone, the fragment for tokens, unless a form is requested. The
    /// discovery document lists the modes; the answer to a wrong one isn't documented.
    private static func mode(_ form: Form, _ types: Set<String>) throws(GoogleError) -> ResponseMode {
        let usual: ResponseMode = types == ["code"] ? .query : .fragment
        guard let name = form["response_mode"], !name.isEmpty else { return usual }
        guard let mode = ResponseMode(rawValue: name), mode != .webMessage, mode != .query || usual == .query else {
            throw .invalidValue(
                of: "response_mode", name,
                expected: usual == .query ? "query, fragment or form_post" : "fragment or form_post")
        }
        return mode
    }
}
