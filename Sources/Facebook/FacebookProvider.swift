import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Recordings
import Time
import Worlds

/// The stand-in for Facebook Login: the login dialog, the tokens, and the part of the Graph API that sign-in code
/// calls.
///
/// Quirks: every path may begin with a version, such as /v22.0, or not.
package struct FacebookProvider: RefusesUnserved, KeepsOAuthGrants, RemembersEndedTokens, MintsIDTokens,
    ExplainsValues, StartsSeeds
{
    static let evidence = EvidenceTable(Texts.evidence)
    package static let facts = ProviderFacts(
        name: "facebook", title: "Facebook", section: FacebookSection.self, profile: FacebookProfile.self,
        rows: FacebookGrant.rows + [RemovedToken.self], evidence: evidence
    ) { daemon in
        [
            (name: "FACEBOOK_BASE_URL", value: "\(daemon)/\(host)"),
            (name: "FACEBOOK_GRAPH_URL", value: "\(daemon)/\(graphHost)"),
        ]
    }

    package static let grants: any OAuthGrant.Type = FacebookGrant.self
    package static let host = "www.facebook.com"
    package static let graphHost = "graph.facebook.com"
    static let limitedHost = "limited.facebook.com"
    /// Facebook's host without `www`, which the discovery document names for the login dialog. The real host redirects
    /// to `www`; here it serves the dialog itself.
    static let shortHost = "facebook.com"
    static let pictureHost = "platform-lookaside.fbsbx.com"
    package static let issuer = "https://www.facebook.com"
    static let dialogPath = "/dialog/oauth"
    static let keysPath = "/.well-known/oauth/openid/jwks"

    let apps: RegisteredClients<FacebookApp>
    let pages = PersonPages(.facebook, .facebook, host: host, path: dialogPath)

    package init(seed: Seed) {
        apps = seed[FacebookSection.self].apps
    }

    /// Whether `issuer` is one of the two issuers in Facebook's ID tokens: the usual one, or the one for Limited Login.
    package static func isIssuer(_ issuer: String) -> Bool {
        [self.issuer, "https://\(limitedHost)"].contains(issuer)
    }

    package static func identifier(ofSubject subject: String) -> String { "facebook.id:\(subject)" }

    package var endpoints: [Endpoint] {
        ["", "/:version"].flatMap {
            dialog(below: $0) + dialog(below: $0, "/") + graph(below: $0) + graph(below: $0, "/")
        }
            + ["/", "/:id", "/:id/"].map(batches) + discoveryDocuments + browserScript
            + [
                Endpoint("GET", [FacebookProvider.host], "/connect/login_success.html", .page) { _ in
                    pages.notice("Success", "The app that opened this page reads its address.")
                }.known(
                    by: FacebookProvider.documented("facebook-login/guides/advanced/manual-flow#login")),
                Endpoint("GET", [FacebookProvider.pictureHost], "/platform/profilepic/", cors: .any, .page) {
                    FacebookProvider.image($0)
                }.known(by: .ownPicture), nativeCall,
                .revocations(
                    of: name, "Lets people remove an app in their Facebook settings; the app's callbacks are told.",
                    told: FacebookProvider.toldOfRemoval
                ) { try await revokeByOrder($0, $1) },
            ]
    }

    private static func documented(_ page: String) -> Evidence {
        .documented("https://developers.facebook.com/docs/\(page)")
    }

    private func dialog(below version: String, _ slash: String = "") -> [Endpoint] {
        let path = version + FacebookProvider.dialogPath + slash
        func titled(_ title: String) -> String { version.isEmpty ? title : "\(title), with a version" }
        let host = [FacebookProvider.host, FacebookProvider.shortHost]
        let signIn = FacebookSignIn(facebook: self)
        let traits = EndpointTraits.authorization(
            errors: ["access_denied", "server_error"] + FacebookProvider.dialogErrors.keys.sorted(), mints: .facebook)
        return [
            Endpoint("GET", host, path, title: titled("the login dialog"), keys: [.facebook], traits) {
                try hasVersion($0) ? signIn.authorize($0, $0.request.queryForm) : nothing($0)
            }.step { exchange in
                FacebookProvider.origin(ofRelay: exchange.request.queryForm["redirect_uri"] ?? "") == nil
                    ? nil : SignInStep(.authorization, "FB.login")
            }.known(by: FacebookProvider.documented("facebook-login/guides/advanced/manual-flow#login")),
            Endpoint(
                "POST", host, path, title: titled("the answer of the login dialog"), keys: [.facebook], traits
            ) { try hasVersion($0) ? signIn.decide($0) : nothing($0) }
            .known(by: .ownPage),
        ]
    }

    /// Returns the endpoints of the Graph API. Their paths begin with `version` (empty, or `/:version`) and end with
    /// `slash` (empty, or `/`). Meta's own samples have a slash at the end of paths.
    private func graph(below version: String, _ slash: String = "") -> [Endpoint] {
        func call(
            _ method: String, _ path: String, _ page: String, title: String? = nil, step: SignInStep? = nil,
            mints owner: KeyOwner? = nil, run: @escaping @Sendable (Exchange) throws -> Response
        ) -> Endpoint {
            let titled = slash.isEmpty ? title.map { version.isEmpty ? $0 : "\($0), with a version" } : nil
            return self.call(
                method, version + path + slash, title: titled, step: step, partOf: slash.isEmpty ? nil : path,
                mints: owner, run: run
            ).known(by: FacebookProvider.documented(page))
        }
        let inspected = SignInStep(.introspection, "inspect token")
        var endpoints: [Endpoint] = []
        for method in ["GET", "POST"] {
            endpoints += [
                call(
                    method, "/oauth/access_token", "facebook-login/guides/advanced/manual-flow#exchangecode",
                    title: "redeem a code", mints: .facebook, run: token
                ).step(FacebookProvider.redemptionStep),
                call(
                    method, "/debug_token", "graph-api/reference/debug_token",
                    title: method == "GET" ? "check a token" : nil, step: inspected, run: debugToken),
            ]
        }
        endpoints += [
            call(
                "GET", "/oauth/access_token_info", "facebook-login/guides/advanced/re-authentication",
                step: inspected, run: tokenInfo),
            call("GET", "/app", "graph-api/reference/application", run: application),
        ]
        if version.isEmpty, slash.isEmpty {
            endpoints.append(
                call("GET", "/", "graph-api/overview", run: objects)
                    .known(by: .reported("https://github.com/restfb/restfb/issues/157")))
        }
        let removed = SignInStep(.revocation, "remove permissions")
        let user = "graph-api/reference/user"
        for person in ["/me", "/:id"] {
            let isMe = person == "/me"
            endpoints += [
                call(
                    "GET", "\(person)/permissions", "\(user)/permissions", title: isMe ? "what was granted" : nil,
                    run: permissions),
                call("POST", "\(person)/permissions", "\(user)/permissions", run: postPermissions),
                call("POST", "\(person)/permissions/:permission", "\(user)/permissions", run: postPermissions),
                call(
                    "DELETE", "\(person)/permissions", "\(user)/permissions", title: isMe ? "revoke a grant" : nil,
                    step: removed, run: revoke),
                call(
                    "DELETE", "\(person)/permissions/:permission", "\(user)/permissions", step: removed, run: revoke),
                call("GET", "\(person)/accounts", "\(user)/accounts", run: accounts),
                call("GET", "\(person)/friends", "\(user)/friends", run: friends),
                call("GET", "\(person)/picture", "\(user)/picture", run: picture),
            ]
            guard isMe else {
                endpoints.append(call("GET", person, user, run: profile))
                continue
            }
            let me = call(
                "GET", person, user, title: "who signed in", step: SignInStep(.userInfo, "ask who it is"), run: profile)
            endpoints.append(me.remarks(FacebookProvider.remarks))
        }
        return endpoints
    }

    private static func redemptionStep(_ exchange: RecordedExchange) -> SignInStep? {
        switch exchange.notes.request["granttype"] {
        case nil, "authorization_code": SignInStep(.redemption, "redeem code")
        case "fb_exchange_token": SignInStep(.tokenExchange, "make token long-lived")
        default: nil
        }
    }

    /// Returns an endpoint of the Graph API. If the path of a call has a version, a header of the answer names the
    /// version, and clients read this header. A call without a version gets no such header, because in production its
    /// version depends on a setting of the app.
    private func call(
        _ method: String, _ path: String, title: String?, step: SignInStep?, partOf whole: String?,
        mints owner: KeyOwner?,
        run: @escaping @Sendable (Exchange) throws -> Response
    ) -> Endpoint {
        var traits = EndpointTraits.api(orderedErrors, mints: owner)
        traits.partOf = whole
        return Endpoint(
            method, [FacebookProvider.graphHost], path, title: title, step: step, cors: .any,
            keys: owner.map { [$0] } ?? [], traits
        ) { exchange in
            if let excess = excess(exchange) { return excess }
            var response: Response
            do {
                response = hasVersion(exchange) ? try run(exchange) : try objects(exchange)
            } catch let error as GraphError {
                response = error.response
            }
            let versions = ["version", "id"].compactMap { exchange.parameters[$0] }
            if let version = versions.first(where: FacebookProvider.isVersion) {
                response.headers.append((name: "facebook-api-version", value: version))
            }
            return response
        }
    }

    /// Returns the endpoint for batches of Graph API calls, at the API's root. In the path, `/:id` is the version.
    private func batches(_ path: String) -> Endpoint {
        var traits = EndpointTraits.api(orderedErrors)
        traits.partOf = path.hasSuffix(":id/") ? "/:id" : nil
        return Endpoint("POST", [FacebookProvider.graphHost], path, cors: .any, traits) {
            if let excess = excess($0) { return excess }
            return await batch($0)
        }.known(by: FacebookProvider.documented("graph-api/batch-requests"))
    }

    private static let document = DiscoveryDocument(Texts.discovery)

    /// The endpoints of Facebook's discovery document and signing keys. They are at limited.facebook.com, too. Scripts
    /// of other origins can't read the responses.
    private var discoveryDocuments: [Endpoint] {
        let hosts = [FacebookProvider.host, FacebookProvider.limitedHost]
        let validation = FacebookProvider.documented("facebook-login/limited-login/token/validating")
        return ["", "/"].flatMap { slash in
            [
                Endpoint(
                    "GET", hosts, "/.well-known/openid-configuration\(slash)",
                    title: slash.isEmpty ? nil : "the discovery document", .api
                ) { FacebookProvider.json(FacebookProvider.document.filled(for: $0)) }.known(by: validation),
                Endpoint(
                    "GET", hosts, FacebookProvider.keysPath + slash,
                    title: slash.isEmpty ? nil : "the keys of ID tokens", keys: [.facebook], .keySet(.facebook)
                ) {
                    FacebookProvider.json($0.keySet(.facebook))
                }.known(by: validation),
            ]
        }
    }

    package func client(of exchange: Exchange) -> String? {
        let token = callerToken(exchange)
        if let bar = token.firstIndex(of: "|") { return String(token[..<bar]) }
        return exchange.world.client(ofToken: token, FacebookGrant.self)
    }

    /// Returns the error for a request that is too large: the Graph API's error for an invalid parameter, or a page of
    /// the login dialog.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard exchange.address.host != FacebookProvider.graphHost else {
            return GraphError(message: "Invalid parameter", code: 100, diagnosis: diagnosis).response
        }
        return pages.problem(400, "This request can't be read", diagnosis)
    }

    private static func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.response.status == 200 else { return [] }
        guard let fields = exchange.request.queryForm["fields"] else {
            return ["Without fields, the Graph API answers with id and name only: ask for fields=id,name,email."]
        }
        let user = try? JSONValue(parsing: exchange.response.body, limits: .answer)
        guard fields.split(separator: ",").contains("email"), let user, user["email"] == nil else { return [] }
        return [
            "There is no email: the permission email wasn't asked for or granted, or the person has no confirmed address. Plan for both."
        ]
    }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "private, no-cache, no-store, must-revalidate")],
            body: value.serialized())
    }
}

