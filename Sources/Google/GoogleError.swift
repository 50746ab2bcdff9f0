import EmulatorCore
import HTTPServer
import JSON

/// Google's error answers, of the token endpoint (<https://developers.google.com/identity/protocols/oauth2/web-server>) and of
/// the authorization page (<https://support.google.com/accounts/answer/16668185>). The diagnosis travels beside them.
struct GoogleError: Error, Sendable {
    let name: String
    let status: Int
    /// `error_description`; Google's own page shows none.
    let description: String?
    let diagnosis: Diagnosis

    init(_ name: String, _ description: String?, status: Int = 400, _ diagnosis: Diagnosis) {
        self.name = name
        self.status = status
        self.description = description
        self.diagnosis = diagnosis
    }

    var jsonResponse: Response {
        var body = JSONObject([("error", .string(name))])
        body["error_description"] = description.map { .string($0) }
        return GoogleProvider.json(.object(body), status: status).diagnosed(diagnosis)
    }

    // MARK: - What can be ordered

    static let ofTokens = ordered([
        ("invalid_request", 400, "Bad Request"), ("invalid_client", 401, "Unauthorized"),
        ("invalid_grant", 400, "Bad Request"), ("unauthorized_client", 401, "Unauthorized"),
        ("unsupported_grant_type", 400, "Invalid grant_type"), ("redirect_uri_mismatch", 400, "Bad Request"),
        ("invalid_scope", 400, "Bad Request"), ("admin_policy_enforced", 400, nil), ("org_internal", 403, nil),
    ])
    /// Of revocation and of tokeninfo.
    static let ofRevocation = ordered([("invalid_token", 400, "Token expired or revoked")])
    static let ofUserInfo = ordered([("invalid_request", 401, "Invalid Credentials")])

    private static func ordered(
        _ errors: [(name: String, status: Int, description: String?)]
    ) -> OperationTraits.Errors {
        OperationTraits.Errors(errors.map(\.name)) { order, _ in
            let known = errors.first { $0.name == order.name }
            return GoogleError(
                order.name, order.description ?? known?.description, status: known?.status ?? 400, order.diagnosis
            ).jsonResponse
        }
    }

    /// The statuses of errors that end at Google's own page when they are ordered; all others are sent to the redirect URI.
    static let statusesOfPageErrors = [
        (name: "admin_policy_enforced", status: 400), (name: "deleted_client", status: 401),
        (name: "disallowed_useragent", status: 403), (name: "org_internal", status: 403),
    ]
}
