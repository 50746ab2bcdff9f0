import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time
import Worlds

// POST /TENANT/oauth2/v2.0/token
//
// Quirks: only the token's scopes are in the answer, without offline_access. A refresh token stays valid when it is
// used, works for every API that the person has consented to, and brings another one. Codes for a single-page
// application are redeemed by its script, with the header Origin, and others aren't.

/// A request to Microsoft's token endpoint, by a client that the seed has.
struct MicrosoftTokenRequest: Sendable {
    let exchange: Exchange
    let form: Form
    let realm: MicrosoftRealm
    let client: MicrosoftClient
    private let credentials: ClientCredentials

    init(_ exchange: Exchange, _ provider: MicrosoftProvider) throws(MicrosoftError) {
        self.exchange = exchange
        let form = exchange.request.bodyForm.withoutEmptyFields
        self.form = form
        credentials = ClientCredentials(exchange.request) { form[$0] }
        realm = try provider.realm(exchange)
        guard let id = credentials.id else {
            throw .missing("client_id", because: exchange.request.bodyThatIsNoForm)
        }
        client = try provider.client(id, at: realm)
    }

    var secret: String? { credentials.secret }

    func required(_ name: String) throws(MicrosoftError) -> String {
        guard let value = form[name] else { throw .missing(name, because: exchange.request.bodyThatIsNoForm) }
        return value
    }

    /// The scopes in the token request; `nil` if it names only the scopes of the sign-in itself, such as `openid`, or
    /// none.
    var scopes: MicrosoftScopes? {
        let scopes = MicrosoftScopes(form["scope"])
        return scopes.names.allSatisfy(MicrosoftScopes.ofSignIn.contains) ? nil : scopes
    }

    /// Checks how the client authenticates for a redirect URI's platform. For the platform Web, a client that has a
    /// secret must send it. Otherwise, no secret may be sent. Requests for a single-page application must have the
    /// header `Origin`, and no other requests may have it.
    func authenticate(for platform: MicrosoftClient.Platform) throws(MicrosoftError) {
        if form["client_assertion"] != nil { throw MicrosoftError(700027) }
        if platform == .web, let expected = client.secret {
            guard secret != nil else { throw MicrosoftError(7_000_218) }
            guard credentials.have(expected) else { throw MicrosoftError(7_000_215, client.id) }
        } else if secret != nil {
            throw MicrosoftError(700025)
        }
        let origin = exchange.request.header("Origin")
        if let origin, platform != .spa { throw MicrosoftError(9_002_326, origin) }
        if origin == nil, platform == .spa { throw MicrosoftError(9_002_327) }
    }
}

extension MicrosoftProvider {
    /// The result of a request to Microsoft's token endpoint. The access token for an API that the seed defines is
    /// missing here (`nil`), because it is a JWT and isn't stored.
    private struct Issued: Sendable {
        let account: Account?
        let api: String
        let scopes: [String]
        let nonce: String?
        let accessToken, refreshToken: String?
    }

    func token(_ exchange: Exchange) throws -> Response {
        let request = try MicrosoftTokenRequest(exchange, self)
        let issued =
            switch try request.required("grant_type") {
            case "authorization_code": try redeem(request)
            case "refresh_token": try refresh(request)
            case "client_credentials": try ownToken(request)
            case DeviceAuthorization.grantType: try redeemDevice(request)
            case let other: throw MicrosoftError(70003, other, received: "grant_type \(Diagnosis.quote(other))")
            }
        return try answer(request, issued)
    }

    // MARK: - Grants

    private func redeem(_ request: MicrosoftTokenRequest) throws -> Issued {
        let (text, redirectURI) = (try request.required("code"), try request.required("redirect_uri"))
        let code = request.exchange.world.read { $0.find(AuthorizationCode<MicrosoftGrant>.self, text) }
        let platform = code?.details.token.platform ?? .web
        try request.authenticate(for: platform)
        if let code {
            if platform == .spa, code.challenge == nil { throw MicrosoftError(9_002_325) }
            guard code.details.realm == request.realm.text else {
                throw MicrosoftError(700005, expected: "the tenant \(Diagnosis.quote(code.details.realm)) in the path")
            }
        }
        let sent = Redemption.Request(
            code: text, client: request.client.id, redirectURI: redirectURI,
            codeVerifier: request.form["code_verifier"], exchange: request.exchange.id)
        let redemption = Redemption(checks: [.client, .unused, .unexpired, .redirectURI, .codeVerifier])
        do {
            return try request.exchange.world.update { tables in
                let redeemed = try redemption.redeem(MicrosoftGrant.self, sent, in: &tables)
                let details = redeemed.code.details.token
                return try issue(redeemed.grant, redeemed.account, details, request.scopes, request, in: &tables)
            }
        } catch let failure as Redemption.Failure {
            let reason = Diagnosis(failure.reason)
            switch failure {
            case .unknown:
                let why = request.exchange.reason(againstUnknownCode: text, MicrosoftGrant.self)
                throw MicrosoftError(9_002_313, name: "invalid_grant", because: Diagnosis(why))
            case .used: throw MicrosoftError(54005, because: reason)
            case .redirectURIMismatch(let known):
                throw MicrosoftError(500112, redirectURI, known ?? "", because: reason)
            case .codeVerifier: throw MicrosoftError(501481, because: reason)
            case .expired:
                let why = failure.fullReason(codesLasting: settings.codeLifetime)
                throw MicrosoftError(70008, because: Diagnosis(why))
            case .otherClient, .noAccount: throw MicrosoftError(70000, because: reason)
            }
        }
    }

