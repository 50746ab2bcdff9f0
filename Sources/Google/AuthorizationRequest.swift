import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Text

/// A request to Google's authorization endpoint that has been read and checked.
struct AuthorizationRequest: CheckedAuthorization {
    let client: GoogleClient
    let redirectURI: String
    /// The origin of the page that opened the sign-in as a pop-up; `nil` for a request that ends with a redirect.
    let relayOrigin: String?
    let responseTypes: Set<String>
    let scopes: GoogleScopes
    let challenge: CodeChallenge?
    let mode: ResponseMode
    /// The claims about the person's session that the ID token gets: those that the parameter `claims` requests and
    /// that the client may have. Everything else in `claims` is ignored, even invalid JSON.
    let sessionClaims: Set<String>
    /// The fields of the authorization request, unchanged. The sign-in page sends these fields again with the person's
    /// answer.
    let form: Form
    /// Whether the fields of the authorization request come from the sign-in page, which sends them again together with
    /// the person's answer.
    let isAnswer: Bool

    var nonce: String? { form["nonce"] }
    var state: Form.Field? { form.field("state") }
    var prompts: [Substring] { (form["prompt"] ?? "").split(separator: " ") }
    var isSilent: Bool { prompts.contains("none") }
    var asksForConsent: Bool { prompts.contains("consent") || form["approval_prompt"] == "force" }
    var isOffline: Bool { form["access_type"] == "offline" || client.type.isInstalled }
    var includesGrantedScopes: Bool { form["include_granted_scopes"] == "true" }

    /// Checks an authorization request. Like Google, it reports missing parameters before wrong ones, and a missing
    /// `response_type` before any other (<https://github.com/googleworkspace/node-samples/issues/79>,
    /// <https://github.com/googleworkspace/php-samples/issues/26>).
    init(_ form: Form, _ provider: GoogleProvider, isAnswer: Bool) throws(GoogleError) {
        self.isAnswer = isAnswer
        if (form["response_type"] ?? "").isEmpty {
            throw GoogleError(
                "invalid_request", "Required parameter is missing: response_type",
                Diagnosis(
                    received: "no response_type", expected: "response_type code, id_token or token",
                    "send one of these, or several separated by spaces"))
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
        challenge = try CodeChallenge.read(form, refuse: AuthorizationRequest.refusal)
        mode = try AuthorizationRequest.mode(form, responseTypes)
        sessionClaims = client.sessionClaims.intersection(((try? ClaimsParameter(form["claims"]))?.idToken ?? [:]).keys)
        self.form = form
    }

    private static func responseTypes(_ form: Form, _ client: GoogleClient) throws(GoogleError) -> Set<String> {
        let text = form["response_type"] ?? ""
        let types = form.responseTypes
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
                    : "clients of type \(client.type.rawValue) can use only response_type code"))
    }

    private static func checkNonce(_ form: Form, _ types: Set<String>) throws(GoogleError) {
        if types.contains("id_token"), (form["nonce"] ?? "").isEmpty {
            throw .missing("nonce", Diagnosis("nonce is missing: response_type id_token requires one"))
        }
        guard types == ["token"], form["nonce"] != nil else { return }
        throw GoogleError(
            "invalid_request", "Parameter not allowed for this message type: nonce",
            Diagnosis("response_type token returns no ID token: leave nonce out, or request id_token, too"))
    }

    /// Checks the request parameters that have only a few possible values.
    private static func checkChoices(_ form: Form) throws(GoogleError) {
        if let type = form["access_type"], !["online", "offline", ""].contains(type) {
            throw .invalidValue(of: "access_type", type, expected: "online or offline")
        }
        if let prompt = form["approval_prompt"], !["auto", "force", ""].contains(prompt) {
            throw .invalidValue(of: "approval_prompt", prompt, expected: "auto or force")
        }
        let text = form["prompt"] ?? ""
        if form["approval_prompt"] != nil, !text.isEmpty {
            throw GoogleError(
                "invalid_request", "Conflict params: approval_prompt and prompt",
                Diagnosis("approval_prompt is an older name of prompt: send only prompt"))
        }
        let prompts = text.split(separator: " ")
        guard
            prompts.contains(where: { !["none", "consent", "select_account"].contains($0) })
                || prompts.contains("none") && prompts.count > 1
        else { return }
        // By OpenID Connect's rule, "none" must be the only value.
        throw GoogleError(
            "invalid_request", "Invalid parameter value for prompt: Invalid prompt: \(text)",
            Diagnosis(
                received: "prompt \(Diagnosis.quote(text))",
                expected: "\"none\", \"consent\", \"select_account\" or \"consent select_account\"",
                "send one of these four values"))
    }

    private static func refusal(of fault: CodeChallenge.Fault) -> GoogleError {
        switch fault {
        case .method(let name):
            GoogleError(
                "invalid_request",
                "Invalid parameter value for code_challenge_method: '\(name)' is not a valid CodeChallengeMethod",
                Diagnosis(
                    received: "code_challenge_method \(Diagnosis.quote(name))", expected: "plain or S256",
                    "send one of these, in the same spelling"))
        // This is RFC 7636's rule.
        case .challenge:
            GoogleError(
                "invalid_request", nil,
                Diagnosis(
                    expected: "a code_challenge of 43 to 128 unreserved characters", "the code_challenge is invalid"))
        }
    }

    /// Returns the response mode of an authorization request. The default is `query` for the response type `code`, and
    /// `fragment` for all others.
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

