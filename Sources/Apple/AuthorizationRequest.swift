import EmulatorCore
import HTTPServer
import JSON
import OAuth

/// A request to Apple's `/auth/authorize` that has been read and checked.
struct AuthorizationRequest: CheckedAuthorization {
    let client: AppleDirectory.Client
    let redirectURI: String
    let wantsIDToken: Bool
    let mode: ResponseMode
    let scopes: Set<AppleScope>
    let state: Form.Field?
    let nonce: String?
    let challenge: CodeChallenge?
    /// The unchanged parameters of the authorization request, which the sign-in page sends again with the person's
    /// answer.
    let form: Form

    /// The greatest length of the parameter `nonce` in Apple's authorization requests, in bytes.
    static let nonceLimit = 4096

    init(_ form: Form, _ directory: AppleDirectory, _ seed: Seed) throws(AppleError) {
        if let name = form.repeatedName {
            throw AppleError(
                .invalidRequest, nil,
                Diagnosis("the parameter \(Diagnosis.quote(name)) occurs more than once: send it once"))
        }
        client = try AuthorizationRequest.client(form, directory)
        redirectURI = try AuthorizationRequest.redirectURI(form, client)
        wantsIDToken = try AuthorizationRequest.responseType(form)
        mode = try AuthorizationRequest.mode(form, wantsIDToken: wantsIDToken)
        scopes = try AuthorizationRequest.scopes(form)
        if !scopes.subtracting([.openid]).isEmpty, mode == .query || mode == .fragment {
            throw AppleError(
                .invalidRequest, "response_mode must be form_post when name or email scope is requested.",
                Diagnosis(
                    received: "response_mode \(mode.rawValue) with scope \(Diagnosis.quote(form["scope"] ?? ""))",
                    expected: "form_post", "send response_mode=form_post, or leave scope out"))
        }
        state = form.field("state")
        nonce = form["nonce"].flatMap { $0.isEmpty ? nil : $0 }
        if let nonce, nonce.utf8.count > AuthorizationRequest.nonceLimit {
            throw AppleError(
                .invalidRequest, nil,
                Diagnosis(
                    received: "a nonce of \(nonce.utf8.count) bytes",
                    expected: "at most \(AuthorizationRequest.nonceLimit) bytes",
                    "send a shorter nonce, such as the hexadecimal SHA-256 of a random text"))
        }
        challenge =
            seed.plays(AppleProvider.codeVerifiers)
            ? try CodeChallenge.read(form, refuse: AuthorizationRequest.refusal) : nil
        self.form = form
    }

    private static func client(_ form: Form, _ directory: AppleDirectory) throws(AppleError) -> AppleDirectory.Client {
        guard let id = form["client_id"], !id.isEmpty else {
            throw AppleError(.invalidRequest, nil, Diagnosis("client_id is missing: send the Services ID"))
        }
        guard let client = directory.clients[id] else {
            throw AppleError(
                .invalidClient, nil,
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))",
                    "no such Services ID is configured in the seed\(directory.hint(for: id))"))
        }
        guard client.kind == .service else {
            throw AppleError(
                .invalidClient, nil,
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(id)), an App ID", expected: "a Services ID",
                    "App IDs are for native sign-in: register a Services ID for sign-in on the web"))
        }
        return client
    }

    private static func redirectURI(_ form: Form, _ client: AppleDirectory.Client) throws(AppleError) -> String {
        let uri = form["redirect_uri"] ?? ""
        // The registered text itself is returned, so that codes share one copy of it.
        if let place = client.usableReturnURLs.firstIndex(of: uri) { return client.usableReturnURLs[place] }
        if client.anyPortReturnURLs.contains(where: { $0.matches(uri) }) { return uri }
        throw AppleError(.invalidRequest, "Invalid web redirect url.", ReturnURL.diagnosis(of: uri, for: client))
    }

    /// Returns whether `response_type` contains `id_token` beside `code`. Apple doesn't support `id_token` alone.
    private static func responseType(_ form: Form) throws(AppleError) -> Bool {
        guard let text = form["response_type"], !text.isEmpty else {
            throw AppleError(
                .invalidRequest, nil, Diagnosis("response_type is missing: send \"code\" or \"code id_token\""))
        }
        let types = text.split(separator: " ").map(String.init)
        guard types.contains("code"), Set(types).isSubset(of: ["code", "id_token"]), types.count <= 2 else {
            throw AppleError(
                .invalidRequest, "Invalid response type.",
                Diagnosis(
                    received: "response_type \(Diagnosis.quote(text))", expected: "\"code\" or \"code id_token\"",
                    "request a code, with or without an ID token"))
        }
        return types.contains("id_token")
    }

    /// Returns the response mode of an authorization request. If the request names none, it is `fragment` when an ID
    /// token is wanted, and otherwise `query`.
    private static func mode(_ form: Form, wantsIDToken: Bool) throws(AppleError) -> ResponseMode {
        guard let text = form["response_mode"], !text.isEmpty else { return wantsIDToken ? .fragment : .query }
        guard let mode = ResponseMode(rawValue: text) else {
            throw AppleError(
                .invalidRequest, "Invalid response mode.",
                Diagnosis(
                    received: "response_mode \(Diagnosis.quote(text))",
                    expected: "query, fragment, form_post, or web_message in a popup", "choose one of these"))
        }
        if mode == .query, wantsIDToken {
            throw AppleError(
                .invalidRequest, "Invalid response mode.",
                Diagnosis(
                    received: "response_mode query with id_token", expected: "form_post or fragment",
                    "an ID token is never returned in the query"))
        }
        return mode
    }

    /// Returns Apple's error for an unusable code challenge. Apple doesn't document PKCE, but has checked code
    /// verifiers since October 2024 (``AppleProvider/codeVerifiers``). The accepted methods are those of RFC 7636.
    private static func refusal(of fault: CodeChallenge.Fault) -> AppleError {
        let diagnosis =
            switch fault {
            case .method(let name):
                Diagnosis(
                    received: "code_challenge_method \(Diagnosis.quote(name))", expected: "S256 or plain", "send S256")
            case .challenge(let text):
                Diagnosis(
                    received: "code_challenge \(Diagnosis.quote(text))", expected: "43 to 128 unreserved characters",
                    "send the verifier's SHA-256 in base64url without padding")
            }
        return AppleError(.invalidRequest, nil, diagnosis)
    }

    private static func scopes(_ form: Form) throws(AppleError) -> Set<AppleScope> {
        var scopes: Set<AppleScope> = []
        for word in (form["scope"] ?? "").split(separator: " ") {
            guard let scope = AppleScope(rawValue: String(word)) else {
                throw AppleError(
                    .invalidScope, nil,
                    Diagnosis(
                        received: "scope \(Diagnosis.quote(String(word)))",
                        expected: "name and email, separated by a space",
                        "request only these scopes"))
            }
            scopes.insert(scope)
        }
        return scopes
    }
}