    private func refresh(_ request: MicrosoftTokenRequest) throws -> Issued {
        let (text, client, world) = (try request.required("refresh_token"), request.client, request.exchange.world)
        let why = request.exchange.reason(againstUsing: text, .refresh, MicrosoftGrant.self, of: client.id)
        let reason = Diagnosis("the refresh token doesn't work: \(why)")
        guard let token = world.read({ $0.find(Token<MicrosoftGrant>.self, text) }) else {
            let isEnded = world.read { $0.find(EndedCredential<MicrosoftGrant>.self, text) } != nil
            throw isEnded
                ? MicrosoftError(65001, client.id, client.name, because: reason)
                : MicrosoftError(9_002_313, name: "invalid_grant", because: reason)
        }
        let (platform, since) = (token.details.platform, token.details.since.text)
        guard token.client == client.id, token.kind == .refresh else { throw MicrosoftError(70000, because: reason) }
        try request.authenticate(for: platform)
        guard !token.hasExpired(at: world.now) else {
            throw platform == .spa
                ? MicrosoftError(700084, since, because: reason)
                : MicrosoftError(700082, since, "90.00:00:00", because: reason)
        }
        return try world.update { tables in
            guard let found = tables.working(text, .refresh, MicrosoftGrant.self) else {
                throw MicrosoftError(70000, because: reason)
            }
            var details = found.token.details
            details.nonce = nil
            return try issue(found.grant, found.account, details, request.scopes, request, in: &tables)
        }
    }

    private func redeemDevice(_ request: MicrosoftTokenRequest) throws -> Issued {
        let (code, client) = (try request.required("device_code"), request.client)
        let platform: MicrosoftClient.Platform = client.allowsPublicFlows ? .publicClient : .web
        try request.authenticate(for: platform)
        // A refusal is returned, not thrown, because a refused poll counts too.
        let result = try request.exchange.world.update { tables -> Result<Issued, DeviceAuthorization.Failure> in
            let polled = tables.poll(code, by: client, client.interaction, at: name, of: name, request.exchange) {
                device, _ in device.scopes
            }
            switch polled {
            case .failure(let failure): return .failure(failure)
            case .success(let (account, scopes)):
                let grant = tables.consent(account, to: client, scopes: MicrosoftScopes(scopes))
                let details = MicrosoftGrant.TokenDetails(scopes: scopes, platform: platform, since: tables.now)
                return .success(try issue(grant, account, details, nil, request, in: &tables))
            }
        }
        switch result {
        case .success(let issued): return issued
        case .failure(let failure):
            let refusal = failure.refusal
            switch refusal.name {
            case "authorization_pending": throw MicrosoftError(70016, because: refusal.diagnosis)
            case "expired_token": throw MicrosoftError(70020, because: refusal.diagnosis)
            case "access_denied":
                throw MicrosoftError(65004, name: "authorization_declined", because: refusal.diagnosis)
            default: throw MicrosoftError(70018, because: refusal.diagnosis)
            }
        }
    }

    /// Handles the grant `client_credentials`: issues a token that a client gets for itself.
    /// <https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow>
    private func ownToken(_ request: MicrosoftTokenRequest) throws -> Issued {
        let client = request.client
        if ["common", MicrosoftTenant.consumers].contains(request.realm.text) { throw MicrosoftError(9_001_023) }
        guard client.secret != nil, request.secret != nil else { throw MicrosoftError(7_000_216) }
        try request.authenticate(for: .web)
        guard let text = request.form["scope"] else { throw MicrosoftError(90014, "scope", received: "no scope") }
        let scopes = MicrosoftScopes(text)
        guard scopes.names.allSatisfy({ $0.contains("/") && MicrosoftScopes.split($0).name == ".default" }) else {
            throw MicrosoftError(1_002_012, text, received: "scope \(Diagnosis.quote(text))")
        }
        try check(scopes, client, at: request.realm)
        return try request.exchange.world.update { tables in
            let grant = tables.consent(nil, to: client, scopes: scopes)
            let details = MicrosoftGrant.TokenDetails(scopes: scopes.names, platform: .web, since: tables.now)
            return try issue(grant, nil, details, nil, request, in: &tables)
        }
    }

