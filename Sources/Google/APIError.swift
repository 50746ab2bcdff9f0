import EmulatorCore
import HTTPServer
import JSON

/// An error of Google's APIs: <https://cloud.google.com/apis/design/errors#http_mapping>. The messages are those of
/// public reports.
struct APIError: Error, Sendable {
    let code: Int
    let status: String
    let message: String
    let diagnosis: Diagnosis
    /// The members of `errors` in older APIs.
    private var legacy: [(name: String, value: JSONValue)] = []
    /// The `ErrorInfo.reason` in `details`.
    private var reason: String?
    /// The part of `WWW-Authenticate` after the realm: <https://github.com/codenameone/CodenameOne/issues/3135>.
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

    /// Returns the error of a request without credentials: <https://github.com/Clancey/simple_auth/issues/97>,
    /// <https://github.com/googleapis/google-api-php-client/issues/1528>
    static func noCredential(_ diagnosis: Diagnosis) -> APIError {
        let message = "Request is missing required authentication credential. \(expected)"
        var error = APIError(401, "UNAUTHENTICATED", message, diagnosis)
        error.legacy = [("message", .string(message)), ("domain", "global"), ("reason", "unauthorized")]
        error.challenge = ""
        return error
    }

    /// Returns the error of invalid credentials: <https://github.com/googleapis/google-api-php-client/issues/1391>,
    /// <https://github.com/GeneralTask/task-manager/pull/997>
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

    /// The response with `errors` beside the status, as in older APIs.
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

    /// Returns the error of missing scopes: <https://github.com/kwent/react-google-contacts/issues/6>. Google's
    /// challenge lists all sufficient scopes; here it lists those of sign-in.
    static func insufficientScopes(_ diagnosis: Diagnosis) -> APIError {
        var error = APIError(
            403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.",
            reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", diagnosis)
        let scopes = GoogleScopes(["email", "profile"]).text
        error.challenge = #", error="insufficient_scope", scope="\#(scopes)""#
        return error
    }
}