extension AppleProvider {
    static let codeVerifiers = Change(
        "codeVerifiers", ("2024-10-17", nil),
        summary: "a code that was asked for with code_challenge needs its code_verifier; before, both were ignored",
        caveat: "the day is that of the report",
        evidence: "https://github.com/a-tokyo/apple-signin-auth/issues/180")
}

/// Apple's rules for return URLs (redirect URIs): https, a domain name, no fragment, and equal to a registered one,
/// byte for byte.
/// <https://developer.apple.com/documentation/signinwithapple/configuring-your-environment-for-sign-in-with-apple>
enum ReturnURL {
    enum Fault: Sendable {
        case notAURL
        case hasFragment
        /// The return URL isn't an https URL, or its host is localhost or an IP address.
        case insecure
    }

    /// Returns the reason why a return URL can't be registered or used at Apple; `nil` if it can.
    static func fault(of uri: String, allowsInsecure: Bool) -> Fault? {
        guard let address = WebAddress(uri), address.scheme == "https" || address.scheme == "http" else {
            return .notAURL
        }
        if address.hasFragment { return .hasFragment }
        let isInsecure = address.scheme != "https" || address.isLocalhost || address.isIPAddress
        return isInsecure && !allowsInsecure ? .insecure : nil
    }

    /// Returns the error message for a return URL `uri` that `client` can't use, with advice on how to make it work.
    static func diagnosis(of uri: String, for client: AppleDirectory.Client) -> Diagnosis {
        let reason = reason(against: uri, for: client)
        let fault = fault(of: uri, allowsInsecure: false)
        guard fault == nil || fault == .insecure, let primaryApp = client.primaryApp else { return reason }
        var service = JSONObject([
            ("id", .string(client.id)), ("primaryApp", .string(primaryApp)), ("returnURLs", [.string(uri)]),
        ])
        if fault == .insecure { service["allowInsecureReturnURLs"] = true }
        return reason.mended(
            byMerging: ["apple": ["teams": [["id": .string(client.team), "services": [.object(service)]]]]])
    }

    private static func reason(against uri: String, for client: AppleDirectory.Client) -> Diagnosis {
        guard !uri.isEmpty else {
            return Diagnosis("redirect_uri is missing: send one of the return URLs registered for the Services ID")
        }
        let received = "redirect_uri \(Diagnosis.quote(uri))"
        switch fault(of: uri, allowsInsecure: client.allowsInsecureReturnURLs) {
        case .notAURL:
            return Diagnosis(
                received: received, expected: "an absolute https URL", "redirect_uri can't be parsed as a URL")
        case .hasFragment:
            return Diagnosis(
                received: received, "a return URL must not have a fragment: remove \"#\" and what follows it")
        case .insecure:
            return Diagnosis(
                received: received,
                expected: "https and a domain name"
                    + (client.returnURLs.isEmpty ? "" : ", as in \(client.returnURLs.joined(separator: " "))"),
                "Apple accepts no http, localhost or IP address; to allow them in tests, set "
                    + "\"allowInsecureReturnURLs\": true for service \"\(client.id)\" in the seed")
        case nil:
            let registered = client.returnURLs.isEmpty ? "none is registered" : client.returnURLs.joined(separator: " ")
            return Diagnosis(
                received: received,
                expected: "exactly one of: \(registered)\(RegisteredRedirectURI.noteOnAnyPort(in: client.returnURLs))",
                fault(of: uri, allowsInsecure: false) == .insecure
                    ? "register this URL for service \"\(client.id)\" in the seed (Apple itself accepts only https and a domain name)"
                    : "register this URL for service \"\(client.id)\" in the seed, or send a URL exactly as it is registered"
            )
        }
    }
}