    // MARK: - Answers

    /// Makes an access token and, if the person granted `offline_access`, a refresh token. The access token has the
    /// scopes `wanted`. If `wanted` is `nil`, it has the scopes of the sign-in.
    private func issue(
        _ grant: MicrosoftGrant, _ account: Account?, _ details: MicrosoftGrant.TokenDetails,
        _ wanted: MicrosoftScopes?,
        _ request: MicrosoftTokenRequest, in tables: inout Transaction
    ) throws(MicrosoftError) -> Issued {
        let (client, granted) = (request.client, MicrosoftScopes(details.scopes))
        if let account { try check(account, client, at: request.realm) }
        if let wanted {
            try check(wanted, client, at: request.realm)
            guard wanted.canonical.subtracting(MicrosoftScopes.ofSignIn).isSubset(of: grant.scopes) else {
                throw MicrosoftError(65001, client.id, client.name, received: "scope \(wanted.names)")
            }
        }
        let scopes = wanted ?? granted
        let api = scopes.apis[0]
        // The scopes of sign-in are those of the sign-in, whatever the request names.
        let all = MicrosoftScopes(scopes.granted(for: api) + granted.names.filter(MicrosoftScopes.ofSignIn.contains))
        // An access token for some scopes of an API can't be used for its other scopes:
        // https://learn.microsoft.com/en-us/entra/msal/javascript/browser/resources-and-scopes
        var accessDetails = details
        accessDetails.scopes = all.names
        let isRefreshable = account != nil && granted.names.contains("offline_access")
        return Issued(
            account: account, api: api, scopes: all.names, nonce: details.nonce,
            accessToken: settings.apis[api] == nil ? tables.makeToken(.access, grant, accessDetails) : nil,
            refreshToken: isRefreshable ? tables.makeToken(.refresh, grant, details) : nil)
    }

    private func answer(_ request: MicrosoftTokenRequest, _ issued: Issued) throws(MicrosoftError) -> Response {
        let (exchange, client, account) = (request.exchange, request.client, issued.account)
        let scopes = MicrosoftScopes(issued.scopes).granted(for: issued.api)
        let lifetime = JSONValue.integer(MicrosoftProvider.accessLifetime.seconds)
        var accessToken = issued.accessToken
        if let api = settings.apis[issued.api] {
            let tenant =
                account?.microsoft.tenant ?? (request.realm.isTenant ? request.realm.text : client.tenant ?? "")
            accessToken = try sign(
                self.accessToken(account, client, api: api, scopes: scopes, tenant: tenant, exchange), exchange)
        }
        var body = JSONObject([("token_type", "Bearer")])
        body["scope"] = account.map { _ in .string(scopes.joined(separator: " ")) }
        (body["expires_in"], body["ext_expires_in"]) = (lifetime, lifetime)
        body["access_token"] = accessToken.map { .string($0) }
        body["refresh_token"] = issued.refreshToken.map { .string($0) }
        if let account, issued.scopes.contains("openid") {
            let claims = idToken(account, client, scopes: issued.scopes, nonce: issued.nonce, exchange)
            body["id_token"] = .string(try sign(claims, exchange))
        }
        body["client_info"] = account.flatMap { clientInfo($0, request.form) }.map { .string($0) }
        return MicrosoftProvider.json(.object(body), exchange)
    }

    // MARK: - Devices

    /// Handles POST /TENANT/oauth2/v2.0/devicecode: begins a sign-in on a device without a browser.
    func deviceCode(_ exchange: Exchange) throws -> Response {
        let request = try MicrosoftTokenRequest(exchange, self)
        let scopes = MicrosoftScopes(try request.required("scope"))
        try check(scopes, request.client, at: request.realm)
        let lifetime = settings.deviceCodeLifetime
        let device = try exchange.world.update { tables in
            // Microsoft documents no error for polls that come too soon, so any interval will do.
            tables.beginDevice(
                at: name, client: request.client.id, scopes: scopes.names, lifetime: lifetime, interval: .zero)
        }
        let page = exchange.address.url(of: MicrosoftProvider.shortHost, MicrosoftProvider.shortDevicePath)
        let message = "To sign in, use a web browser to open the page \(page) and enter the code \(device.userCode) "
        return MicrosoftProvider.json(
            [
                "user_code": .string(device.userCode), "device_code": .string(device.key),
                "verification_uri": .string(page), "expires_in": .integer(lifetime.seconds), "interval": 5,
                "message": .string(message + "to authenticate."),
            ], exchange)
    }

    var devicePages: DevicePages {
        let pages = PersonPages(
            .microsoft, .microsoft, host: MicrosoftProvider.host, path: MicrosoftProvider.devicePath)
        return DevicePages(pages, realm: name) {
            settings.clients[$0]?.name
        } descriptions: {
            MicrosoftScopes($0).descriptions
        }
    }
}
