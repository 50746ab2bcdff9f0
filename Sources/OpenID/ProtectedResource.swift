import EmulatorCore
import HTTPServer
import JOSE
import JSON
import ModelContextProtocol
import OAuth

/// A protected resource that accepts an issuer's access tokens: an MCP server (Model Context Protocol) at `/mcp/ID`,
/// for testing clients that have no MCP server of their own.
///
/// It fulfils the requirements on MCP servers of
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> and earlier versions. It is served on
/// the daemon's own host, like the issuers' short paths `/oidc/ID`.
struct ProtectedResource: Sendable {
    let issuer: Issuer
    /// The issuers whose access tokens the protected resource accepts.
    let authorizationServers: [Issuer]
    /// Whether this protected resource's metadata is also served at the well-known path without the resource's path.
    let isFirst: Bool

    /// The well-known part of the path of the protected resource's metadata:
    /// <https://datatracker.ietf.org/doc/html/rfc9728#section-3>.
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

    /// Returns the protected resource's identifier: <https://datatracker.ietf.org/doc/html/rfc8707#section-2>.
    func identifier(_ exchange: Exchange) -> String { exchange.address.ownBase + path }

    var endpoints: [Endpoint] {
        let bearers = EndpointTraits.Errors(["invalid_token", "insufficient_scope"]) { [self] order, exchange in
            let scopes = order.name == "insufficient_scope" ? policy.allScopes : policy.scopes
            return refusal(
                OAuthRefusal(order.name, description: order.description, order.diagnosis), needed: scopes, in: exchange)
        }
        // RFC 9728 puts the resource's path after the well-known one; some clients append instead.
        let places =
            [ProtectedResource.metadataPath + path, path + ProtectedResource.metadataPath]
            + (isFirst ? [ProtectedResource.metadataPath] : [])
        let metadata = places.map { place in
            Endpoint(
                "GET", [], place, title: place == places[0] ? "the metadata of the protected resource" : nil,
                cors: .any,
                .api, document
            ).known(by: .rfc("9728#section-3"))
        }
        let exposing = Endpoint.CORS.exposing(OAuthRefusal.exposedHeaders)
        let post = Endpoint(
            "POST", [], path, title: "a message to the protected resource", cors: exposing, keys: keys, .api(bearers),
            answer
        ).known(by: ProtectedResource.transport)
        // There are no messages to receive and no sessions to end.
        let others = ["GET", "DELETE"].map { method in
            Endpoint(method, [], path, cors: exposing, keys: keys, .api(bearers)) { exchange in
                do {
                    try checkOrigin(of: exchange)
                    _ = try access(exchange)
                } catch let error as Refusal { return error.response }
                return Response(
                    status: 405, headers: [(name: "Allow", value: "POST"), (name: "Cache-Control", value: "no-store")]
                ).diagnosed(
                    Diagnosis("this MCP server has no event streams or sessions: send messages by POST")
                ).known(by: OpenIDProvider.evidence.ofError("405"))
            }.known(by: ProtectedResource.transport)
        }
        return metadata + [post] + others
    }

    private static let transport = Evidence.specified(
        "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http")

    private var keys: [KeyOwner] { authorizationServers.map(\.owner) }

    // MARK: - Metadata

    private func document(_ exchange: Exchange) -> Response {
        let servers = authorizationServers.map { JSONValue.string($0.identifier(exchange)) }
        var body = JSONObject([
            ("resource", .string(identifier(exchange))), ("authorization_servers", .array(servers)),
        ])
        if !policy.scopes.isEmpty { body["scopes_supported"] = .array(policy.scopes.map { .string($0) }) }
        body["bearer_methods_supported"] = ["header"]
        body["resource_name"] = .string("\(issuer.name)'s protected resource")
        if dpop != .off {
            body["dpop_signing_alg_values_supported"] = .array(Algorithm.published.map { .string($0.rawValue) })
            body["dpop_bound_access_tokens_required"] = .bool(dpop == .required)
        }
        return Response(status: 200, contentType: "application/json", body: JSONValue.object(body).serialized())
    }