// Google's errors about an authorization request's redirect_uri:
// https://developers.google.com/identity/protocols/oauth2/web-server#uri-validation

extension GoogleClient {
    /// Returns the redirect URI of an authorization request, or throws Google's error if a browser may not be
    /// redirected to it.
    func redirectURI(_ form: Form, takesOutOfBand: Bool) throws(GoogleError) -> String {
        let uri = form["redirect_uri"] ?? ""
        if takesOutOfBand, type != .web, GoogleProvider.isOutOfBand(uri) { return uri }
        if let origin = JavaScriptOrigin(relay: uri) {
            try check(origin)
            return uri
        }
        return try registeredURI(form)
    }

    /// Returns the redirect URI of a request if the client has registered it, and otherwise throws Google's error. A
    /// `storagerelay` URI, which only pop-ups use, is always refused.
    func registeredURI(_ form: Form) throws(GoogleError) -> String {
        let uri = form["redirect_uri"] ?? ""
        if let refusal = webRefusal(uri, form) ?? schemeRefusal(uri) { throw refusal }
        guard accepts(uri) else { throw mismatch(uri) }
        return uri
    }

    /// Returns Google's error for a redirect URI that is a web address of a kind that Google refuses; `nil` for any
    /// other redirect URI.
    private func webRefusal(_ uri: String, _ form: Form) -> GoogleError? {
        guard ["http", "https"].contains(GoogleClient.scheme(of: uri)) else { return nil }
        guard let address = WebAddress(uri) else {
            return invalid(uri, "Missing authority", "send an absolute URL: https://HOST/PATH")
        }
        if address.isLoopback { return type == .web || type == .desktop ? nil : loopbackRefusal(uri) }
        // With both parameters it works.
        if address.isPrivate, form["device_id"] == nil || form["device_name"] == nil {
            return GoogleError(
                "invalid_request", "device_id and device_name are required for private IP: \(uri)",
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(uri))",
                    "Google accepts no private IP address, even if it is registered: use localhost or a public name"))
        }
        if address.isIPAddress, !address.isPrivate {
            return invalid(uri, "Raw IP addresses not allowed", "use localhost or a public name")
        }
        // Google refuses such names even if they are registered:
        // https://github.com/ungoogled-software/ungoogled-chromium/issues/1437 Here, registered ones work, because
        // containers have such names.
        guard address.isNonPublic, !accepts(uri) else { return nil }
        return invalid(uri, "Non-public domains not allowed", "use localhost or a public name")
    }

    /// Returns Google's error for a loopback redirect URI:
    /// https://developers.google.com/identity/protocols/oauth2/resources/loopback-migration
    private func loopbackRefusal(_ uri: String) -> GoogleError {
        let received = "redirect_uri \(Diagnosis.quote(uri))"
        guard type != .device else {
            return GoogleError(
                "invalid_request", "Localhost URI is not allowed for 'NATIVE_DEVICE' client type.",
                Diagnosis(
                    received: received, "a client of type device can't redirect: it signs in with POST /device/code"))
        }
        let accepted = Diagnosis.alternatives(schemes.map { "\($0):/oauth2redirect" })
        return GoogleError(
            "invalid_request",
            "The loopback flow has been blocked in order to keep users secure. Follow the Loopback IP Address flow migration "
                + "guide linked in the developer docs below to migrate your app to an alternative method.",
            Diagnosis(
                received: received, expected: accepted,
                "a client of type \(type.rawValue) can't redirect to this machine: use the app's own URI scheme, or a client of type desktop"
            ))
    }

    /// Returns Google's error if the client may not use the redirect URI's scheme. Web addresses are checked elsewhere:
    /// for them, the result is `nil`.
    private func schemeRefusal(_ uri: String) -> GoogleError? {
        let scheme = GoogleClient.scheme(of: uri)
        let received = "redirect_uri \(Diagnosis.quote(uri))"
        switch scheme {
        case "http", "https": return nil
        case "" where uri == GoogleProvider.popupRedirectURI: return mismatch(uri)
        case "": return invalid(uri, "Missing scheme", "send an absolute URI: SCHEME:/PATH")
        // This URI names no origin.
        case "storagerelay": return mismatch(uri)
        case "urn" where GoogleProvider.isOutOfBand(uri): return outOfBand(uri)
        default: break
        }
        if uri.utf8.dropFirst(scheme.utf8.count + 1).starts(with: "//".utf8) {
            return invalid(
                uri, "Custom schemes cannot have authority",
                "write one slash after the colon: \(scheme):/oauth2redirect")
        }
        switch type {
        case .ios: return nil
        case .android where !schemes.isEmpty: return nil
        case .android:
            return GoogleError(
                "invalid_request", "Custom URI scheme is not enabled for your Android client.",
                Diagnosis(
                    received: received,
                    "custom URI schemes aren't enabled: set \"customURIScheme\": true for client \"\(id)\" in the seed, as in Google's console"
                ))
        case .web, .desktop, .device:
            return GoogleError(
                "invalid_request", "Custom scheme URIs are not allowed for '\(type.nameInErrors)' client type.",
                Diagnosis(received: received, "use a client of type ios or android for an app's own URI scheme"))
        }
    }

    /// Returns Google's error for the out-of-band flow:
    /// https://developers.google.com/identity/protocols/oauth2/resources/oob-migration
    private func outOfBand(_ uri: String) -> GoogleError {
        let diagnosis = Diagnosis(
            received: "redirect_uri \(Diagnosis.quote(uri))",
            "Google has shut down the out-of-band flow: redirect to the loopback address with a client of type desktop")
        guard type == .web else {
            return GoogleError(
                "invalid_request",
                "The out-of-band (OOB) flow has been blocked in order to keep users secure. Follow the Out-of-Band (OOB) flow "
                    + "migration guide linked in the developer docs below to migrate your app to an alternative method.",
                diagnosis)
        }
        return GoogleError(
            "redirect_uri_mismatch",
            "The redirect URI in the request, \(uri), can only be used by a Client ID for native application. It is not allowed "
                + "for the WEB client type. You can create a Client ID for native application at "
                + "https://console.developers.google.com/apis/credentials/oauthclient", diagnosis)
    }

    private func invalid(_ uri: String, _ reason: String, _ advice: String) -> GoogleError {
        GoogleError(
            "invalid_request", "Invalid parameter value for redirect_uri: \(reason): \(uri)",
            Diagnosis(received: "redirect_uri \(Diagnosis.quote(uri))", advice))
    }

    private func mismatch(_ uri: String) -> GoogleError {
        let expected: String?
        let advice: String
        switch type {
        case _ where uri == GoogleProvider.popupRedirectURI || uri.hasPrefix("storagerelay:"):
            expected = nil
            advice =
                "a pop-up is opened by Google's script, /gsi/client; without a browser, POST \(Endpoint.controlRoot)/google/authorizations "
                + "with \"serverClient\" gives a code that redirect_uri=postmessage redeems"
        case .web:
            expected = RegisteredRedirectURI.alternatives(redirectURIs)
            advice = "register it in redirectURIs of \"\(id)\", character by character"
        case .desktop:
            expected = "http://127.0.0.1:PORT, http://[::1]:PORT or http://localhost:PORT"
            advice = "a client of type desktop redirects to the loopback address"
        case .ios, .android:
            expected = Diagnosis.alternatives(schemes.map { "\($0):/oauth2redirect" })
            advice = "use the app's scheme: its reversed client ID, or \"appID\" in the seed"
        case .device:
            expected = nil
            advice = "a client of type device can't redirect: it signs in with POST /device/code"
        }
        var diagnosis = Diagnosis(
            received: "redirect_uri \(Diagnosis.quote(uri))", expected: expected, advice)
        if type == .web, uri.hasPrefix("http") {
            diagnosis = diagnosis.mended(
                byMerging: ["google": ["clients": [["clientID": .string(id), "redirectURIs": [.string(uri)]]]]])
        }
        return GoogleError(
            "redirect_uri_mismatch",
            "You can't sign in to this app because it doesn't comply with Google's OAuth 2.0 policy. If you're the app developer, "
                + "register the redirect URI in the Google Cloud Console.", diagnosis)
    }
}

