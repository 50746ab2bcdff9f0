import JSON

// These methods are answered at once: https://modelcontextprotocol.io/specification/2026-07-28/schema

extension ModelContextServer {
    /// The milliseconds for which clients may cache lists. Lists change only with the executable.
    private static let freshness: Int64 = 3_600_000

    func result(of request: RPCRequest, in revision: Revision) throws(RPCError) -> JSONObject {
        switch request.method {
        case "initialize" where !revision.isStateless: return greeting(in: revision)
        case "ping" where !revision.isStateless: return JSONObject()
        case "server/discover" where revision.isStateless:
            var result = JSONObject([
                ("supportedVersions", .array(Revision.allCases.reversed().map { .string($0.rawValue) })),
                ("capabilities", capabilities),
            ])
            result["instructions"] = .string(identity.instructions)
            return cacheable(result, in: revision)
        case "tools/list":
            try expectFirstPage(request)
            return cacheable(JSONObject([("tools", .array(tools.map { $0.json(in: revision) }))]), in: revision)
        case "resources/list":
            try expectFirstPage(request)
            let all = resources.map { $0.json(in: revision) }
            return cacheable(JSONObject([("resources", .array(all))]), in: revision)
        case "resources/templates/list":
            try expectFirstPage(request)
            return cacheable(JSONObject([("resourceTemplates", [])]), in: revision)
        case "resources/read": return cacheable(try contents(request, in: revision), in: revision)
        case "prompts/list" where !prompts.isEmpty:
            try expectFirstPage(request)
            return cacheable(JSONObject([("prompts", .array(prompts.map { $0.json(in: revision) }))]), in: revision)
        case "prompts/get" where !prompts.isEmpty: return dressed(try prompt(request), in: revision)
        default: throw .unknownMethod(request.method)
        }
    }

    private var capabilities: JSONValue {
        var capabilities = JSONObject([("tools", [:])])
        if !resources.isEmpty { capabilities["resources"] = [:] }
        if !prompts.isEmpty { capabilities["prompts"] = [:] }
        return .object(capabilities)
    }

    private func greeting(in revision: Revision) -> JSONObject {
        JSONObject([
            ("protocolVersion", .string(revision.rawValue)), ("capabilities", capabilities),
            ("serverInfo", identity.json(in: revision)), ("instructions", .string(identity.instructions)),
        ])
    }

    /// Refuses a request for a further page: lists have a single one.
    private func expectFirstPage(_ request: RPCRequest) throws(RPCError) {
        guard request.params["cursor"] == nil else { throw .invalidParams("there is no such page: lists have one") }
    }

    private func contents(_ request: RPCRequest, in revision: Revision) throws(RPCError) -> JSONObject {
        guard let uri = request.params["uri"]?.string else { throw .invalidParams("uri is missing, a string") }
        guard let resource = resources.first(where: { $0.uri == uri }) else {
            throw RPCError(
                code: revision.missingResourceCode, message: "Resource not found: \(Place.shortened(uri, to: 200))",
                data: ["uri": .string(Place.shortened(uri, to: 200))])
        }
        return JSONObject([("contents", resource.contents)])
    }

    private func prompt(_ request: RPCRequest) throws(RPCError) -> JSONObject {
        guard let name = request.params["name"]?.string else { throw .invalidParams("name is missing, a string") }
        guard let prompt = prompts.first(where: { $0.name == name }) else {
            let hint = Spelling.hint(name, among: prompts.map(\.name))
            throw .invalidParams("no prompt \(Place.shortened(name, to: 200))\(hint)")
        }
        return try prompt.result(request.params["arguments"] ?? [:])
    }

    /// Returns the called tool, and its arguments, which aren't checked yet.
    func calledTool(_ request: RPCRequest) throws(RPCError) -> (tool: Tool, arguments: JSONValue) {
        guard let name = request.params["name"]?.string else { throw .invalidParams("name is missing, a string") }
        guard let tool = tools.first(where: { $0.name == name }) else {
            let hint = Spelling.hint(name, among: tools.map(\.name))
            throw RPCError(code: -32602, message: "Unknown tool: \(Place.shortened(name, to: 200))\(hint)")
        }
        let arguments = request.params["arguments"] ?? [:]
        guard arguments.object != nil else {
            throw .invalidParams("arguments: found \(arguments.kindName), expected an object")
        }
        return (tool, arguments)
    }

    // MARK: - Members of every result

    private func cacheable(_ result: JSONObject, in revision: Revision) -> JSONObject {
        guard revision.isStateless else { return result }
        var result = result
        // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
        result["ttlMs"] = .integer(ModelContextServer.freshness)
        result["cacheScope"] = "public"
        return dressed(result, in: revision)
    }

    func dressed(_ result: JSONObject, in revision: Revision) -> JSONObject {
        guard revision.isStateless else { return result }
        var result = result
        result["resultType"] = "complete"
        result["_meta"] = ["io.modelcontextprotocol/serverInfo": identity.json(in: revision)]
        return result
    }
}