    /// Returns the URL of the protected resource's metadata for a `WWW-Authenticate` challenge; `nil` if challenges
    /// don't name the metadata.
    func metadataURL(_ exchange: Exchange) -> String? {
        switch policy.challenge.metadata {
        case .path: exchange.address.ownBase + ProtectedResource.metadataPath + path
        case .elsewhere: exchange.address.ownBase + path + ProtectedResource.metadataPath
        case .none: nil
        }
    }

    // MARK: - Messages

    /// Refuses a request from a web page whose origin isn't among those that the seed allows.
    private func checkOrigin(of exchange: Exchange) throws(Refusal) {
        guard let origins = policy.origins, let sent = exchange.request.header("Origin"),
            JavaScriptOrigin(of: exchange.request)?.isAmong(origins) != true
        else { return }
        throw Refusal(
            response: Response(status: 403, headers: [(name: "Cache-Control", value: "no-store")]).diagnosed(
                Diagnosis(
                    received: "Origin \(Diagnosis.quote(sent))",
                    expected: RegisteredRedirectURI.alternatives(origins) ?? "no Origin",
                    "pages of this origin may not send MCP messages: add the origin to origins of mcp in the seed")
            ).known(by: OpenIDProvider.evidence.ofError("403")))
    }

    private func answer(_ exchange: Exchange) throws -> Response {
        do {
            try checkOrigin(of: exchange)
            let access = try access(exchange)
            let request = exchange.request
            let headers = PostedMessage.Headers(
                revision: request.header("MCP-Protocol-Version"), method: request.header("Mcp-Method"),
                name: request.header("Mcp-Name"))
            let message: PostedMessage
            do throws(PostedMessage.Answer) { message = try PostedMessage(request.body, headers) } catch {
                return json(error).diagnosed(
                    Diagnosis("the body isn't a valid MCP message: send a message of JSON-RPC 2.0"))
            }
            if message.calledTool == ResourceTools.writeNote, let scope = policy.writeScope {
                try expect(scope, access, exchange)
            }
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
        let (code, message) = (body["error"]?["code"]?.integer ?? 0, body["error"]?["message"]?.string)
        return response.diagnosed(Diagnosis(message ?? "the MCP server can't process the message")).known(
            by: OpenIDProvider.evidence.ofError("\(code)", message))
    }
}

/// The seed's rules for an issuer's protected resource (an MCP server).
struct ResourcePolicy: SchemaObject {
    /// The contents of the protected resource's `WWW-Authenticate` header. By
    /// <https://datatracker.ietf.org/doc/html/rfc9728> and <https://datatracker.ietf.org/doc/html/rfc6750>, all its
    /// parameters are optional, so clients must also manage without them.
    struct Challenge: SchemaObject {
        enum Metadata: String, CaseIterable, Sendable {
            /// The `WWW-Authenticate` challenge contains the standard URL of the resource's metadata. Clients can also
            /// compute this URL themselves.
            case path
            /// The `WWW-Authenticate` challenge contains a non-standard URL for the resource's metadata. Clients can't
            /// compute this URL.
            case elsewhere
            case none
        }

        enum Scope: String, CaseIterable, Sendable {
            /// The `WWW-Authenticate` challenge lists all scopes that the request needs, whether or not the token has
            /// them.
            case needed
            /// The `WWW-Authenticate` challenge lists the scopes that the request needs and the token lacks.
            case missing
            case none
        }

        let metadata: Metadata
        let scope: Scope

        init(_ fields: inout Fields) {
            metadata = fields(
                "metadata", .choice(Metadata.self), default: .path,
                "The address of the metadata in the challenge: the usual one with the resource's path, `/mcp/ID/.well-known/oauth-protected-resource`, which clients can't guess, or none."
            )
            scope = fields(
                "scope", .choice(Scope.self), default: .needed,
                "The scopes in the challenge: all that the request needs, those that the token lacks, or none.")
        }
    }

    let scopes: [String]
    /// The additional scope that the MCP tool `write_note` needs; `nil` if it needs none.
    let writeScope: String?
    /// The IDs of the issuers whose access tokens are accepted, in the order in which the metadata lists them. If the
    /// list is empty, only the tokens of the issuer to which the resource belongs are accepted.
    let authorizationServers: [String]
    let challenge: Challenge
    /// The origins of the web pages that may send MCP messages to the server; `nil` means any origin.
    let origins: [String]?

