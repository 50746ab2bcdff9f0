import EmulatorCore
import HTTPServer
import JSON

/// The Graph API's error answers: <https://developers.facebook.com/docs/graph-api/guides/error-handling>.
///
/// Quirk: every error is status 400 with an object.
struct GraphError: Error, Sendable {
    let message: String
    let code: Int64
    var subcode: Int64?
    let diagnosis: Diagnosis

    /// What the Graph API can be ordered to answer: codes, or codes and subcodes, as the page above lists them. Messages
    /// aren't documented there; an order's `description` replaces them.
    private static let known: [(name: String, code: Int64, subcode: Int64?, message: String)] = [
        ("1", 1, nil, "An unknown error occurred"), ("2", 2, nil, "Service temporarily unavailable"),
        ("4", 4, nil, "(#4) Application request limit reached"), ("10", 10, nil, "(#10) Permission denied"),
        ("17", 17, nil, "(#17) User request limit reached"), ("100", 100, nil, "Invalid parameter"),
        ("100/36007", 100, 36007, "This authorization code has expired."),
        ("100/36009", 100, 36009, "This authorization code has been used."),
        ("190", 190, nil, "Invalid OAuth access token."),
        ("190/458", 190, 458, "Error validating access token: The user has not authorized the application."),
        ("190/459", 190, 459, "Error validating access token: The user is checkpointed."),
        (
            "190/460", 190, 460,
            "Error validating access token: The session was invalidated because the password changed."
        ),
        ("190/463", 190, 463, "Error validating access token: Session has expired."),
        ("190/464", 190, 464, "Error validating access token: The user is not confirmed."),
        ("190/467", 190, 467, "Error validating access token: The session is invalid because the user logged out."),
        ("368", 368, nil, "The action attempted has been deemed abusive or is otherwise disallowed"),
    ]

    static let ordered = OperationTraits.Errors(known.map(\.name)) { order, _ in
        let error = known.first { $0.name == order.name } ?? known[0]
        return GraphError(
            message: order.description ?? error.message, code: error.code, subcode: error.subcode,
            diagnosis: order.diagnosis
        ).response
    }

    private var object: JSONObject {
        var error = JSONObject([
            ("message", .string(Place.shortened(message, to: 2_000))), ("type", "OAuthException"),
            ("code", .integer(code)),
        ])
        error["error_subcode"] = subcode.map { .integer($0) }
        error["fbtrace_id"] = "AUnderstudyTraceUndrstd"
        return error
    }

    var response: Response {
        FacebookProvider.json(["error": .object(object)], status: 400).diagnosed(diagnosis)
    }
}
