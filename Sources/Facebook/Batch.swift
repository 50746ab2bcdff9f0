import EmulatorCore
import HTTPServer
import JSON

// POST https://graph.facebook.com/ with `batch`: several calls in one request
// https://developers.facebook.com/docs/graph-api/batch-requests
//
// Quirks: each call is answered with its status, its headers and its body, which is a text. A call without an access token of its own has
// the request's. Calls that refer to each other's answers aren't played.

/// One call of a batch.
private struct BatchCall {
    private let method: String
    private let path: String
    private let query: String?
    private let body: String
    private let isSilentOnSuccess: Bool

    /// `nil` for what names no method or no address.
    init?(_ json: JSONValue) {
        guard let method = json["method"]?.string, let url = json["relative_url"]?.string else { return nil }
        self.method = method.uppercased()
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0].drop { $0 == "/" })
        query = parts.count > 1 ? String(parts[1]) : nil
        body = json["body"]?.string ?? ""
        isSilentOnSuccess = json["omit_response_on_success"]?.bool ?? false
    }

    /// A call of the batch's address would be a batch within a batch.
    private var isBatch: Bool {
        let decoded = String(decoding: PercentCoding.decode(Array(path.utf8)[...]), as: UTF8.self)
        return decoded.split(separator: "/").allSatisfy { FacebookProvider.isVersion(String($0)) }
    }

    /// Makes the call. It has the batch's version unless it names one, and `credentials` unless it brings an access token.
    func answer(
        _ exchange: Exchange, version: String?, credentials: Form, withHeaders: Bool
    ) async -> JSONValue {
        let response: Response
        if isBatch {
            response = GraphError.unsupported(method, id: nil, Diagnosis("a batch holds no other batch")).response
        } else {
            let hasToken = [query ?? "", body].contains { Form(parsing: $0)["access_token"] != nil }
            let fields = [query, hasToken ? nil : credentials.encoded].compactMap { $0 }.filter { !$0.isEmpty }
            let isVersioned = path.split(separator: "/").first.map { FacebookProvider.isVersion(String($0)) } ?? false
            let prefix = isVersioned ? "" : version.map { "\($0)/" } ?? ""
            response = await exchange.fetch(
                method, FacebookProvider.graphHost,
                "/\(prefix)\(path)" + (fields.isEmpty ? "" : "?\(fields.joined(separator: "&"))"),
                headers: body.isEmpty ? [] : [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
                body: Array(body.utf8))
        }
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

    /// What is posted to the address of the Graph API itself.
    func batch(_ exchange: Exchange) async -> Response {
        let calls: [BatchCall]
        do throws(GraphError) { calls = try self.calls(exchange) } catch { return error.response }
        let names = ["access_token", "appsecret_proof", "appsecret_time"]
        var credentials = Form(
            fields: names.compactMap { name in
                parameter(name, exchange).map { Form.Field(name: name, value: $0) }
            })
        if credentials["access_token"] == nil, !callerToken(exchange).isEmpty {
            credentials.fields.append(Form.Field(name: "access_token", value: callerToken(exchange)))
        }
        let withHeaders = !["false", "0"].contains(parameter("include_headers", exchange) ?? "")
        var answers: [JSONValue] = []
        for call in calls {
            answers.append(
                await call.answer(
                    exchange, version: exchange.parameters["id"], credentials: credentials, withHeaders: withHeaders))
        }
        return FacebookProvider.json(.array(answers))
    }

    private func calls(_ exchange: Exchange) throws(GraphError) -> [BatchCall] {
        let isAddress = exchange.parameters["id"].map(FacebookProvider.isVersion) ?? true
        guard isAddress, let text = parameter("batch", exchange) else { throw unserved(exchange) }
        guard let items = (try? JSONValue(parsing: Array(text.utf8)))?.array else {
            // The words aren't public.
            throw GraphError(
                message: "batch parameter must be a JSON array", kind: .batch,
                diagnosis: Diagnosis("batch is a JSON array of objects with method and relative_url"))
        }
        guard items.count <= FacebookProvider.largestBatch else {
            // https://github.com/jgorset/facepy has the answer among its tests.
            throw GraphError(
                message: "Too many requests in batch message. Maximum batch size is \(FacebookProvider.largestBatch)",
                kind: .batch,
                diagnosis: Diagnosis("the batch has \(items.count) calls: send several batches"))
        }
        let calls = items.compactMap(BatchCall.init)
        guard calls.count == items.count else {
            throw GraphError(
                message: "batch parameter must be a JSON array", kind: .batch,
                diagnosis: Diagnosis("a call of the batch lacks its method or its relative_url"))
        }
        return calls
    }
}
