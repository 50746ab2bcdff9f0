import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Worlds

// The inspector, the control API and the commands use these functions for Microsoft.

extension MicrosoftProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let tenant = account.microsoft.tenant
        var profile = InspectedItem("Microsoft account")
        profile.facts = [
            InspectedFact("oid", .code(account.microsoft.oid)), InspectedFact("tid", .code(tenant)),
            InspectedFact("Tenant", account.microsoft.isPersonal ? "personal" : settings.tenants[tenant]?.name ?? ""),
        ]
        profile.documents = [InspectedDocument("GET /v1.0/me", .object(self.profile(of: account)))]
        let apps = InspectedGrants<MicrosoftGrant>(of: account, in: exchange.world).section {
            $0.details.scopes
        } _: { grant in
            var item = InspectedItem(
                grant, named: settings.clients[grant.client]?.name, since: grant.since, scopes: grant.scopes.sorted(),
                of: account, at: name)
            item.facts.insert(InspectedFact("sub", .subject(grant.subject)), at: 1)
            return item
        }
        return [InspectedSection("Profile", [profile]), apps]
    }

    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in
            tables.first(Account.byIdentifier, "microsoft.oid:\(subject)")?.id
                ?? tables.first(MicrosoftGrant.bySubject, subject)?.account
        }
    }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.read { tables in
            tables.first(MicrosoftGrant.bySubject, subject).flatMap { tables.account($0.account) }
        }.map { KnownSubject($0) }
    }

    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        tables.endGrants(MicrosoftGrant.self, of: account, because: reason)
        tables.endSignIns(of: account)
        return nil
    }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        let client = try settings.clients.client(of: wanted)
        let scopes = wanted.scopes ?? ["openid", "profile", "email"]
        let claims = idToken(
            try wanted.person(in: exchange), client, scopes: scopes, nonce: wanted.nonce, exchange)
        return TokenDraft(claims: claims, owner: .microsoft, type: "JWT")
    }

    /// Handles POST /_understudy/v1/microsoft/revocations: removes an app from a person's Microsoft account, as people
    /// do at https://myapplications.microsoft.com.
    func revoke(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        try exchange.revoke(MicrosoftGrant.self, order, among: settings.clients)
    }

    // MARK: - Setting up

    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] { SetUpGuide.read(Texts.setup, at: place) }

    private static func named(in app: AppConfiguration) -> AppConfiguration.Client? {
        ["MICROSOFT", "AZURE_AD", "AZURE", "MICROSOFT_ENTRA_ID"].lazy.map { app.client($0) }.first { $0.id != nil }
    }

    package static func trace(in app: AppConfiguration) -> AppTrace { named(in: app) == nil ? .nothing : .client }

    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(MicrosoftSection.name) else { return }
        let client = named(in: start.app)
        let tenant = start.app["AZURE_TENANT_ID", "AZURE_AD_TENANT_ID", "MICROSOFT_TENANT_ID"].map { $0.lowercased() }
        if let tenant, TextRule.guid.holds(tenant) {
            start.add(
                MicrosoftSection.name, ["tenants": [["id": .string(tenant)]]],
                "The tenant `\(tenant)` and the client with its redirect URIs.")
        }
        start.addClient(
            .init(
                section: MicrosoftSection.name, noun: "client", exampleID: "22222222-2222-4222-8222-222222222222",
                testSecret: "microsoft-secret-for-tests"),
            .init(id: client?.id?.lowercased(), secret: client?.secret, redirectURI: client?.redirectURI),
            paths: [
                "/api/auth/callback/microsoft-entra-id", "/auth/microsoft/callback", "/auth/callback/microsoft",
                "/accounts/microsoft/login/callback/", "/login/oauth2/code/microsoft", "/signin-oidc",
            ])
    }
}

extension MicrosoftProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        settings.clients.all.filter { $0.platform(of: redirectURI) == .web }.map { client in
            let realm =
                switch client.audience {
                case .oneTenant: client.tenant ?? "common"
                case .anyTenant: "organizations"
                case .everybody: "common"
                case .personal: "consumers"
                }
            let place = "/\(MicrosoftProvider.host)/\(realm)/oauth2/v2.0"
            return TrialSignIn(
                MicrosoftProvider.title, client: client.id, authorization: "\(place)/authorize",
                [("scope", "openid profile email User.Read")], token: "\(place)/token",
                authentication: client.secret == nil ? .none : .form)
        }
    }
}

extension Look {
    /// The theme of Microsoft's pages: a narrow white box without rounded corners on a pale page, and a blue button.
    static let microsoft = Look(name: "Microsoft", style: StyleSheets.look)
}

extension PageWords {
    static let microsoft = PageWords(Texts.words, of: "Microsoft")
}