    init(_ fields: inout Fields) {
        scopes = fields(
            "scopes", .set(of: .text(.nonEmpty)), default: ["mcp:read"],
            "The scopes that every request needs. The metadata lists them, unless there are none.")
        writeScope = fields(
            "writeScope", .nullable(.text(.nonEmpty)), default: "mcp:write",
            "The further scope that the tool `write_note` needs; null for none.")
        authorizationServers = fields(
            "authorizationServers", .set(of: .text(.identifier)), default: [],
            "The issuers, by id, whose tokens it takes; this one by default. Metadata lists them in this order.")
        challenge = fields.object("challenge", Challenge.self, "The contents of a refusal's `WWW-Authenticate`.")
        origins = fields.nullable(
            "origins", .set(of: .text(JavaScriptOrigin.rule)),
            "The origins whose pages may send messages. Others are refused (403); by default none is.")
    }

    var allScopes: [String] { scopes + (writeScope.map { scopes.contains($0) ? [] : [$0] } ?? []) }
}

/// The MCP tools of a protected resource. The tool `whoami` shows whose access token a client uses.
enum ResourceTools {
    static let writeNote = "write_note"

    static let identity = ServerIdentity(
        name: "understudy-resource", title: "Understudy's protected resource", version: "1.0",
        about: "A server of the Model Context Protocol that takes access tokens of an issuer of Understudy's.",
        instructions: "whoami tells whose token is used; echo repeats a text; write_note needs a further scope.")

    private struct Message: SchemaObject {
        let text: String

        init(_ fields: inout Fields) { text = fields("text", .text(.any), "The text.") }
    }

    private struct Nothing: SchemaObject {
        init(_ fields: inout Fields) {}
    }

    private static let person = Schema.members([
        .required("issuer", .string, "The issuer of the token."),
        .required("client", .string, "The client that it was given to."),
        .required("sub", .string, "The person, or the client where it acts for itself."),
        .optional("account", .string, "The person's account."),
        .optional("name", .string, "The person's name."),
        .required("scopes", .strings(), "The granted scopes."),
        .optional("expires", .string, "Until when the token works."),
    ])
    private static let text = Schema.members([.required("text", .string, "The text.")])

    static func all(_ access: ResourceAccess) -> [Tool] {
        [
            Tool(
                "whoami", title: "Who am I", .reads, "Tells whose access token the request has, and what it allows.",
                arguments: Nothing.self, answers: person
            ) { _, _ in .object(description(of: access)) },
            Tool(
                "echo", title: "Echo", .reads, "Repeats a text.", arguments: Message.self, answers: text
            ) { message, _ in .object(JSONObject([("text", .string(message.text))])) },
            Tool(
                writeNote, title: "Write a note", .adds,
                "Takes a note, for which the access token needs a further scope. Nothing is kept.",
                arguments: Message.self, answers: text
            ) { message, _ in .object(JSONObject([("text", .string(message.text))])) },
        ]
    }

    private static func description(of access: ResourceAccess) -> JSONObject {
        var person = JSONObject([
            ("issuer", .string(access.issuer)), ("client", .string(access.client)), ("sub", .string(access.subject)),
        ])
        person["account"] = access.account.map { .string($0.id) }
        person["name"] = access.account.map { .string($0.fullName) }
        person["scopes"] = .array(access.scopes.map { .string($0) })
        person["expires"] = access.expires.map { .string($0.text) }
        return person
    }
}

extension OpenIDProvider: ProtectsResources {
    package var resourceIDs: [String] { issuers.map(\.id) }

    package func variables(ofResource id: String, daemon url: String) -> [(name: String, value: String)] {
        guard let issuer = issuers.first(where: { $0.id == id }) else { return [] }
        return [
            (name: "MCP_SERVER_URL", value: url + ProtectedResource.path(of: issuer)),
            (name: "MCP_ISSUER_URL", value: url + issuer.alias.prefix),
        ]
    }
}
