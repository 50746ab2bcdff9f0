import EmulatorCore
import HTTPServer
import JOSE
import JSON
import ModelContextProtocol
import OAuth

/// A resource that accepts an issuer's access tokens: a server of the Model Context Protocol at `/mcp/ID`, for clients
/// without another one for tests.
///
/// It has the requirements of <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> and its
/// predecessors for MCP servers. It is on the daemon's own host, like the short addresses of issuers.
struct ProtectedResource: Sendable {
    /// The issuer beside which it is.
    let issuer: Issuer
    /// The issuers whose tokens it accepts.
    let authorizationServers: [Issuer]
    /// Whether metadata without a path is this resource's.
    let isFirst: Bool

    /// The path of the metadata: <https://datatracker.ietf.org/doc/html/rfc9728#section-3>.
    static let metadataPath = "/.well-known/oauth-protected-resource"

    init(at issuer: Issuer, among all: [Issuer]) {
        self.issuer = issuer
        let named = issuer.resource.authorizationServers.compactMap { id in all.first { $0.id == id } }
        authorizationServers = named.isEmpty ? [issuer] : named
        isFirst = all.first?.id == issuer.id
    }

    static func path(of issuer: Issuer) -> String { "/mcp/\(issuer.id)" }
    var path: String { ProtectedResource.path(of: issuer) }
    var policy: ResourcePolicy { issuer.resource }

    /// Returns the resource's identifier: <https://datatracker.ietf.org/doc/html/rfc8707#section-2>.
    func identifier(_ exchange: Exchange) -> String { exchange.address.ownBase + path }

    /// Returns the issuer's identifier for clients of the resource: its short address, unless it has a fixed one.
    func identifier(of server: Issuer, _ exchange: Exchange) -> String {
        server.followsRequest ? exchange.address.ownBase + server.alias.prefix : server.identifier(exchange)
    }

    var endpoints: [Endpoint] {
        let bearers = EndpointTraits.Errors(["invalid_token", "insufficient_scope"]) { [self] order, exchange in
            let scopes = order.name == "insufficient_scope" ? policy.allScopes : policy.scopes
            return refusal(
                OAuthRefusal(order.name, description: order.description, order.diagnosis), scopes, in: exchange)
        }
        // RFC 9728 puts the resource's path after the well-known one; some clients append instead.
        let places =
            [ProtectedResource.metadataPath + path, path + ProtectedResource.metadataPath]
            + (isFirst ? [ProtectedResource.metadataPath] : [])
        let metadata = places.map { place in
            Endpoint(
                "GET", [], place, title: place == places[0] ? "the metadata of the protected resource" : nil,
                cors: .any,
                .api, document)
        }
        let exposing = Endpoint.CORS.exposing(OAuthRefusal.exposedHeaders)
        let post = Endpoint(
            "POST", [], path, title: "a message to the protected resource", cors: exposing, keys: keys, .api(bearers),
            answer)
        // There are no messages to receive and no sessions to end.
        let others = ["GET", "DELETE"].map { method in
            Endpoint(method, [], path, cors: exposing, keys: keys, .api(bearers)) { exchange in
                do { _ = try access(exchange) } catch let error as Refusal { return error.response }
                return Response(
                    status: 405, headers: [(name: "Allow", value: "POST"), (name: "Cache-Control", value: "no-store")]
                ).diagnosed(
                    Diagnosis("the resource sends nothing on its own and keeps no sessions: send messages by POST"))
            }
        }
        return metadata + [post] + others
    }

    private var keys: [KeyOwner] { authorizationServers.map(\.owner) }

    // MARK: - Metadata

    private func document(_ exchange: Exchange) -> Response {
        let servers = authorizationServers.map { JSONValue.string(identifier(of: $0, exchange)) }
        var body = JSONObject([
            ("resource", .string(identifier(exchange))), ("authorization_servers", .array(servers)),
            ("scopes_supported", .array(policy.scopes.map { .string($0) })), ("bearer_methods_supported", ["header"]),
            ("resource_name", .string("\(issuer.name)'s protected resource")),
        ])
        if dpop != .off {
            body["dpop_signing_alg_values_supported"] = .array(Algorithm.published.map { .string($0.rawValue) })
            body["dpop_bound_access_tokens_required"] = .bool(dpop == .required)
        }
        return Response(status: 200, contentType: "application/json", body: JSONValue.object(body).serialized())
    }

    func metadataURL(_ exchange: Exchange) -> String {
        exchange.address.ownBase + ProtectedResource.metadataPath + path
    }

    // MARK: - Messages

    private func answer(_ exchange: Exchange) throws -> Response {
        do {
            let access = try access(exchange)
            let request = exchange.request
            let headers = PostedMessage.Headers(
                revision: request.header("MCP-Protocol-Version"), method: request.header("Mcp-Method"),
                name: request.header("Mcp-Name"))
            let message: PostedMessage
            do throws(PostedMessage.Answer) { message = try PostedMessage(request.body, headers) } catch {
                return json(error).diagnosed(
                    Diagnosis("the body isn't a message of the protocol: send one of JSON-RPC 2.0"))
            }
            if message.calledTool == ResourceTools.writeNote { try expect(policy.writeScope, access, exchange) }
            return json(message.answer(as: ResourceTools.identity, tools: ResourceTools.all(access)))
        } catch let error as Refusal { return error.response }
    }

    private func json(_ answer: PostedMessage.Answer) -> Response {
        guard let body = answer.body else { return Response(status: answer.status) }
        let response = Response(
            status: answer.status, contentType: "application/json",
            headers: [(name: "Cache-Control", value: "no-store")],
            body: body.serialized())
        guard answer.status >= 400 else { return response }
        return response.diagnosed(Diagnosis(body["error"]?["message"]?.string ?? "the message can't be answered"))
    }
}
