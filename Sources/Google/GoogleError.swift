import EmulatorCore
import HTTPServer
import JSON

/// An error answer of Google's token endpoint (<https://developers.google.com/identity/protocols/oauth2/web-server>) or
/// authorization page (<https://support.google.com/accounts/answer/16668185>). The diagnosis is sent beside it.
struct GoogleError: Error, Sendable {
    let name: String
    let status: Int
    /// The `error_description`, and the sentence on Google's own page.
    let description: String?
    let diagnosis: Diagnosis
    /// The `error_uri`.
    var uri: String?

    init(_ name: String, _ description: String?, status: Int = 400, _ diagnosis: Diagnosis) {
        self.name = name
        self.status = status
        self.description = description
        self.diagnosis = diagnosis
    }

    /// Returns the error of a missing parameter: <https://github.com/googleapis/google-api-nodejs-client/issues/3089>,
    /// <https://github.com/googleworkspace/node-samples/issues/79>.
    static func missing(_ parameter: String, _ diagnosis: Diagnosis? = nil) -> GoogleError {
        GoogleError(
            "invalid_request", "Missing required parameter: \(parameter)",
            diagnosis ?? Diagnosis("\(parameter) is missing: send it"))
    }

    /// Returns the error of an unknown value: <https://github.com/googleworkspace/php-samples/issues/44>.
    static func invalidValue(of parameter: String, _ value: String, expected: String) -> GoogleError {
        GoogleError(
            "invalid_request", "Invalid parameter value for \(parameter): '\(value)' is not valid",
            Diagnosis(received: "\(parameter) \(Diagnosis.quote(value))", expected: expected, "send one of these"))
    }

    /// Returns the error of unknown scopes; `nil` if Google has all of them.
    static func unknownScopes(_ scopes: GoogleScopes) -> GoogleError? {
        guard let fault = scopes.fault else { return nil }
        var error = GoogleError(
            "invalid_scope", fault,
            Diagnosis(
                received: "scope \(Diagnosis.quote(scopes.text))", expected: "openid, email, profile or URLs",
                "separate scopes by spaces, and write out those of Google's APIs: https://www.googleapis.com/auth/drive.file"
            ))
        // https://github.com/googleapis/google-auth-library-python/issues/999
        error.uri = "https://developers.google.com/identity/protocols/oauth2"
        return error
    }

    var jsonResponse: Response { response(isNamed: true) }

    /// Returns the response. It has `error` only if `isNamed`.
    func response(isNamed: Bool) -> Response {
        var body = JSONObject()
        if isNamed { body["error"] = .string(name) }
        body["error_description"] = description.map { .string($0) }
        body["error_uri"] = uri.map { .string($0) }
        let response = GoogleProvider.json(.object(body), status: status)
        // A poll before the person has decided is no mistake.
        return name == "authorization_pending" ? response.noted(Note(diagnosis)) : response.diagnosed(diagnosis)
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
    /// The errors of the endpoint for device codes. For too many requests, the member is `error_code` instead of
    /// `error`:
    /// <https://developers.google.com/identity/protocols/oauth2/limited-input-device#step-2:-handle-the-authorization-server-response>.
    static let ofDeviceCodes = EndpointTraits.Errors(
        ["invalid_client", "invalid_scope", "invalid_request", "rate_limit_exceeded"]
    ) { order, exchange in
        guard order.name == "rate_limit_exceeded" else {
            let status = order.name == "invalid_client" ? 401 : 400
            return GoogleError(order.name, order.description, status: status, order.diagnosis).jsonResponse
        }
        return GoogleProvider.json(["error_code": .string(order.name)], status: 403).diagnosed(order.diagnosis)
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

    /// The errors that end at Google's own page if they are ordered, with their statuses. All others are sent to the
    /// redirect URI. <https://developers.google.com/identity/protocols/oauth2/web-server#authorization-errors>
    static let statusesOfPageErrors = [
        (name: "admin_policy_enforced", status: 400), (name: "deleted_client", status: 401),
        (name: "disallowed_useragent", status: 403), (name: "invalid_client", status: 401),
        (name: "invalid_grant", status: 400), (name: "invalid_request", status: 400),
        (name: "invalid_scope", status: 400), (name: "org_internal", status: 403),
        (name: "origin_mismatch", status: 400), (name: "redirect_uri_mismatch", status: 400),
        (name: "unsupported_response_type", status: 400),
    ]
}
