import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET /TENANT/v2.0/.well-known/openid-configuration, the keys, the instances, and the person in Microsoft Graph.
//
// Quirks: the issuer of common and organizations has {tenantid} in place of the tenant. Keys have no alg, but an issuer.

extension MicrosoftProvider {
    func discovery(_ exchange: Exchange) throws -> Response {
        let realm = try realm(exchange)
        let isOne = realm.isTenant || realm.text == MicrosoftTenant.consumers
        // A domain is replaced by the tenant's ID; common, organizations and consumers stay.
        let place = realm.isTenant ? realm.text : exchange.parameters["tenant"] ?? ""
        return MicrosoftProvider.json(
            MicrosoftProvider.document.filled(
                for: exchange,
                [
                    "tenant": exchange.address.url(of: MicrosoftProvider.host, "/\(place)"),
                    "issuer": issuer(isOne ? realm.text : "{tenantid}", exchange),
                ]), exchange)
    }

    private static let document = DiscoveryDocument(Texts.discovery)

    func keySet(_ exchange: Exchange) throws -> Response {
        let realm = try realm(exchange)
        let issuer = issuer(realm.isTenant ? realm.text : "{tenantid}", exchange)
        let keys = (exchange.keySet(.microsoft)["keys"]?.array ?? []).map { key -> JSONValue in
            var members = key.object ?? JSONObject()
            members["alg"] = nil
            members["x5t"] = members["kid"]
            members["issuer"] = .string(issuer)
            return .object(members)
        }
        return MicrosoftProvider.json(["keys": .array(keys)], exchange)
    }

    /// Handles `/common/discovery/instance`: returns the host names of Microsoft's sign-in service, which its libraries
    /// ask for.
    func instances(_ exchange: Exchange) throws -> Response {
        let text = exchange.request.queryForm["authorization_endpoint"] ?? ""
        guard let address = WebAddress(text), MicrosoftProvider.aliases.contains(address.host) else {
            throw MicrosoftError(50049, received: "authorization_endpoint \(Diagnosis.quote(text))")
        }
        let tenant = address.path.split(separator: "/").first.map(String.init) ?? "common"
        let document = "/\(tenant)/v2.0/.well-known/openid-configuration"
        return MicrosoftProvider.json(
            [
                "tenant_discovery_endpoint": .string(exchange.address.url(of: MicrosoftProvider.host, document)),
                "api-version": .string(exchange.request.queryForm["api-version"] ?? "1.1"),
                "metadata": [
                    [
                        "preferred_network": .string(MicrosoftProvider.host),
                        "preferred_cache": "login.windows.net",
                        "aliases": .array(MicrosoftProvider.aliases.map { .string($0) }),
                    ]
                ],
            ], exchange)
    }

    /// Handles Microsoft's sign-out endpoint: ends the session of the browser.
    func logOut(_ exchange: Exchange, _ form: Form) throws -> Response {
        if let session = exchange.session(at: name) { _ = try exchange.world.update { $0.end(session) } }
        var response = pages(exchange).notice(
            "You signed out of your account", "It's a good idea to close all browser windows.")
        if let uri = form["post_logout_redirect_uri"], !uri.isEmpty {
            if settings.clients.all.contains(where: { $0.platform(of: uri) != nil }) {
                var answer = AuthorizationResponse(redirectURI: exchange.reachable(uri), mode: .query)
                answer.append("state", form["state"])
                response = answer.deliver()
            } else {
                response = response.addingNote(
                    Note("post_logout_redirect_uri \(Diagnosis.quote(uri)) isn't a redirect URI of any client"))
            }
        }
        response.headers.append(BrowserSession.cookie(nil, at: name, for: exchange))
        return response
    }

    // MARK: - Microsoft Graph

