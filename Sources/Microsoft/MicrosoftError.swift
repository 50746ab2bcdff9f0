import EmulatorCore
import HTTPServer
import JSON
import OAuth

/// An error of Microsoft's sign-in service, such as AADSTS50011.
struct MicrosoftError: Error, Sendable {
    let code: Int
    let name: String
    private var text: String
    let diagnosis: Diagnosis

    /// The known errors of Microsoft's sign-in service. Each is a line of `Assets/errors.tsv` with a code, an OAuth
    /// name, a text with `{}` in place of values, and advice.
    private static let known = TextTable.rows(Texts.errors).map { row in
        (code: Int(row[0]) ?? 0, name: row[1], text: row[2], advice: row[3])
    }
    private static let byCode = Dictionary(known.map { ($0.code, $0) }) { first, _ in first }

    /// Makes an error of Microsoft's sign-in service from its code. `values` replace the `{}` in the error's text. If
    /// `diagnosis` is `nil`, the error gets the advice in the table of known errors.
    init(
        _ code: Int, _ values: String..., name: String? = nil, received: String? = nil, expected: String? = nil,
        because diagnosis: Diagnosis? = nil
    ) {
        let known = MicrosoftError.byCode[code]
        var parts = (known?.text ?? "").split(separator: "{}", omittingEmptySubsequences: false).map(String.init)
        for place in parts.indices.dropLast() { parts[place] += place < values.count ? values[place] : "" }
        self.code = code
        self.name = name ?? known?.name ?? "invalid_request"
        text = parts.joined()
        self.diagnosis = diagnosis ?? Diagnosis(received: received, expected: expected, known?.advice ?? "")
    }

    /// Makes the error for a missing parameter. If `reason` is `nil`, the diagnosis says that the parameter is missing.
    static func missing(_ parameter: String, because reason: Diagnosis? = nil) -> MicrosoftError {
        MicrosoftError(900144, parameter, received: "no \(parameter)", because: reason)
    }

    /// Returns the `error_description` of Microsoft's sign-in service: the text, and lines that identify the request.
    func description(_ exchange: Exchange) -> String {
        "AADSTS\(code): \(text)\r\nTrace ID: \(exchange.traceID)\r\nCorrelation ID: \(exchange.correlationID)\r\n"
            + "Timestamp: \(exchange.timestamp)"
    }

    var uri: String { "\(MicrosoftProvider.origin)/error?code=\(code)" }
    var evidence: Evidence? { MicrosoftProvider.evidence.ofError("AADSTS\(code)", text) }

    private var status: Int {
        switch name {
        case "invalid_client": 401
        case "temporarily_unavailable": 503
        default: 400
        }
    }

    private var suberror: String? {
        switch code {
        case 65001: "consent_required"
        case 700_082: "bad_token"
        default: name == "interaction_required" ? "basic_action" : nil
        }
    }

    /// Returns the JSON answer with this error of Microsoft's sign-in service, for endpoints that aren't pages.
    func response(_ exchange: Exchange) -> Response {
        var body = JSONObject([
            ("error", .string(name)), ("error_description", .string(description(exchange))),
            ("error_codes", [.integer(Int64(code))]), ("timestamp", .string(exchange.timestamp)),
            ("trace_id", .string(exchange.traceID)), ("correlation_id", .string(exchange.correlationID)),
            ("error_uri", .string(uri)),
        ])
        body["suberror"] = suberror.map { .string($0) }
        let response = MicrosoftProvider.json(.object(body), status: status, exchange).known(by: evidence)
        // A poll before the person has decided is no mistake.
        return name == "authorization_pending" ? response.addingNote(Note(diagnosis)) : response.diagnosed(diagnosis)
    }

    /// The names of the errors that a test can request at Microsoft's sign-in service. A name is a code such as
    /// `AADSTS50076`, or an OAuth name such as `invalid_grant`. An OAuth name stands for the first known error that has
    /// it.
    static let orderNames = known.map { "AADSTS\($0.code)" } + Set(known.map(\.name)).sorted()

    /// Returns the error of Microsoft's sign-in service that a test or the seed has requested. An unknown name gets the
    /// code 50000 (internal failure).
    static func ordered(_ name: String, description: String? = nil, _ diagnosis: Diagnosis) -> MicrosoftError {
        let found = known.first { "AADSTS\($0.code)" == name || $0.name == name }
        var error = MicrosoftError(found?.code ?? 50000, name: found?.name ?? name, because: diagnosis)
        if let description { error.text = description }
        return error
    }

    static let atAPI = EndpointTraits.Errors(orderNames) { order, exchange in
        ordered(order.name, description: order.description, order.diagnosis).response(exchange)
    }
}

extension Exchange {
    /// The ID that Microsoft gives to a request. Error descriptions and the header `x-ms-request-id` contain it.
    var traceID: String { DerivedNumber.uuid(of: "microsoft.trace:\(id)") }

    /// The correlation ID in Microsoft's errors: the one that the client sent with the request, or a new one.
    var correlationID: String {
        let sent = request.header("client-request-id") ?? request.queryForm["client-request-id"] ?? ""
        return TextRule.guid.holds(sent) ? sent : DerivedNumber.uuid(of: "microsoft.correlation:\(id)")
    }

    /// The test world's time in the format that Microsoft's errors have.
    var timestamp: String { world.now.wholeSecond.text.split(separator: "T").joined(separator: " ") }
}

/// An error of Microsoft Graph: <https://learn.microsoft.com/en-us/graph/errors>.
struct MicrosoftGraphError: Error, Sendable {
    var status = 401
    var code = "InvalidAuthenticationToken"
    let message: String
    let diagnosis: Diagnosis

    func response(_ exchange: Exchange) -> Response {
        let inner: JSONValue = [
            "date": .string(String(exchange.world.now.wholeSecond.text.dropLast())),
            "request-id": .string(exchange.traceID), "client-request-id": .string(exchange.correlationID),
        ]
        let error: JSONValue = ["code": .string(code), "message": .string(message), "innerError": inner]
        var response = MicrosoftProvider.json(["error": error], status: status, exchange)
        if status == 401 {
            let challenge =
                "Bearer realm=\"\", authorization_uri=\"\(MicrosoftProvider.origin)/common/oauth2/authorize\", "
                + "client_id=\"\(MicrosoftScopes.graphID)\""
            response.headers.append((name: "WWW-Authenticate", value: challenge))
        }
        return response.diagnosed(diagnosis).known(by: MicrosoftProvider.evidence.ofError(code, message))
    }

    /// The errors that a test can make Microsoft Graph return, with their HTTP statuses.
    private static let known = [
        ("InvalidAuthenticationToken", 401), ("Authorization_RequestDenied", 403), ("TooManyRequests", 429),
        ("ServiceUnavailable", 503), ("Request_ResourceNotFound", 404),
    ]
    static let ordered = EndpointTraits.Errors(known.map(\.0)) { order, exchange in
        let status = known.first { $0.0 == order.name }?.1 ?? 400
        let message = order.description ?? "This error was ordered."
        return MicrosoftGraphError(status: status, code: order.name, message: message, diagnosis: order.diagnosis)
            .response(exchange)
    }
}
