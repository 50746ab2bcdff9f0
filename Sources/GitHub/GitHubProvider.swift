import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// The stand-in for GitHub: signing in with OAuth apps and GitHub Apps, and the part of the REST API that sign-in code
/// calls.
package struct GitHubProvider: RefusesUnserved, KeepsOAuthGrants, RemembersEndedTokens, ExplainsValues, StartsSeeds {
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "github", title: "GitHub", section: GitHubSection.self, profile: GitHubProfile.self,
        rows: GitHubGrant.rows + [
            TokenTimes.self, Session.self, RequestCount.self, DeviceAuthorization.self, UserCodeEntries.self,
        ], values: [LastTokenID.self],
        changes: [callbackIssuer, codeChallenges, refreshableTokens, oauthAppRefresh]
            + apiVersions.map(\.support), evidence: evidence
    ) { daemon in
        [
            (name: "GITHUB_BASE_URL", value: "\(daemon)/\(host)"),
            (name: "GITHUB_API_URL", value: "\(daemon)/\(apiHost)"),
        ]
    }

    package static let grants: any OAuthGrant.Type = GitHubGrant.self
    package static let host = "github.com"
    package static let apiHost = "api.github.com"
    package static let avatarHost = "avatars.githubusercontent.com"
    /// The path of the REST API in GitHub Enterprise's layout of URLs.
    static let enterprisePrefix = "/api/v3"
    /// The `iss` in GitHub's authorization responses. GitHub issues no ID tokens to OAuth apps.
    static let issuer = "https://github.com/login/oauth"

    let directory: GitHubDirectory
    let settings: GitHubSection
    /// Whether GitHub's authorization responses have the parameter `iss`.
    let addsIssuer: Bool
    /// Returns whether GitHub supports refresh tokens for apps of this kind on the day that the seed's `asOf` names.
    let refreshes: @Sendable (GitHubSection.App) -> Bool
    /// The versions of GitHub's REST API that are supported on the day that the seed's `asOf` names, oldest first.
    let versions: [String]

    package init(seed: Seed) {
        settings = seed[GitHubSection.self]
        addsIssuer = settings.addsIssuer ?? seed.plays(GitHubProvider.callbackIssuer)
        let (isRefreshed, isOAuthAppRefreshed) = (
            seed.plays(GitHubProvider.refreshableTokens), seed.plays(GitHubProvider.oauthAppRefresh)
        )
        refreshes = { $0.isGitHubApp ? isRefreshed : isOAuthAppRefreshed }
        versions = GitHubProvider.apiVersions.filter { seed.plays($0.support) }.map(\.name)
        directory = GitHubDirectory(settings)
    }

    package static func identifier(ofSubject subject: String) -> String { "github.id:\(subject)" }

    package var endpoints: [Endpoint] {
        webEndpoints + calls.flatMap { restEndpoints($0) } + [
            Endpoint("GET", [GitHubProvider.avatarHost], "/u/:id", cors: .any, .page) { GitHubProvider.avatar($0) }
                .known(by: .ownPicture),
            .revocations(
                of: name, "Lets people remove an app in their settings at GitHub; the app's webhook is told.",
                told: [
                    .optional(
                        "webhook", .nullable(OutgoingMessage.Delivery.schema(beside: [])),
                        "For one app of one person, the delivery of the webhook; null if the app has none.")
                ]
            ) { try await revokeByOrder($0, $1) }, logoutCall,
        ]
    }

    /// Returns the endpoints of a call of GitHub's REST API: one at the API's host, and one or two in GitHub
    /// Enterprise's layout of URLs.
    private func restEndpoints(_ endpoint: RESTEndpoint) -> [Endpoint] {
        let api = EndpointTraits.api(restErrors(endpoint))
        let traits = endpoint.isEmpty ? api.withoutMembers : api
        func enterprise(_ path: String) -> Endpoint {
            Endpoint(endpoint.method, [GitHubProvider.host], path, step: endpoint.step, cors: .any, traits) {
                try serve(endpoint, $0, isEnterprise: true)
            }.remarks(endpoint.remarks).known(by: endpoint.evidence)
        }
        var served = [
            Endpoint(
                endpoint.method, [GitHubProvider.apiHost], endpoint.path, title: endpoint.title, step: endpoint.step,
                cors: .any, traits
            ) {
                try serve(endpoint, $0, isEnterprise: false)
            }.remarks(endpoint.remarks).known(by: endpoint.evidence),
            enterprise(GitHubProvider.enterprisePrefix + endpoint.path),
        ]
        if endpoint.path == "/" { served.append(enterprise(GitHubProvider.enterprisePrefix)) }
        if endpoint.path == "/graphql" { served.append(enterprise("/api/graphql")) }
        return served
    }

    private var webEndpoints: [Endpoint] {
        let (host, signIn) = ([GitHubProvider.host], GitHubSignIn(github: self))
        func oauth(_ section: String) -> Evidence {
            .documented("https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#\(section)")
        }
        let discovery = Evidence.documented("https://docs.github.com/apps/github-authentication-discovery-endpoints")
        let authorization = EndpointTraits.authorization(errors: OAuthError.ofAuthorizations)
        return [
            Endpoint(
                "GET", host, "/login/oauth/authorize", title: "the authorization request", authorization
            ) { try signIn.authorize($0, $0.request.queryForm) }
            .known(by: oauth("1-request-a-users-github-identity")),
            Endpoint(
                "POST", host, "/login/oauth/authorize", title: "the answer of the consent page", authorization,
                signIn.decide
            ).known(by: .ownPage),
            Endpoint(
                "POST", host, "/login/oauth/access_token", title: "redeem a code, refresh, or ask for a device's token",
                .api(OAuthError.ofTokens), token
            ).step { exchange in
                // GitHub doesn't ask for grant_type.
                exchange.notes.request["granttype"] == nil ? SignInStep(.redemption, "redeem code") : nil
            }.known(by: oauth("2-users-are-redirected-back-to-your-site-by-github")),
            Endpoint(
                "POST", host, "/login/device/code", title: "begin the device flow",
                step: SignInStep(.deviceCode, "ask for a device code"), .api(OAuthError.ofDeviceCodes), deviceCode
            ).known(by: oauth("step-1-app-requests-the-device-and-user-verification-codes-from-github")),
            Endpoint(
                "GET", host, "/login/device", title: "the page for a device's code",
                step: SignInStep(.page, "open the device page"), .page, devicePage
            ).known(by: .ownPage),
            Endpoint(
                "POST", host, "/login/device", step: SignInStep(.decision, "enter the device's code"), .page,
                confirmDevice
            ).known(by: .ownPage),
            Endpoint(
                "POST", host, "/login/device/confirmation", step: SignInStep(.decision, "answer the page"), .page,
                decideDevice
            ).known(by: .ownPage),
            Endpoint("GET", host, "/login", .page, signInPage).known(by: .ownPage),
            Endpoint("POST", host, "/session", step: SignInStep(.decision, "sign in on the page"), .page, startSession)
                .known(by: .ownPage),
            Endpoint("POST", host, "/logout", .page, endSession).known(by: .ownPage),
            Endpoint("GET", host, "/signup", .page, signUpPage).known(by: .ownPage),
            Endpoint("POST", host, "/signup", .page, signUp).known(by: .ownPage),
            Endpoint("GET", host, "/settings/applications", .page, connections).known(by: .ownPage),
            Endpoint("GET", host, "/settings/connections/applications/:client", .page, connection).known(by: .ownPage),
            Endpoint("POST", host, "/settings/connections/applications/:client", .page, revokeConnection)
                .known(by: .ownPage),
            Endpoint(
                "GET", host, "/.well-known/oauth-authorization-server/login/oauth", cors: .any, .api,
                GitHubProvider.discovery
            ).known(by: discovery),
            Endpoint(
                "GET", host, "/login/oauth/.well-known/openid-configuration", cors: .any, .api,
                GitHubProvider.discovery
            ).known(by: discovery),
            Endpoint("GET", host, "/login/oauth/.well-known/jwks", cors: .any) { _ in GitHubProvider.keySet() }
                .known(by: .chosen("GitHub signs nothing for OAuth apps, so there are no keys")),
        ]
    }

    private var calls: [RESTEndpoint] {
        metaEndpoints + [GitHubProvider.graphQLEndpoint] + GitHubProvider.organizationEndpoints
            + GitHubProvider.memberEndpoints + GitHubProvider.teamEndpoints + GitHubProvider.userEndpoints
            + tokenEndpoints
    }

    /// Returns GitHub's response for an unknown address: JSON from the API, a page from github.com. GitHub treats an
    /// unknown method in the same way.
    package func notServed(_ exchange: Exchange) throws -> Response? {
        let path = exchange.address.path
        let isEnterprise = exchange.address.host == GitHubProvider.host && path.hasPrefix("/api/")
        let answer = RESTAnswer.notServed(exchange)
        guard exchange.address.host == GitHubProvider.apiHost || isEnterprise else {
            guard exchange.address.host == GitHubProvider.host else { return nil }
            return Pages.notFound(exchange, answer.diagnosis ?? Diagnosis(RESTAnswer.nothingServed))
        }
        let context = RESTContext(exchange, isEnterprise: isEnterprise, nil)
        do {
            let caller = try admit(exchange, to: GitHubProvider.nowhere, counts: true)
            return try context.response(
                to: answer, caller.viewer, rate: caller.rate, version: versions.first)
        } catch let error as RESTRefusal {
            return try context.response(to: error.answer, .anonymous, rate: nil, version: nil)
        }
    }

    /// A placeholder for the endpoint in a request to an unknown URL of the REST API. It is used when the caller of
    /// such a URL is identified.
    private static let nowhere = RESTEndpoint("GET", "", "") { .notServed($0.exchange) }

    /// Refuses a request that is too large, in the form that the requested address uses for errors: JSON of the REST
    /// API, an OAuth error, or a page.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) throws -> Response? {
        let path = exchange.address.path
        let isEnterprise = exchange.address.host == GitHubProvider.host && path.hasPrefix("/api/")
        if exchange.address.host == GitHubProvider.apiHost || isEnterprise {
            let answer = RESTAnswer.error(400, "Problems parsing request", "").because(diagnosis)
            return try RESTContext(exchange, isEnterprise: isEnterprise, nil)
                .response(to: answer, .anonymous, rate: nil, version: versions.first)
        }
        if ["/login/oauth/access_token", "/login/device/code"].contains(path) {
            return OAuthError(.invalidRequest, diagnosis)
                .answer(AnswerFormat(accept: exchange.request.header("Accept")))
        }
        return Pages.problem(exchange, 400, "This request can't be read", diagnosis)
    }

    package func client(of exchange: Exchange) -> String? {
        guard let token = GitHubProvider.token(in: exchange.request.header("Authorization") ?? "", exchange.request)
        else { return nil }
        return exchange.world.client(ofToken: token, GitHubGrant.self)
    }

    /// Revokes all GitHub grants of a deleted account, ends its sessions, and denies the devices that it has approved.
    /// No webhooks are sent.
    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        for grant in tables.grants(GitHubGrant.self, of: account) {
            tables.revoke(grant, because: "the user's account was deleted")
        }
        tables.remove(Session.byAccount, account)
        tables.denyDevices(of: account)
        return nil
    }
}

