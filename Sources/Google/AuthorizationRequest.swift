import EmulatorCore
import HTTPServer
import OAuth

/// A request to the authorization endpoint, checked.
/// <https://developers.google.com/identity/openid-connect/openid-connect#authenticationuriparameters>
struct AuthorizationRequest: Sendable {
    let client: RegisteredClient
    let redirectURI: String
    let responseTypes: Set<String>
    let scopes: GoogleScopes
    let challenge: CodeChallenge?
    /// The request as it came, for the sign-in page to carry along.
    let form: Form

    var nonce: String? { form["nonce"] }
    var state: Form.Field? { form.field("state") }
    var prompts: [Substring] { (form["prompt"] ?? "").split(separator: " ") }
    var asksForConsent: Bool { prompts.contains("consent") }
    var isOffline: Bool { form["access_type"] == "offline" }

    /// `query` when the answer is a code alone, otherwise `fragment`.
    var mode: ResponseMode { responseTypes == ["code"] ? .query : .fragment }

    init(_ form: Form, _ provider: GoogleProvider) throws(GoogleError) {
        client = try AuthorizationRequest.client(form, provider)
        redirectURI = try AuthorizationRequest.redirectURI(form, client)
        responseTypes = try AuthorizationRequest.responseTypes(form)
        scopes = GoogleScopes(text: form["scope"] ?? "")
        guard !scopes.names.isEmpty else {
            throw GoogleError("invalid_request", nil, Diagnosis("scope is missing: send at least openid"))
        }
        if responseTypes.contains("id_token"), (form["nonce"] ?? "").isEmpty {
            throw GoogleError(
                "invalid_request", nil, Diagnosis("nonce is missing: response_type id_token requires one"))
        }
        challenge = try AuthorizationRequest.challenge(form)
        self.form = form
    }

    private static func client(_ form: Form, _ provider: GoogleProvider) throws(GoogleError) -> RegisteredClient {
        let id = form["client_id"] ?? ""
        if let client = provider.clients[id] { return client }
        throw GoogleError(
            "invalid_client", nil, status: 401,
            Diagnosis(
                received: "client_id \(Diagnosis.quote(id))",
                "no such client is seeded\(provider.clients.hint(for: id))"))
    }

    private static func redirectURI(_ form: Form, _ client: RegisteredClient) throws(GoogleError) -> String {
        let uri = form["redirect_uri"] ?? ""
        if client.redirectURIs.contains(where: { RegisteredRedirectURI($0).matches(uri) }) { return uri }
        throw GoogleError(
            uri.isEmpty ? "invalid_request" : "redirect_uri_mismatch", nil,
            Diagnosis(
                received: "redirect_uri \(Diagnosis.quote(uri))",
                expected: RegisteredRedirectURI.alternatives(client.redirectURIs),
                "register it in redirectURIs of \"\(client.id)\", character by character"))
    }

    private static func responseTypes(_ form: Form) throws(GoogleError) -> Set<String> {
        let text = form["response_type"] ?? ""
        let types = Set(text.split(separator: " ").map(String.init))
        if !types.isEmpty, types.isSubset(of: ["code", "id_token", "token"]) { return types }
        throw GoogleError(
            types.isEmpty ? "invalid_request" : "unsupported_response_type", nil,
            Diagnosis(
                received: "response_type \(Diagnosis.quote(text))", expected: "code, id_token or token",
                "send one of these, or several separated by spaces"))
    }

    private static func challenge(_ form: Form) throws(GoogleError) -> CodeChallenge? {
        guard let text = form["code_challenge"], !text.isEmpty else { return nil }
        if let method = CodeChallenge.Method(rawValue: form["code_challenge_method"] ?? "plain"),
            CodeChallenge.isWellFormed(text)
        {
            return CodeChallenge(method: method, challenge: text)
        }
        throw GoogleError(
            "invalid_request", nil,
            Diagnosis(
                expected: "code_challenge_method plain or S256, and 43 to 128 unreserved characters",
                "the code_challenge can't be used"))
    }
}
