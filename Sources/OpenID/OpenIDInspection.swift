import EmulatorCore
import HTTPServer
import JSON
import OAuth

// These sections describe a person at OpenID Connect issuers.

extension OpenIDProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let profiles = issuers.prefix(InspectedSection.limit).map { $0.profile(of: account) }
        let grants = InspectedGrants<OpenIDGrant>(of: account, in: exchange.world) { $0.expires > $1 }
        let apps = grants.section {
            $0.details.scopes
        } works: {
            $0.details.usedBy == nil
        } _: { grant in
            item(grant, of: account, in: exchange.world)
        }
        return [
            InspectedSection("Profile", profiles, more: issuers.count - profiles.count), apps,
        ] + consents(of: account, besides: grants.entries.map(\.grant), in: exchange)
            + [browsers(of: account, in: exchange)]
    }

    /// Returns a person's consents to clients that have no current grant. Such a client can get a grant without the
    /// person being asked.
    private func consents(
        of account: Account, besides grants: [OpenIDGrant], in exchange: Exchange
    ) -> [InspectedSection] {
        let shown = Set(grants.map { "\($0.issuer) \($0.client)" })
        let consents = exchange.world.read { $0.consents(of: account.id, limit: InspectedSection.limit) }
        let items = consents.compactMap { consent -> InspectedItem? in
            guard let issuer = issuer(ofRealm: consent.owner.prefix { $0 != " " }, in: exchange.world),
                let client = issuer.client(
                    String(consent.owner.dropFirst(issuer.realm.count + 1)), in: exchange.world),
                !shown.contains("\(issuer.id) \(client.clientID)")
            else { return nil }
            var item = InspectedItem(client.name, kind: "at \(issuer.name)")
            item.facts = [InspectedFact("Client", .code(client.clientID))]
            item.scopes = consent.scopes.sorted()
            item.actions = [.revoke(client.clientID, of: account, at: name)]
            return item
        }
        return items.isEmpty ? [] : [InspectedSection("Remembered consents", items)]
    }

    private func item(_ grant: OpenIDGrant, of account: Account, in world: World) -> InspectedItem {
        let issuer = issuer(grant.issuer, in: world)
        let client = issuer?.client(grant.client, in: world)
        var item = InspectedItem(client?.name ?? grant.client, kind: "at \(issuer?.name ?? grant.issuer)")
        item.facts = [InspectedFact("Client", .code(grant.client))]
        if let since = grant.authenticatedAt { item.facts.append(InspectedFact("Since", .time(since))) }
        item.facts.append(InspectedFact("Until", .time(grant.expires)))
        item.scopes = grant.scopes
        if let issuer, let client {
            item.facts.append(InspectedFact("sub", .code(issuer.subject(of: account, for: client))))
            item.actions = [.revoke(grant.client, of: account, at: name)]
        }
        return item
    }

    private func browsers(of account: Account, in exchange: Exchange) -> InspectedSection {
        let limit = InspectedSection.limit
        let sessions = exchange.world.read { $0.sessions(of: account.id, limit: limit) }
        let items = sessions.compactMap { session -> InspectedItem? in
            guard let issuer = issuer(ofRealm: session.issuer, in: exchange.world) else { return nil }
            var item = InspectedItem(session.id, kind: "session at \(issuer.name)")
            item.facts = [
                InspectedFact("Since", .time(session.authenticatedAt)), InspectedFact("Until", .time(session.expires)),
            ]
            if !session.clients.isEmpty {
                let clients = session.clients.prefix(limit).map(\.id)
                item.facts.append(InspectedFact("Clients", .codes(Array(clients))))
            }
            item.actions = [
                InspectedAction(
                    "Sign out", isDestructive: true, calling: "POST", "openid/logouts",
                    [
                        "issuer": .string(issuer.id), "account": .string(account.id), "session": .string(session.id),
                    ])
            ]
            return item
        }
        return .browsers(items)
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        // A signed token is stored by its ID, which its issuer can read.
        let keys = [text] + (text.contains(".") ? issuers.map { $0.rowKey(of: text, in: exchange) } : [])
        return try exchange.world.update { tables in
            for key in keys {
                guard let token = tables.pop(Token<OpenIDGrant>.self, key) else { continue }
                let grant = tables.find(OpenIDGrant.self, token.grant)
                return (token.kind.name, grant?.client ?? token.client)
            }
            return nil
        }
    }
}

extension Issuer {
    /// Returns a person's subjects at the issuer, and the claims that one of its clients gets with all scopes, for the
    /// inspector (the web pages for developers). Clients with pairwise subjects are listed one by one.
    fileprivate func profile(of account: Account) -> InspectedItem {
        var item = InspectedItem(name, kind: "issuer")
        item.facts = [InspectedFact("sub", .code(account[OpenIDProfile.self].sub))]
        for client in clients.filter({ $0.subject == .pairwise }).prefix(InspectedSection.limit) {
            item.facts.append(InspectedFact("sub for \(client.clientID)", .code(subject(of: account, for: client))))
        }
        guard let client = clients.first(where: { $0.subject != .pairwise }) ?? clients.first else { return item }
        let all = ["openid", "profile", "email", "address", "phone", "groups", "roles"] + scopes.keys.sorted()
        var claims = JSONObject([("sub", .string(subject(of: account, for: client)))])
        claims.merge(self.claims(of: account, for: client, scopes: all))
        item.documents = [InspectedDocument("Claims for \(client.clientID), with all scopes", .object(claims))]
        return item
    }
}

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
                        .required(
                            "clients", .sequence(of: OpenIDProvider.clientSchema), "The clients, at most `limit`."),
                        .optional("next", .string, "The value of `after` for the next page; missing at the end."),
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
                .empty("The client is removed."),
                .refusal(404, "noSuchClient", "No client of this ID has registered at any issuer."),
            ]
        ) { try removeClient($0) }
    }

    private struct ClientPage: SchemaObject {
        let after: String?
        let limit: Int

        init(_ fields: inout Fields) {
            after = fields.optional("after", .text(.nonEmpty), "`next` of the page before.")
            limit = fields("limit", .integer(1...1_000), default: 100, "The greatest number of clients.")
        }
    }

    private static let clientSchema = Schema.members(
        "RegisteredClient",
        [
            .required("issuer", .string, "The issuer's id."),
            .required("clientID", .string, "The client's ID."),
            .required("registered", .time, "The time of the registration."),
            .required("metadata", .map(of: .any), "The client's metadata with defaults (RFC 7591)."),
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
