import HTTPServer
import JOSE
import JSON
import EmulatorCore

/// An error answer of Identity Toolkit, the token service or App Check: a code, and often a detail behind ` : `.
/// <https://cloud.google.com/identity-platform/docs/error-codes>
struct FirebaseError: Error, Sendable {
    /// The two JSON shapes of Google's error answers.
    enum Dialect: Sendable {
        /// The error answer of Identity Toolkit v1 and v3, which contains a list of errors.
        case list
        /// The error answer of Identity Toolkit v2 and the token service, which contains the name of a status.
        case status
    }

    let status: Int
    let message: String
    let diagnosis: Diagnosis
    /// Google's canonical name of the HTTP status, such as `INVALID_ARGUMENT`. Errors of Identity Toolkit v1 and v3
    /// contain it only if it isn't `INVALID_ARGUMENT`, or if they have details.
    let statusName: String
    let reason: String
    /// Whether the error in the list of errors has the domain `global`, as the service's own errors do.
    var isGlobal = true
    /// The element of the list `errors` in the error answer. If this is `nil`, the element has the answer's message and
    /// reason, and the domain `global` if `isGlobal` is true.
    var listed: JSONValue?
    var details: [JSONValue] = []
    /// Whether the error answer has a list of errors in addition to the name of a status, as for some methods of
    /// Identity Toolkit v2.
    var listsError = false

    init(
        _ code: String, _ detail: String? = nil, status: Int = 400, named statusName: String = "INVALID_ARGUMENT",
        reason: String = "invalid", diagnosis: Diagnosis
    ) {
        (self.status, self.statusName, self.reason) = (status, statusName, reason)
        // A detail may echo the request. The answer has it twice, and a control character takes six bytes there.
        let whole = BoundedText.shortened(detail.map { "\(code) : \($0)" } ?? code, to: 4_096)
        message = JSONValue.string(whole).text.utf8.count > 6_000 ? BoundedText.shortened(whole, to: 1_000) : whole
        self.diagnosis = diagnosis
    }

    init(
        _ code: String, _ detail: String? = nil, status: Int = 400, named statusName: String = "INVALID_ARGUMENT",
        reason: String = "invalid", because diagnosis: String
    ) {
        self.init(code, detail, status: status, named: statusName, reason: reason, diagnosis: Diagnosis(diagnosis))
    }

    /// The error code: the part of the message before the detail.
    var code: String { message.firstRange(of: " : ").map { String(message[..<$0.lowerBound]) } ?? message }

    /// A public source for this error answer, or the reason why Understudy gives this answer without a source; `nil` if
    /// `evidence.tsv` has neither. In that file, messages that aren't error codes have the name `message`.
    private var evidence: Evidence? {
        let detail = message.firstRange(of: " : ").map { String(message[$0.upperBound...]) }
        return FirebaseProvider.evidence.ofError(code, detail)
            ?? FirebaseProvider.evidence.ofError("message", message)
    }

    private static let furtherCodes = FirebaseProvider.evidence.names(of: .error)
        .subtracting(documentedCodes + ["message"]).sorted()
    private static let documentedCodes = [
        "TOKEN_EXPIRED", "USER_DISABLED", "USER_NOT_FOUND", "INVALID_ID_TOKEN", "INVALID_REFRESH_TOKEN",
        "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "EMAIL_EXISTS", "EMAIL_NOT_FOUND", "INVALID_PASSWORD",
        "INVALID_LOGIN_CREDENTIALS", "INVALID_IDP_RESPONSE", "FEDERATED_USER_ID_ALREADY_LINKED",
        "MISSING_OR_INVALID_NONCE", "OPERATION_NOT_ALLOWED", "TOO_MANY_ATTEMPTS_TRY_LATER", "QUOTA_EXCEEDED",
        "WEAK_PASSWORD", "EXPIRED_OOB_CODE", "INVALID_OOB_CODE", "INTERNAL_ERROR",
    ]

    /// Returns the errors with which a test or the seed can make an endpoint fail: codes in the service's
    /// documentation, and all other codes in `evidence.tsv`.
    /// <https://cloud.google.com/identity-platform/docs/error-codes>
    static func ordered(_ dialect: Dialect) -> EndpointTraits.Errors {
        EndpointTraits.Errors(
            documentedCodes, others: furtherCodes
        ) { order, _ in
            FirebaseError(
                order.name, order.description, status: order.name == "INTERNAL_ERROR" ? 500 : 400,
                diagnosis: order.diagnosis
            ).response(dialect)
        }
    }

    func response(_ dialect: Dialect) -> Response {
        var error = JSONObject(["code": status, "message": message])
        if dialect == .list {
            let item = JSONObject(["message": message, "domain": isGlobal ? "global" : nil, "reason": reason])
            error["errors"] = [listed ?? .object(item)]
        }
        if listsError { error["errors"] = [["message": .string(message), "reason": "invalid"]] }
        if dialect == .status || !details.isEmpty || statusName != "INVALID_ARGUMENT" {
            error["status"] = .string(statusName)
        }
        if !details.isEmpty { error["details"] = .array(details) }
        return FirebaseProvider.json(["error": .object(error)], status: status).diagnosed(diagnosis).known(by: evidence)
    }
}