// These sections describe a person at Facebook.

extension FacebookProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        var profile = InspectedItem("Facebook account")
        profile.facts = [InspectedFact("ID", .code(account.facebook.id))]
        let fields = "id,name,first_name,last_name,short_name,email,picture"
        let document = document(account, ProfileField.list(fields), ["public_profile", "email"])
        profile.documents = [InspectedDocument("GET /me?fields=…", .object(document))]
        let access = InspectedGrants<FacebookGrant>(of: account, in: exchange.world).section { _ in
            []
        } _: { grant in
            InspectedItem(
                grant, named: apps[grant.app]?.name, called: "App", since: grant.since, scopes: grant.granted,
                of: account, at: name)
        }
        return [InspectedSection("Profile", [profile]), access]
    }
}

extension FacebookProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        let graph = "/\(FacebookProvider.graphHost)/v19.0"
        return apps.all.filter { $0.redirectURIs.register(redirectURI) }.map { app in
            TrialSignIn(
                FacebookProvider.title, client: app.id, authorization: "/\(FacebookProvider.host)/v19.0/dialog/oauth",
                [("scope", "public_profile,email")], token: "\(graph)/oauth/access_token",
                person: "\(graph)/me?fields=id,name,email")
        }
    }
}

// These are the answers at unknown addresses of Facebook's hosts.
//
// Quirks: the Graph API regards the first part of a path as an object, unless it is a version, and the rest as a part
// of the object.

