import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET and DELETE /_understudy/v1/openid/clients; DELETE openid/clients/ID: the clients that have registered themselves.

extension OpenIDProvider {
    var listClientsCall: Endpoint {
        .control(
            "GET", "openid/clients", "Lists the clients that have registered themselves at issuers, oldest first.",
            reads: .query(ClientPage.self),
            answers: [
                .json(
                    "The clients.",
                    .members([
                        .required("clients", .sequence(of: OpenIDProvider.clientSchema), "At most `limit`."),
                        .optional("next", .string, "What `after` is for the next page; none at the end."),
                    ]))
            ]
        ) { listClients($0, $1) }
    }

    var removeClientsCall: Endpoint {
        .control(
            "DELETE", "openid/clients",
            "Removes all clients that have registered themselves, whose codes and tokens work no more, and forgets fetched documents.",
            reads: .noQuery,
            answers: [.empty("There are none.")]
        ) { exchange in
            try exchange.world.update { tables in
                while let client = tables.first(DynamicClient.self) { tables.remove(DynamicClient.self, client.key) }
                while let document = tables.first(ClientDocument.self) {
                    tables.remove(ClientDocument.self, document.key)
                }
            }
            exchange.world.caches[ClientDocumentFetches.self].removeAll()
            return Response(status: 204)
        }
    }

    var removeClientCall: Endpoint {
        .control(
            "DELETE", "openid/clients/:client", "Removes a client that has registered itself.",
            path: ["The client's ID."],
            answers: [
                .empty("It is removed."),
                .refusal(404, "noSuchClient", "No client of this ID has registered at any issuer."),
            ]
        ) { try removeClient($0) }
    }

    private struct ClientPage: SchemaObject {
        let after: String?
        let limit: Int

        init(_ fields: inout Fields) {
            after = fields.optional("after", .text(.nonEmpty), "`next` of the page before.")
            limit = fields("limit", .integer(1...1_000), default: 100, "How many at most.")
        }
    }

    private static let clientSchema = Schema.members(
        "RegisteredClient",
        [
            .required("issuer", .string, "The issuer's id."),
            .required("clientID", .string, "The client's ID."),
            .required("registered", .time, "When."),
            .required("metadata", .map(of: .any), "What it says of itself, with defaults (RFC 7591)."),
        ])

    private func listClients(_ exchange: Exchange, _ page: ClientPage) -> Response {
        let rows = exchange.world.read { $0.rows(DynamicClient.self, after: page.after, limit: page.limit + 1) }
        let clients = rows.prefix(page.limit).map { row -> JSONValue in
            [
                "issuer": .string(String(row.realm.dropFirst(name.utf8.count + 1))), "clientID": .string(row.clientID),
                "registered": .string(row.issued.text), "metadata": .object(row.description.metadata),
            ]
        }
        var answer = JSONObject([("clients", .array(clients))])
        if rows.count > page.limit { answer["next"] = rows.prefix(page.limit).last.map { .string($0.key) } }
        return ControlAnswer.ok(.object(answer))
    }

    private func removeClient(_ exchange: Exchange) throws -> Response {
        let id = exchange.parameters["client"] ?? ""
        let keys = issuers.map { DynamicClient.key(id, at: $0.realm) }
        let isRemoved = try exchange.world.update { tables in
            var isRemoved = false
            for key in keys where tables.pop(DynamicClient.self, key) != nil { isRemoved = true }
            return isRemoved
        }
        guard !isRemoved else { return Response(status: 204) }
        return ControlAnswer.error(
            404, "noSuchClient", "no client \(Diagnosis.quote(id)) has registered at any issuer of this world")
    }
}

extension OpenIDProvider: TakesClients {
    package func registeredClients(in world: World, limit: Int) -> [SeededClient] {
        world.read { $0.rows(DynamicClient.self, limit: limit) }.map { row in
            let issuer = row.realm.dropFirst(name.utf8.count + 1)
            return SeededClient(
                id: row.clientID, kind: "\(row.description.name ?? row.clientID), at \(issuer)",
                addresses: row.description.redirectURIs.joined(separator: " "))
        }
    }
}
