import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

/// The stand-in for Microsoft's sign-in (version 2.0, with work, school and personal accounts), and for the signed-in
/// person's profile in Microsoft Graph. <https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols>
package struct MicrosoftProvider: RefusesUnserved, KeepsOAuthGrants, RemembersEndedTokens, MintsIDTokens,
    ExplainsValues, StartsSeeds
{
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "microsoft", title: "Microsoft", section: MicrosoftSection.self, profile: MicrosoftProfile.self,
        rows: MicrosoftGrant.rows + [DeviceAuthorization.self, BrowserSession.self], choices: [],
        evidence: evidence
    ) { daemon in
        [
            (name: "MICROSOFT_BASE_URL", value: "\(daemon)/\(host)"),
            (name: "MICROSOFT_GRAPH_URL", value: "\(daemon)/\(graphHost)"),
        ]
    }

    package static let grants: any OAuthGrant.Type = MicrosoftGrant.self
    package static let host = "login.microsoftonline.com"
    package static let origin = "https://\(host)"
    static let graphHost = "graph.microsoft.com"
    /// The host of the short URL (microsoft.com/devicelogin) that people open to enter the code of a device.
    static let shortHost = "microsoft.com"
    static let shortDevicePath = "/devicelogin"
    static let devicePath = "/common/oauth2/deviceauth"
    /// The host names of Microsoft's sign-in service, in the list that
    /// <https://login.microsoftonline.com/common/discovery/instance> returns.
    static let aliases = [host, "login.windows.net", "login.microsoft.com", "sts.windows.net"]

    let settings: MicrosoftSection

    package init(seed: Seed) { settings = seed[MicrosoftSection.self] }

    package static func isIssuer(_ issuer: String) -> Bool {
        issuer.hasPrefix("\(origin)/") && issuer.hasSuffix("/v2.0")
    }

    package var endpoints: [Endpoint] {
        let (host, graph, v2) = ([MicrosoftProvider.host], [MicrosoftProvider.graphHost], "/:tenant/oauth2/v2.0")
        let sent = EndpointTraits.authorization(errors: MicrosoftError.orderNames, mints: .microsoft)
        let (api, keys) = (EndpointTraits.api(MicrosoftError.atAPI), [KeyOwner.microsoft])
        let (device, signIn) = (MicrosoftProvider.devicePath, MicrosoftSignIn(microsoft: self))
        let (person, ofGraph) = (
            SignInStep(.userInfo, "ask who it is"), EndpointTraits.api(MicrosoftGraphError.ordered)
        )
        let (protocols, authorization) = ("v2-protocols-oidc", "v2-oauth2-auth-code-flow")
        return [
            Endpoint(
                "GET", host, "/:tenant/v2.0/.well-known/openid-configuration", title: "the discovery document",
                cors: .any, api, refusing(discovery)
            ).known(by: .learn("\(protocols)#fetch-the-openid-configuration-document")),
            Endpoint(
                "GET", host, "/:tenant/discovery/v2.0/keys", title: "the keys of ID tokens", cors: .any, keys: keys,
                .keySet(.microsoft), refusing(keySet)
            ).known(by: .learn("access-tokens#validate-the-issuer")),
            Endpoint(
                "GET", host, "/common/discovery/instance", step: SignInStep(.discovery, "discover the instance"),
                cors: .any,
                api, refusing(instances)
            ).known(by: Self.instanceDiscovery),
            Endpoint("GET", host, "\(v2)/authorize", title: "the authorization request", keys: keys, sent) {
                try signIn.authorize($0, $0.request.queryForm)
            }.known(by: .learn("\(authorization)#request-an-authorization-code")),
            Endpoint(
                "POST", host, "\(v2)/authorize", title: "the answer of the sign-in page", keys: keys, sent,
                signIn.authorizeByPost
            ).known(by: .ownPage),
            Endpoint(
                "POST", host, "\(v2)/token", title: "redeem a code, refresh, or ask for an app's or a device's token",
                cors: .any, keys: keys, .api(MicrosoftError.atAPI, mints: .microsoft), refusing(token)
            ).known(by: .learn("\(authorization)#redeem-a-code-for-an-access-token")),
            Endpoint(
                "POST", host, "\(v2)/devicecode", title: "begin the device flow",
                step: SignInStep(.deviceCode, "ask for a device code"), api, refusing(deviceCode)
            ).known(by: .learn("v2-oauth2-device-code#device-authorization-request")),
            Endpoint("GET", host, device, title: "the page for a device's code", .page) { devicePages.enterCode($0) }
                .known(by: .ownPage),
            Endpoint("POST", host, device, step: SignInStep(.decision, "answer the device page"), .page) {
                try devicePages.decide($0)
            }.known(by: .ownPage),
            Endpoint("GET", [MicrosoftProvider.shortHost], MicrosoftProvider.shortDevicePath, .page) {
                .redirect(to: $0.address.url(of: MicrosoftProvider.host, device))
            }.known(by: Self.shortDevicePage),
            Endpoint("GET", host, "\(v2)/logout", title: "sign out", .page) { try logOut($0, $0.request.queryForm) }
                .known(by: .learn("\(protocols)#send-a-sign-out-request")),
            Endpoint("POST", host, "\(v2)/logout", .page) { try logOut($0, $0.request.bodyForm) }
                .known(by: .learn("\(protocols)#send-a-sign-out-request")),
            Endpoint(
                "GET", graph, "/v1.0/me", title: "who signed in, by Microsoft Graph", step: person, cors: .any, ofGraph,
                refusing(profile)
            ).known(by: .documented("https://learn.microsoft.com/en-us/graph/api/user-get")),
            Endpoint("GET", graph, "/oidc/userinfo", title: "who signed in", cors: .any, ofGraph, refusing(userInfo))
                .known(by: .learn("userinfo")),
            Endpoint("POST", graph, "/oidc/userinfo", cors: .any, ofGraph, refusing(userInfo))
                .known(by: .learn("userinfo")),
            .revocations(of: name, "Lets people remove an app in their Microsoft account.") { try revoke($0, $1) },
        ]
    }

    private static let instanceDiscovery = Evidence.reported(
        "https://github.com/AzureAD/microsoft-authentication-library-for-go/issues/438", on: "2023-06")
    private static let shortDevicePage = Evidence.recorded(
        "https://github.com/Azure/azure-sdk-for-python/issues/32375", on: "2023-10")

    /// Returns a handler that runs `run` and answers its errors in the JSON form of Microsoft's APIs.
    private func refusing(
        _ run: @escaping @Sendable (Exchange) throws -> Response
    ) -> @Sendable (Exchange) throws -> Response {
        { exchange in
            do { return try run(exchange) } catch let error as MicrosoftError {
                return error.response(exchange)
            } catch let error as MicrosoftGraphError { return error.response(exchange) }
        }
    }

    /// Returns Microsoft's sign-in pages. The path to which their forms are sent has the same tenant as the request's
    /// path.
    func pages(_ exchange: Exchange) -> PersonPages {
        let tenant = exchange.parameters["tenant"].map { PercentCoding.encode(Array($0.utf8)) } ?? "common"
        return PersonPages(
            .microsoft, .microsoft, host: MicrosoftProvider.host, path: "/\(tenant)/oauth2/v2.0/authorize")
    }

    static func json(_ value: JSONValue, status: Int = 200, _ exchange: Exchange) -> Response {
        Response(
            status: status, contentType: "application/json; charset=utf-8",
            headers: [
                (name: "Cache-Control", value: "no-store, no-cache"), (name: "Pragma", value: "no-cache"),
                (name: "x-ms-request-id", value: exchange.traceID),
            ], body: value.serialized())
    }

    // MARK: - Who may sign in where

    /// Returns the group of accounts that may sign in. It follows from the tenant in the request's path, such as
    /// `common`.
    ///
    /// - Throws: An error if there is no such tenant.
    func realm(_ exchange: Exchange) throws(MicrosoftError) -> MicrosoftRealm {
        let text = exchange.parameters["tenant"] ?? ""
        switch text.lowercased() {
        case "common": return .common
        case "organizations": return .organizations
        case "consumers", MicrosoftTenant.consumers: return .consumers
        case let text where settings.tenants[text] != nil:
            guard let tenant = settings.tenants[text] else { break }
            return .tenant(tenant)
        default: break
        }
        let isWord = !text.contains(".") && !TextRule.guid.holds(text.lowercased())
        let isDiscovery = exchange.address.path.hasSuffix("/openid-configuration")
        throw MicrosoftError(
            isWord && !isDiscovery ? 900023 : 90002, text, received: "the tenant \(Diagnosis.quote(text))",
            expected: "common, organizations, consumers, or a tenant's ID or domain")
    }

    /// Returns the client with this ID.
    ///
    /// - Throws: An error if there is no such client, or its supported account types don't fit the tenant in the path.
    func client(_ id: String, at realm: MicrosoftRealm) throws(MicrosoftError) -> MicrosoftClient {
        guard let client = settings.clients[id.lowercased()] else {
            let received = "client_id \(Diagnosis.quote(id))\(settings.clients.hint(for: id))"
            throw MicrosoftError(700016, id, realm.text, received: received)
        }
        let code: Int
        switch (client.audience, realm) {
        case (.oneTenant, .common), (.oneTenant, .organizations): code = 50194
        case (.oneTenant, .consumers), (.anyTenant, .consumers): code = 9_002_332
        case (.oneTenant, .tenant(let tenant)) where tenant.id != client.tenant: code = 700016
        case (.personal, .common), (.personal, .organizations), (.personal, .tenant): code = 9_002_331
        default: return client
        }
        throw MicrosoftError(
            code, client.id, code == 700016 ? realm.text : client.name,
            received: "the tenant \(Diagnosis.quote(realm.text)) in the path",
            expected: "one for the client's signInAudience, \(client.audience.rawValue)")
    }

    /// Checks that an account may sign in to a client. `realm` is the tenant in the path of the request's URL.
    func check(_ account: Account, _ client: MicrosoftClient, at realm: MicrosoftRealm) throws(MicrosoftError) {
        let profile = account.microsoft
        let isAdmitted =
            switch realm {
            case .common: client.audience == .everybody || !profile.isPersonal
            case .organizations: !profile.isPersonal
            case .consumers: profile.isPersonal
            case .tenant(let tenant): tenant.id == profile.tenant
            }
        guard !isAdmitted else { return }
        let received = "\(Diagnosis.quote(account.id)) of the tenant \(profile.tenant)"
        guard case .tenant(let tenant) = realm else { throw MicrosoftError(500208, received: received) }
        let home = profile.isPersonal ? "live.com" : "https://sts.windows.net/\(profile.tenant)/"
        throw MicrosoftError(
            50020, profile.userPrincipalName, home, tenant.name, client.id, client.name, received: received)
    }

    /// Checks the scopes of a request: each must belong to Microsoft Graph or to an API that the seed defines.
    func check(_ scopes: MicrosoftScopes, _ client: MicrosoftClient, at realm: MicrosoftRealm) throws(MicrosoftError) {
        for (place, scope) in scopes.names.enumerated() where !MicrosoftScopes.ofSignIn.contains(scope) {
            let ((uri, name), received) = (MicrosoftScopes.split(scope), "scope \(Diagnosis.quote(scope))")
            guard !name.isEmpty, place < 100 else { throw MicrosoftError(70011, scope, received: received) }
            guard uri != MicrosoftScopes.graph else { continue }
            guard let api = settings.apis[uri] else {
                throw MicrosoftError(500011, uri, realm.text, received: received)
            }
            guard name == ".default" || api.scopes.contains(name) else {
                throw MicrosoftError(
                    650053, client.name, name, api.id, received: received,
                    expected: Diagnosis.alternatives(api.scopes))
            }
        }
    }

    // MARK: - Provider

    /// Returns Microsoft's error for a request that is too large. At the authorization endpoint, the error is a page.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard !exchange.address.path.hasSuffix("/authorize") else {
            return pages(exchange).problem(400, "Bad Request", diagnosis)
        }
        return MicrosoftError(9002313, because: diagnosis).response(exchange)
    }

    /// Returns Microsoft's error response or error page for a path or an HTTP method that doesn't exist.
    package func notServed(_ exchange: Exchange) -> Response? {
        let (host, path, method) = (exchange.address.host, exchange.address.path, exchange.request.method)
        let received = Diagnosis.quote("\(method) \(path)")
        if host == MicrosoftProvider.graphHost {
            let segment = path.split(separator: "/").last.map(String.init) ?? ""
            return MicrosoftGraphError(
                status: 400, code: "BadRequest", message: "Resource not found for the segment '\(segment)'.",
                diagnosis: Diagnosis(
                    received: received, "Understudy serves only the parts of Microsoft Graph that sign-in needs")
            ).response(exchange)
        }
        guard [MicrosoftProvider.host, MicrosoftProvider.shortHost].contains(host) else { return nil }
        if ["/token", "/devicecode"].contains(where: path.hasSuffix) {
            return MicrosoftError(900561, "POST", method, received: received).response(exchange)
        }
        return pages(exchange).problem(
            404, "Page not found",
            Diagnosis(
                received: received,
                "nothing is served at this path: only version 2.0 of Microsoft's sign-in is supported"))
    }
}

extension MicrosoftRealm {
    var isTenant: Bool { if case .tenant = self { true } else { false } }
}

extension Evidence {
    static func learn(_ page: String) -> Evidence {
        .documented("https://learn.microsoft.com/en-us/entra/identity-platform/\(page)")
    }
}