extension WebAddress {
    /// Whether the URL's host is an IPv4 address for private networks:
    /// <https://datatracker.ietf.org/doc/html/rfc1918#section-3>.
    fileprivate var isPrivate: Bool {
        guard isIPAddress, !host.contains(":") else { return false }
        let parts = host.split(separator: ".").map { UInt8($0) }
        switch (parts.first ?? nil, parts.dropFirst().first ?? nil) {
        case (10, _), (192, 168): return true
        case (172, let second?): return (16...31).contains(second)
        default: return false
        }
    }

    /// Whether the URL's host can't exist on the internet. Google uses the Public Suffix List; this check looks for a
    /// reserved name (<https://www.iana.org/assignments/special-use-domain-names>), or a name without a dot.
    fileprivate var isNonPublic: Bool {
        guard !isIPAddress, !isLoopback else { return false }
        guard let dot = host.lastIndex(ofASCII: ".") else { return true }
        return ["local", "test", "localhost", "internal", "lan", "invalid", "example", "arpa"].contains(
            String(host[host.index(after: dot)...]))
    }
}

extension GoogleProvider {
    /// A change at Google: the end of the out-of-band flow, whose redirect URI is `urn:ietf:wg:oauth:2.0:oob`. It ended
    /// for existing clients on 3 October 2022. New clients couldn't use it from February 2022 on.
    static let outOfBand = Change(
        "outOfBand", (nil, "2022-10-03"),
        summary: "clients other than web redirect to urn:ietf:wg:oauth:2.0:oob, a page that shows the code",
        evidence: "https://developers.google.com/identity/protocols/oauth2/resources/oob-migration")

    /// The `redirect_uri` with which a client redeems a code that a pop-up got.
    static let popupRedirectURI = "postmessage"

    static func isOutOfBand(_ uri: String) -> Bool { uri.hasPrefix("urn:ietf:wg:oauth:2.0:oob") }
}