extension FacebookProvider {
    /// Returns the answer to a path that doesn't exist: the Graph API's error, or one of Facebook's pages at other
    /// hosts; `nil` at the host of profile pictures.
    package func notServed(_ exchange: Exchange) -> Response? {
        switch exchange.address.host {
        case FacebookProvider.graphHost:
            var response = unserved(exchange).response
            response.headers.append((name: "Access-Control-Allow-Origin", value: "*"))
            return response
        case FacebookProvider.host, FacebookProvider.shortHost, FacebookProvider.limitedHost,
            FacebookProvider.scriptHost:
            return nothing(exchange)
        default: return nil
        }
    }

    func nothing(_ exchange: Exchange) -> Response {
        pages.problem(404, "This page isn't available", FacebookProvider.nothingServed(exchange))
    }

    private static func nothingServed(_ exchange: Exchange) -> Diagnosis {
        let path = exchange.address.path
        let first = path.split(separator: "/").first.map(String.init) ?? ""
        return Diagnosis(
            received: Diagnosis.quote("\(exchange.request.method) \(path)"),
            isVersion("v\(first)")
                ? "nothing is served at this path: write the API version with a v, as in v\(first)"
                : "nothing is served at this path")
    }

    func unserved(_ exchange: Exchange) -> GraphError {
        var parts = exchange.address.path.split(separator: "/").map(String.init)
        if let first = parts.first, FacebookProvider.isVersion(first) { parts.removeFirst() }
        let diagnosis = FacebookProvider.nothingServed(exchange)
        guard let object = parts.first else { return .unsupported(exchange.request.method, id: nil, diagnosis) }
        // The path exists, but not with this method.
        if FacebookProvider.isServed(parts) {
            return .unsupported(exchange.request.method, id: object, diagnosis)
        }
        guard parts.count > 1 else { return noSuchObject(object, exchange, diagnosis) }
        return GraphError(
            message: "Unknown path components: /\(parts.dropFirst().joined(separator: "/"))", code: 2500,
            diagnosis: diagnosis)
    }

