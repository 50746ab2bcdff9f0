import HTTPServer
import JSON
import OAuth
import EmulatorCore
import Time

/// Facebook Login: the dialog, tokens, and the part of the Graph API that sign-in code calls.
/// <https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow>
///
/// Quirks: every path may begin with a version, such as /v22.0, or not.
package struct FacebookProvider: Provider {
    package static let host = "www.facebook.com"
    package static let graphHost = "graph.facebook.com"
    static let limitedHost = "limited.facebook.com"
    /// The name without www, which the discovery document has for the dialog. Facebook redirects from there; here it answers itself.
    static let shortHost = "facebook.com"
    /// Where the images of pictures are.
    static let pictureHost = "platform-lookaside.fbsbx.com"
    package static let issuer = "https://www.facebook.com"
    static let dialogPath = "/dialog/oauth"
    static let keysPath = "/.well-known/oauth/openid/jwks"

    package static let section: (any SeedSection.Type)? = FacebookSection.self
    package static let profile: (any AccountProfile.Type)? = FacebookProfile.self

    package static let title = "Facebook"
    package let name = "facebook"
    let apps: RegisteredClients<FacebookApp>
    let pages = PersonPages(.facebook, .facebook, host: host, path: dialogPath)

    package init(seed: Seed) {
        apps = seed[FacebookSection.self].apps
    }

    package static func variables(daemon url: String) -> [(name: String, value: String)] {
        [
            (name: "FACEBOOK_BASE_URL", value: "\(url)/\(host)"),
            (name: "FACEBOOK_GRAPH_URL", value: "\(url)/\(graphHost)"),
        ]
    }

    /// Limited Login's tokens, too.
    package static func isIssuer(_ issuer: String) -> Bool {
        [self.issuer, "https://\(limitedHost)"].contains(issuer)
    }

    package var operations: [Operation] {
        ["", "/:version"].flatMap {
            dialog(below: $0) + dialog(below: $0, "/") + graph(below: $0) + graph(below: $0, "/")
        }
            + ["/", "/:id", "/:id/"].map(batches) + discoveryDocuments + browserScript
            + [
                Operation("GET", [FacebookProvider.host], "/connect/login_success.html", .page) { _ in
                    pages.notice("Success", "The app that opened this page reads its address.")
                },
                Operation("GET", [FacebookProvider.pictureHost], "/platform/profilepic/", cors: .any, .page) {
                    FacebookProvider.image($0)
                }, nativeCall,
                .revocations(
                    of: name, "Lets people remove an app in their Facebook settings; the app's callbacks are told.",
                    told: FacebookProvider.toldOfRemoval
                ) { try await revokeByOrder($0, $1) },
            ]
    }

    private func dialog(below version: String, _ slash: String = "") -> [Operation] {
        let path = version + FacebookProvider.dialogPath + slash
        let host = [FacebookProvider.host, FacebookProvider.shortHost]
        let traits = OperationTraits.authorization(
            errors: ["access_denied", "server_error"] + FacebookProvider.dialogErrors.keys.sorted(), mints: .facebook)
        return [
            Operation("GET", host, path, keys: [.facebook], traits) {
                try hasVersion($0) ? authorize($0) : nothing($0)
            },
            Operation("POST", host, path, keys: [.facebook], traits) { try hasVersion($0) ? decide($0) : nothing($0) },
        ]
    }

    /// Every path may end with a slash, as those of Meta's own samples do:
    /// <https://developers.facebook.com/docs/graph-api/reference/user>.
    private func graph(below version: String, _ slash: String = "") -> [Operation] {
        func call(
            _ method: String, _ path: String, mints owner: KeyOwner? = nil,
            run: @escaping @Sendable (Exchange) throws -> Response
        ) -> Operation {
            self.call(method, version + path + slash, partOf: slash.isEmpty ? nil : path, mints: owner, run: run)
        }
        var operations: [Operation] = []
        for method in ["GET", "POST"] {
            operations += [
                call(method, "/oauth/access_token", mints: .facebook, run: token),
                call(method, "/debug_token", run: debugToken),
            ]
        }
        operations += [
            call("GET", "/oauth/access_token_info", run: tokenInfo),
            call("GET", "/app", run: application),
        ]
        if version.isEmpty, slash.isEmpty { operations.append(call("GET", "/", run: objects)) }
        for person in ["/me", "/:id"] {
            operations += [
                call("GET", "\(person)/permissions", run: permissions),
                call("POST", "\(person)/permissions", run: postPermissions),
                call("POST", "\(person)/permissions/:permission", run: postPermissions),
                call("DELETE", "\(person)/permissions", run: revoke),
                call("DELETE", "\(person)/permissions/:permission", run: revoke),
                call("GET", "\(person)/accounts", run: accounts),
                call("GET", "\(person)/friends", run: friends),
                call("GET", "\(person)/picture", run: picture),
                call("GET", person, run: profile),
            ]
        }
        return operations
    }

    /// A call of the Graph API. Its answer says which version it is of, as clients read it:
    /// <https://github.com/mobolic/facebook-sdk> and <https://github.com/restfb/restfb>. Which version answers a call that names none, is
    /// the app's setting, and not said here.
    private func call(
        _ method: String, _ path: String, partOf whole: String?, mints owner: KeyOwner?,
        run: @escaping @Sendable (Exchange) throws -> Response
    ) -> Operation {
        var traits = OperationTraits.api(orderedErrors, mints: owner)
        traits.partOf = whole
        return Operation(
            method, [FacebookProvider.graphHost], path, cors: .any, keys: owner.map { [$0] } ?? [], traits
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

    /// Several calls in one, at the API's address with a version or without: `/:id` is a version then.
    private func batches(_ path: String) -> Operation {
        var traits = OperationTraits.api(orderedErrors)
        traits.partOf = path.hasSuffix(":id/") ? "/:id" : nil
        return Operation("POST", [FacebookProvider.graphHost], path, cors: .any, traits) {
            if let excess = excess($0) { return excess }
            return await batch($0)
        }
    }

    /// Scripts of other origins can't read them: <https://github.com/damienbod/angular-auth-oidc-client/issues/1826>.
    private var discoveryDocuments: [Operation] {
        let hosts = [FacebookProvider.host, FacebookProvider.limitedHost]
        return ["", "/"].flatMap { slash in
            [
                Operation("GET", hosts, "/.well-known/openid-configuration\(slash)") {
                    FacebookProvider.discovery($0)
                },
                Operation("GET", hosts, FacebookProvider.keysPath + slash, keys: [.facebook], .keySet(.facebook)) {
                    FacebookProvider.json($0.keySet(.facebook))
                },
            ]
        }
    }

    package func client(of exchange: Exchange) -> String? {
        let token = callerToken(exchange)
        if let bar = token.firstIndex(of: "|") { return String(token[..<bar]) }
        return exchange.world.read { $0.find(Token<FacebookGrant>.self, token)?.client }
    }

    /// The Graph API's error for a parameter that it doesn't take, or the dialog's page. Not documented.
    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        guard exchange.address.host != FacebookProvider.graphHost else {
            return GraphError(message: "Invalid parameter", code: 100, diagnosis: diagnosis).response
        }
        return pages.problem(400, "This request can't be read", diagnosis)
    }

    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        tables.endGrants(FacebookGrant.self, of: account, because: reason)
        return nil
    }

    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json; charset=UTF-8",
            headers: [(name: "Cache-Control", value: "private, no-cache, no-store, must-revalidate")],
            body: value.serialized())
    }
}