    /// Returns the person to whom a request's access token belongs, and the token.
    ///
    /// - Throws: Microsoft Graph's error if the token doesn't work or lacks the required scope.
    private func person(
        _ exchange: Exchange, needing scope: String
    ) throws(MicrosoftGraphError) -> (account: Account, token: Token<MicrosoftGrant>) {
        let text = exchange.request.accessToken() ?? ""
        let (token, account) = exchange.world.read { tables in
            let token = tables.find(Token<MicrosoftGrant>.self, text)
            let grant = token.flatMap { tables.find(MicrosoftGrant.self, $0.grant) }
            return (grant == nil ? nil : token, grant.flatMap { tables.account($0.account) })
        }
        let reason = Diagnosis(exchange.reason(againstUsing: text, .access, MicrosoftGrant.self))
        func refused(_ message: String) -> MicrosoftGraphError {
            MicrosoftGraphError(message: message, diagnosis: reason)
        }
        guard !text.isEmpty else { throw refused("Access token is empty.") }
        guard let token, token.kind == .access else {
            let isJWT = text.split(separator: ".").count == 3
            throw refused(
                isJWT
                    ? "Access token validation failure. Invalid audience."
                    : "CompactToken parsing failed with error code: 80049217")
        }
        guard !token.hasExpired(at: exchange.world.now) else {
            throw refused("Lifetime validation failed, the token is expired.")
        }
        guard let account else {
            throw MicrosoftGraphError(
                status: 400, code: "BadRequest",
                message: "/me request is only valid with delegated authentication flow.", diagnosis: reason)
        }
        let names = MicrosoftScopes(token.details.scopes).granted(for: MicrosoftScopes.graph)
        guard names.contains(where: { [scope, ".default"].contains(MicrosoftScopes.split($0).name.lowercased()) })
        else {
            throw MicrosoftGraphError(
                status: 403, code: "Authorization_RequestDenied",
                message: "Insufficient privileges to complete the operation.",
                diagnosis: Diagnosis(
                    received: "a token with the scopes \(Diagnosis.quote(names.joined(separator: " ")))",
                    "request the scope \(scope), too"))
        }
        return (account, token)
    }

    /// Handles `GET /v1.0/me` of Microsoft Graph: the profile of the signed-in person.
    func profile(_ exchange: Exchange) throws -> Response {
        let found = try person(exchange, needing: "user.read")
        var body = profile(of: found.account)
        if let selected = exchange.request.queryForm["$select"] {
            let names = Set(selected.split(separator: ",").map(String.init) + ["@odata.context"])
            body = JSONObject(body.members.filter { names.contains($0.key) }.map { ($0.key, $0.value) })
        }
        return MicrosoftProvider.json(.object(exchange.claims(body)), exchange)
    }

    func profile(of account: Account) -> JSONObject {
        let profile = account.microsoft
        return JSONObject([
            ("@odata.context", "https://graph.microsoft.com/v1.0/$metadata#users/$entity"), ("businessPhones", []),
            ("displayName", .string(account.fullName)), ("givenName", .string(account.name.given)),
            ("jobTitle", profile.jobTitle.map { .string($0) } ?? .null), ("mail", .string(account.email)),
            ("mobilePhone", account.phoneNumber.map { .string($0) } ?? .null), ("officeLocation", .null),
            ("preferredLanguage", .null), ("surname", .string(account.name.family)),
            ("userPrincipalName", .string(profile.userPrincipalName)), ("id", .string(profile.oid)),
        ])
    }

    /// Handles Microsoft's endpoint `/oidc/userinfo`: the OpenID claims of the signed-in person.
    func userInfo(_ exchange: Exchange) throws -> Response {
        let (account, token) = try person(exchange, needing: "openid")
        var body = JSONObject([("sub", .string(account.microsoft.subject(for: token.client)))])
        if token.details.scopes.contains("profile") {
            body["name"] = .string(account.fullName)
            body["family_name"] = .string(account.name.family)
            body["given_name"] = .string(account.name.given)
            body["picture"] = "https://graph.microsoft.com/v1.0/me/photo/$value"
        }
        if token.details.scopes.contains("email") { body["email"] = .string(account.email) }
        return MicrosoftProvider.json(.object(body), exchange)
    }
}