extension FirebaseError {
    /// Returns Google's general error for a wrong request, for mistakes that have no error code of their own.
    static func invalidArgument(_ reason: String) -> FirebaseError { invalidArgument(Diagnosis(reason)) }

    static func invalidArgument(_ diagnosis: Diagnosis) -> FirebaseError {
        FirebaseError("Request contains an invalid argument.", diagnosis: diagnosis)
    }
}

extension FirebaseError {
    static func missing(_ name: String) -> FirebaseError {
        FirebaseError("MISSING_\(MessageFields.snakeCase(name).uppercased())", because: "\(name) is missing")
    }

    static var userIsGone: FirebaseError {
        FirebaseError("USER_NOT_FOUND", because: "the user was deleted")
    }

    static func userIsDisabled(_ user: User) -> FirebaseError {
        FirebaseError("USER_DISABLED", because: "the user \"\(user.localId)\" is disabled")
    }

    /// Returns production's error for an internal failure of the service (status 500).
    static func internalError(because reason: String) -> FirebaseError {
        FirebaseError(
            "Internal error encountered.", status: 500, named: "INTERNAL", reason: "backendError", because: reason)
    }

    static func notAdministrator(_ exchange: Exchange) -> FirebaseError {
        guard exchange.request.header("Authorization") != nil else {
            let hasKey = exchange.request.queryForm["key"] != nil || exchange.request.header("X-Goog-Api-Key") != nil
            if !exchange.isInEmulatorMode, hasKey, exchange.address.path.hasPrefix("/v1/") {
                return exchange.address.path.hasSuffix(":createSessionCookie")
                    ? .keyIsNotEnough : .foreignProject
            }
            return .noAPIKey(because: "only administrators may call this method: send Authorization: Bearer owner")
        }
        return FirebaseError(
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
                + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
            status: 401, named: "UNAUTHENTICATED", reason: "authError",
            because: "the Authorization header is invalid: administrators send Authorization: Bearer owner")
    }

    /// The error for a request that names a project, although it has only an API key. Only administrators may name a
    /// project.
    static var foreignProject: FirebaseError {
        FirebaseError(
            "INSUFFICIENT_PERMISSION", "Only authenticated requests can specify target_project_id.",
            because: "only administrators may send targetProjectId: send Authorization: Bearer owner")
    }

    /// The error of an API method that accepts no API keys.
    private static var keyIsNotEnough: FirebaseError {
        var error = FirebaseError(
            "API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that "
                + "assert a principal. See https://cloud.google.com/docs/authentication",
            status: 401, named: "UNAUTHENTICATED",
            because: "only administrators may call this method: send Authorization: Bearer owner")
        error.listed = [
            "message": "Login Required.", "domain": "global", "reason": "required", "location": "Authorization",
            "locationType": "header",
        ]
        error.details = [
            [
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "CREDENTIALS_MISSING",
                "domain": "googleapis.com",
                "metadata": [
                    "service": "identitytoolkit.googleapis.com",
                    "method": "google.cloud.identitytoolkit.v1.SessionManagementService.CreateSessionCookie",
                ],
            ]
        ]
        return error
    }

    static func noAPIKey(
        because reason: String = "the API key is missing: send it as ?key= or in X-Goog-Api-Key"
    ) -> FirebaseError {
        FirebaseError(
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
                + "other form of API consumer identity to call this API.", status: 403, named: "PERMISSION_DENIED",
            reason: "forbidden", because: reason)
    }

    /// Returns the error for an unknown API key, in production's present form. Its list of errors lacks `keyInvalid`,
    /// so the iOS SDK reports the code 17999 instead of 17023.
    static func badAPIKey(_ key: String, hint: String, host: String = FirebaseProvider.host) -> FirebaseError {
        let message = "API key not valid. Please pass a valid API key."
        var error = FirebaseError(
            message, reason: "badRequest",
            diagnosis: Diagnosis(received: "API key \(Diagnosis.quote(key))", "no project has this API key\(hint)"))
        error.details = [
            [
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                "domain": "googleapis.com", "metadata": ["service": .string(host)],
            ],
            [
                "@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US",
                "message": .string(message),
            ],
        ]
        return error
    }

    /// Returns the error for a field of the wrong type, with the text of Google's API.
    static func wrongType(
        _ field: String, _ type: String, _ value: JSONValue, because fault: String? = nil
    ) -> FirebaseError {
        let value = fault.map { "\($0) \(value.text)" } ?? value.text
        let description = BoundedText.shortened("Invalid value at '\(field)' (\(type)), \(value)", to: 1_000)
        return invalidField(
            field, description, because: "the field \"\(MessageFields.camelCase(field))\" has the wrong type")
    }

    /// Returns the error for a field that can't be read, with the text of Google's API.
    static func invalidField(_ field: String, _ description: String, because reason: String) -> FirebaseError {
        var error = FirebaseError(description, because: reason)
        error.isGlobal = false
        error.details = [
            [
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [["field": .string(field), "description": .string(description)]],
            ]
        ]
        return error
    }
}
