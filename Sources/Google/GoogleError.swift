import EmulatorCore
import HTTPServer
import JSON

/// An error response of Google's token endpoint or authorization page, with a diagnosis for developers.
/// `Assets/evidence.tsv` has the public sources for Google's errors.
struct GoogleError: Error, Sendable {
    let name: String
    let status: Int
    /// The `error_description` of the response. It is also the sentence on Google's error page.
    let description: String?
    let diagnosis: Diagnosis
    var uri: String?

    init(_ name: String, _ description: String?, status: Int = 400, _ diagnosis: Diagnosis) {
        self.name = name
        self.status = status
        self.description = description
        self.diagnosis = diagnosis
    }

    static func missing(_ parameter: String, _ diagnosis: Diagnosis? = nil) -> GoogleError {
        GoogleError(
            "invalid_request", "Missing required parameter: \(parameter)",
            diagnosis ?? Diagnosis("the parameter \(parameter) is missing: send it"))
    }

    static func invalidValue(of parameter: String, _ value: String, expected: String) -> GoogleError {
        GoogleError(
            "invalid_request", "Invalid parameter value for \(parameter): '\(value)' is not valid",
            Diagnosis(
                received: "the parameter \(parameter) \(Diagnosis.quote(value))", expected: expected,
                "send one of the allowed values"))
    }

    /// Returns Google's error for unknown scopes; `nil` if all scopes are known.
    static func unknownScopes(_ scopes: GoogleScopes) -> GoogleError? {
        guard let fault = scopes.fault else { return nil }
        var error = GoogleError(
            "invalid_scope", fault,
            Diagnosis(
                received: "scope \(Diagnosis.quote(scopes.text))", expected: "openid, email, profile or URLs",
                "separate scopes by spaces, and send full URLs for Google's APIs, such as https://www.googleapis.com/auth/drive.file"
            ))
        // https://github.com/googleapis/google-auth-library-python/issues/999
        error.uri = "https://developers.google.com/identity/protocols/oauth2"
        return error
    }

    var evidence: Evidence? { GoogleProvider.evidence.ofError(name, description) }

    var jsonResponse: Response { response(isNamed: true) }

    /// Returns the response for the error. If `isNamed` is false, the member `error` is left out.
    func response(isNamed: Bool) -> Response {
        var body = JSONObject()
        if isNamed { body["error"] = .string(name) }
        body["error_description"] = description.map { .string($0) }
        body["error_uri"] = uri.map { .string($0) }
        let response = GoogleProvider.json(.object(body), status: status).known(by: evidence)
        // A poll before the person has decided is no mistake.
        return name == "authorization_pending" ? response.addingNote(Note(diagnosis)) : response.diagnosed(diagnosis)
    }

    // MARK: - Errors that can be ordered

    static let ofTokens = ordered([
        ("invalid_request", 400, "Bad Request"), ("invalid_client", 401, "Unauthorized"),
        ("invalid_grant", 400, "Bad Request"), ("unauthorized_client", 401, "Unauthorized"),
        ("unsupported_grant_type", 400, "Invalid grant_type"), ("redirect_uri_mismatch", 400, "Bad Request"),
        ("invalid_scope", 400, "Bad Request"), ("admin_policy_enforced", 400, nil), ("org_internal", 403, nil),
        // These are errors of the device flow.
        ("authorization_pending", 428, "Precondition Required"), ("slow_down", 403, "Forbidden"),
        ("access_denied", 403, "Forbidden"), ("expired_token", 400, nil),
    ])
    /// The errors that a test can make Google's endpoint for device codes return. The error about too many requests has
    /// its name in the member `error_code`, not `error`.
    static let ofDeviceCodes = EndpointTraits.Errors(
        ["invalid_client", "invalid_scope", "invalid_request", "rate_limit_exceeded"]
    ) { order, exchange in
        guard order.name == "rate_limit_exceeded" else {
            let status = order.name == "invalid_client" ? 401 : 400
            return GoogleError(order.name, order.description, status: status, order.diagnosis).jsonResponse
        }
        return GoogleProvider.json(["error_code": .string(order.name)], status: 403).diagnosed(order.diagnosis)
            .known(by: GoogleProvider.evidence.ofError(order.name))
    }
    static let ofRevocation = ordered([("invalid_token", 400, "Token expired or revoked")])
    static func ofTokenInfo(isNamed: Bool) -> EndpointTraits.Errors {
        ordered([("invalid_token", 400, "Invalid Value")], isNamed: isNamed)
    }
    static let ofUserInfo = ordered([("invalid_request", 401, "Invalid Credentials")])

    private static func ordered(
        _ errors: [(name: String, status: Int, description: String?)], isNamed: Bool = true
    ) -> EndpointTraits.Errors {
        EndpointTraits.Errors(errors.map(\.name)) { order, _ in
            let known = errors.first { $0.name == order.name }
            return GoogleError(
                order.name, order.description ?? known?.description, status: known?.status ?? 400, order.diagnosis
            ).response(isNamed: isNamed)
        }
    }