extension GitHubProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        settings.apps.filter { !$0.isSuspended && $0.callbacks.map(\.text).register(redirectURI) }.map { app in
            TrialSignIn(
                GitHubProvider.title, client: app.clientID, authorization: "/github.com/login/oauth/authorize",
                app.isGitHubApp ? [] : [("scope", "read:user user:email")],
                token: "/github.com/login/oauth/access_token", person: "/api.github.com/user")
        }
    }
}

// GET /.well-known/oauth-authorization-server/login/oauth, /login/oauth/.well-known/openid-configuration
// and /login/oauth/.well-known/jwks
//
// Quirks: this is in public preview. GitHub gives OAuth apps no ID tokens, so the key set is empty here.

extension GitHubProvider {
    private static let document = DiscoveryDocument(Texts.discovery)

    static func discovery(_ exchange: Exchange) -> Response { json(document.filled(for: exchange)) }

    static func keySet() -> Response { json(["keys": []]) }

    private static func json(_ value: JSONValue) -> Response {
        Response(status: 200, contentType: "application/json; charset=utf-8", body: value.serialized())
    }
}

// GET https://avatars.githubusercontent.com/u/ID: the picture at `avatar_url`.

extension GitHubProvider {
    static func avatar(_ exchange: Exchange) -> Response {
        guard let id = UInt32(exchange.parameters["id"] ?? "") else {
            return Response(status: 404, contentType: "text/plain", body: "Not Found")
                .diagnosed(Diagnosis("the URL of a profile picture must end with a user's ID"))
                .known(by: .ownPicture)
        }
        return Avatar.response(of: "avatar:\(id)")
    }
}

extension Look {
    /// The look of GitHub's pages: grey with thin lines, a narrow column, a green button.
    static let github = Look(name: "GitHub", style: StyleSheets.look)
}