    /// Whether the Graph API has a path for at least one HTTP method. `parts` is the path without its version.
    private static func isServed(_ parts: [String]) -> Bool {
        switch parts.count {
        case 1:
            ["app", "me", "debug_token"].contains(parts[0]) || parts[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
        case 2:
            parts[0] == "oauth"
                ? ["access_token", "access_token_info"].contains(parts[1])
                : ["accounts", "friends", "permissions", "picture"].contains(parts[1])
        case 3: parts[1] == "permissions"
        default: false
        }
    }

    /// Returns whether the path of a Graph API call is valid as to the API's version. The version, such as `v22.0`, may
    /// be missing; then, the object ID mustn't look like a version.
    func hasVersion(_ exchange: Exchange) -> Bool {
        let (version, id) = (exchange.parameters["version"], exchange.parameters["id"])
        return version.map(FacebookProvider.isVersion) ?? !(id.map(FacebookProvider.isVersion) ?? false)
    }

    /// Whether a text looks like a version of the Graph API, such as `v22.0`. Any such number is accepted, whether it
    /// was published or not.
    static func isVersion(_ text: String) -> Bool {
        let numbers = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        return text.first == "v" && numbers.count == 2
            && numbers.allSatisfy {
                (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }
}

extension Look {
    /// The theme of Facebook's pages: a blue bar with the name, a grey page, a narrow card with a shadow.
    static let facebook = Look(name: "Facebook", style: StyleSheets.look)
}

extension PageWords {
    static let facebook = PageWords(Texts.words, of: "Facebook")
}
