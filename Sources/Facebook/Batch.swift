import EmulatorCore
import HTTPServer
import JSON

// POST https://graph.facebook.com/ with `batch`: several calls in one request
//
// Quirks: each call is answered with its status, its headers and its body, which is a text. A call without an access
// token uses the request's. Calls that refer to each other's answers aren't supported. A call without a complete answer
// is null, like one that has timed out: https://developers.facebook.com/docs/graph-api/batch-requests. So is a call after
// answers of eight megabytes.

private struct BatchCall {
    private let method: String
    private let path: String
    private let query: String?
    private let body: String
    private let isSilentOnSuccess: Bool

    private static let methods = ["GET", "POST", "PUT", "DELETE"]

    /// Reads a call of a Graph API batch. Returns `nil` if it has no known method or no `relative_url`.
    init?(_ json: JSONValue) {
        guard let method = json["method"]?.string, let url = json["relative_url"]?.string,
            let known = BatchCall.methods.first(where: { $0.equalsIgnoringASCIICase(method) })
        else { return nil }
        self.method = known
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0].drop { $0 == "/" })
        query = parts.count > 1 ? String(parts[1]) : nil
        body = json["body"]?.string ?? ""
        isSilentOnSuccess = json["omit_response_on_success"]?.bool ?? false
    }

    /// Makes a call of a Graph API batch, and returns its answer. If the call's path has no version, `version` is used.
    /// If the call has no access token, `credentials` are added to its query. URLs in the answer point to Understudy's
    /// own address if the batch was sent there, and otherwise to Facebook's hosts.
    func answer(
        _ exchange: Exchange, version: String?, credentials: String, withHeaders: Bool
    ) async -> JSONValue {
        let hasToken = [query ?? "", body].contains { Form(parsing: $0)["access_token"] != nil }
        let fields = [query, hasToken ? nil : credentials].compactMap { $0 }.filter { !$0.isEmpty }
        let isVersioned = path.split(separator: "/").first.map { FacebookProvider.isVersion(String($0)) } ?? false
        let prefix = isVersioned ? "" : version.map { "\($0)/" } ?? ""
        let base = exchange.address.base(of: FacebookProvider.graphHost).drop { $0 != "/" }.dropFirst(2)
        let host = base.prefix { $0 != "/" }
        let response = await exchange.fetch(
            method, String(host),
            "\(base.dropFirst(host.count))/\(prefix)\(path)"
                + (fields.isEmpty ? "" : "?\(fields.joined(separator: "&"))"),
            headers: body.isEmpty ? [] : [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
        guard case .whole = response.delivery else { return .null }
        if isSilentOnSuccess, response.status < 400 { return .null }
        var told = JSONObject([("code", .integer(Int64(response.status)))])
        if withHeaders {
            told["headers"] = .array(
                response.headers.map { ["name": .string($0.name), "value": .string($0.value)] })
        }
        told["body"] = .string(String(decoding: response.body, as: UTF8.self))
        return .object(told)
    }
}

extension FacebookProvider {
    private static let largestBatch = 50
    /// The number of bytes of a batch's answers after which further calls aren't made.
    private static let largestAnswer = 8 << 20
    /// The greatest length in bytes of a batch's `access_token`, `appsecret_proof` and `appsecret_time` together, as a
    /// URL-encoded form. It is limited because these parameters may be added to every call of the batch.
    private static let largestCredentials = 4_096

    /// Handles a batch of Graph API calls, a POST request to the Graph API's root.
    func batch(_ exchange: Exchange) async -> Response {
        let calls: [BatchCall]
        let credentials: String
        do throws(GraphError) {
            calls = try self.calls(exchange)
            credentials = try batchCredentials(exchange)
        } catch { return error.response }
        let withHeaders = !["false", "0"].contains(parameter("include_headers", exchange) ?? "")
        var answers: [JSONValue] = []
        var size = 0
        for call in calls where size < FacebookProvider.largestAnswer {
            let answer = await call.answer(
                exchange, version: exchange.parameters["id"], credentials: credentials, withHeaders: withHeaders)
            size += answer["body"]?.string?.utf8.count ?? 0
            answers.append(answer)
        }
        let left = calls.count - answers.count
        guard left > 0 else { return FacebookProvider.json(.array(answers)) }
        return FacebookProvider.json(.array(answers + [JSONValue](repeating: .null, count: left))).addingNote(
            Note(
                "the last \(left) calls weren't made, and are null: the answers before them have more than "
                    + "\(FacebookProvider.largestAnswer) bytes; split the batch"))
    }

    private func batchCredentials(_ exchange: Exchange) throws(GraphError) -> String {
        let values =
            [("access_token", callerToken(exchange))]
            + ["appsecret_proof", "appsecret_time"].map { ($0, parameter($0, exchange) ?? "") }
        let text = Form(fields: values.filter { !$0.1.isEmpty }.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        guard text.utf8.count <= FacebookProvider.largestCredentials else {
            throw GraphError(
                message: "Invalid OAuth access token - Cannot parse access token", code: 190,
                diagnosis: Diagnosis(
                    received: "access_token, appsecret_proof and appsecret_time with \(text.utf8.count) bytes in all",
                    expected: "at most \(FacebookProvider.largestCredentials) bytes",
                    "valid values are shorter"))
        }
        return text
    }

    private func calls(_ exchange: Exchange) throws(GraphError) -> [BatchCall] {
        guard !exchange.isInternal else {
            throw .unsupported(exchange.request.method, id: nil, Diagnosis("a batch can't contain another batch"))
        }
        let isAddress = exchange.parameters["id"].map(FacebookProvider.isVersion) ?? true
        guard isAddress, let text = parameter("batch", exchange) else { throw unserved(exchange) }
        guard let items = (try? JSONValue(parsing: Array(text.utf8)))?.array else {
            throw GraphError(
                message: "batch parameter must be a JSON array", kind: .batch,
                diagnosis: Diagnosis("batch must be a JSON array of objects with method and relative_url"))
        }
        guard items.count <= FacebookProvider.largestBatch else {
            throw GraphError(
                message: "Too many requests in batch message. Maximum batch size is \(FacebookProvider.largestBatch)",
                kind: .batch,
                diagnosis: Diagnosis(
                    received: "a batch of \(items.count) requests",
                    expected: "at most \(FacebookProvider.largestBatch) requests", "split it into several batches"))
        }
        let calls = items.compactMap(BatchCall.init)
        guard calls.count == items.count else {
            throw GraphError(
                message: "batch parameter must be a JSON array", kind: .batch,
                diagnosis: Diagnosis(
                    "each request in the batch needs a method (GET, POST, PUT or DELETE) and a relative_url"))
        }
        return calls
    }
}