    /// The errors that Google's own page shows if a test or the seed requests them, with their HTTP statuses. All other
    /// errors are sent to the redirect URI.
    static let statusesOfPageErrors = [
        (name: "admin_policy_enforced", status: 400), (name: "deleted_client", status: 401),
        (name: "disallowed_useragent", status: 403), (name: "invalid_client", status: 401),
        (name: "invalid_grant", status: 400), (name: "invalid_request", status: 400),
        (name: "invalid_scope", status: 400), (name: "org_internal", status: 403),
        (name: "origin_mismatch", status: 400), (name: "redirect_uri_mismatch", status: 400),
        (name: "unsupported_response_type", status: 400),
    ]
}

/// An error response of Google's APIs: <https://cloud.google.com/apis/design/errors#http_mapping>.
struct APIError: Error, Sendable {
    let code: Int
    let status: String
    let message: String
    let diagnosis: Diagnosis
    /// The members of an element of the list `errors`. Only older Google APIs send that list.
    private var legacy: [(name: String, value: JSONValue)] = []
    /// The `ErrorInfo.reason` in `details` of the error response.
    private var reason: String?
    /// The part of the header `WWW-Authenticate` after the realm, as reported at
    /// <https://github.com/codenameone/CodenameOne/issues/3135>.
    private var challenge: String?

    init(_ code: Int, _ status: String, _ message: String, reason: String? = nil, _ diagnosis: Diagnosis) {
        self.code = code
        self.status = status
        self.message = message
        self.reason = reason
        self.diagnosis = diagnosis
    }

    private static let expected =
        "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
        + "See https://developers.google.com/identity/sign-in/web/devconsole-project."

    /// Returns the error of a Google API for a request without credentials. Its member `errors` is known from
    /// <https://github.com/Clancey/simple_auth/issues/97>.
    static func noCredential(_ diagnosis: Diagnosis) -> APIError {
        let message = "Request is missing required authentication credential. \(expected)"
        var error = APIError(401, "UNAUTHENTICATED", message, diagnosis)
        error.legacy = [("message", .string(message)), ("domain", "global"), ("reason", "unauthorized")]
        error.challenge = ""
        return error
    }

    /// Returns the error of a Google API for invalid credentials. Its member `errors` is known from
    /// <https://github.com/googleapis/google-api-php-client/issues/1391>.
    static func invalidCredential(_ diagnosis: Diagnosis) -> APIError {
        var error = APIError(
            401, "UNAUTHENTICATED", "Request had invalid authentication credentials. \(expected)", diagnosis)
        error.legacy = [
            ("message", "Invalid Credentials"), ("domain", "global"), ("reason", "authError"),
            ("location", "Authorization"), ("locationType", "header"),
        ]
        error.challenge = #", error="invalid_token""#
        return error
    }

    var response: Response { response(withList: false) }

    /// The error response with a list of errors as its member `errors`, as older Google APIs send it.
    var responseWithList: Response { response(withList: true) }

    private func response(withList: Bool) -> Response {
        var error = JSONObject([("code", .integer(Int64(code))), ("message", .string(message))])
        if withList, !legacy.isEmpty {
            error["errors"] = .array([.object(JSONObject(legacy.map { ($0.name, $0.value) }))])
        }
        error["status"] = .string(status)
        if let reason {
            error["details"] = [
                [
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason),
                    "domain": "googleapis.com",
                ]
            ]
        }
        var response = GoogleProvider.json(["error": .object(error)], status: code).diagnosed(diagnosis)
            .known(by: GoogleProvider.evidence.ofError(status, message))
        if let challenge {
            let realm = #"Bearer realm="https://accounts.google.com/""#
            response.headers.append((name: "WWW-Authenticate", value: realm + challenge))
        }
        return response
    }

    // MARK: - Errors that can be ordered

    static let ordered = EndpointTraits.Errors(["UNAUTHENTICATED", "PERMISSION_DENIED"]) { order, _ in
        guard order.name == "UNAUTHENTICATED" else { return APIError.insufficientScopes(order.diagnosis).response }
        return APIError.invalidCredential(order.diagnosis).response
    }

    /// Returns the error of a Google API for a token without the required scopes. Google's `WWW-Authenticate` lists all
    /// scopes that would suffice; here it lists only `email` and `profile`.
    static func insufficientScopes(_ diagnosis: Diagnosis) -> APIError {
        var error = APIError(
            403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.",
            reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", diagnosis)
        let scopes = GoogleScopes(["email", "profile"]).text
        error.challenge = #", error="insufficient_scope", scope="\#(scopes)""#
        return error
    }
}
