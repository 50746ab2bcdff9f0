import EmulatorCore
import HTTPServer
import JSON
import OAuth

/// OpenID Connect issuers that the seed names: <https://openid.net/specs/openid-connect-core-1_0.html>.
package struct OpenIDProvider: Provider {
    package static let section: (any SeedSection.Type)? = OpenIDSection.self
    package static let profile: (any AccountProfile.Type)? = OpenIDProfile.self

    package static let title = "OpenID Connect"
    package let name = OpenIDSection.name
    let issuers: [Issuer]

    package init(seed: Seed) { issuers = seed[OpenIDSection.self].issuers }

    package var aliases: [HostAlias] { issuers.map(\.alias) }

    package var operations: [Operation] {
        issuers.flatMap(\.operations) + [
            logoutCall,
            .revocations(
                of: name, "Lets people withdraw what they have consented to, at every issuer that has the client."
            ) { revokeByOrder($0, $1) },
        ]
    }

    package func client(of exchange: Exchange) -> String? {
        guard let text = exchange.request.accessToken(), let issuer = issuer(at: exchange) else { return nil }
        let key = issuer.rowKey(of: text, in: exchange)
        return exchange.world.read { tables in
            tables.find(Token<OpenIDGrant>.self, key).flatMap { tables.find(OpenIDGrant.self, $0.grant) }?.client
        }
    }

    private func issuer(at exchange: Exchange) -> Issuer? {
        issuers.first { $0.host == exchange.address.host && exchange.address.path.hasPrefix($0.path + "/") }
    }

    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? {
        let refusal = OAuthRefusal("invalid_request", diagnosis)
        guard let issuer = issuer(at: exchange),
            exchange.address.path == issuer.path + issuer.policy.paths.authorization
        else { return refusal.response }
        return issuer.response(to: .page(refusal))
    }

    package func accountDeleted(_ account: String, in exchange: Exchange) {
        let reason = exchange.cause("the account was deleted")
        exchange.world.update { tables in
            tables.endGrants(OpenIDGrant.self, of: account, because: reason)
            tables.endSignIns(of: account)
        }
    }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? {
        guard let issuer = issuers.first(where: { $0.client(wanted.client) != nil }),
            let client = issuer.client(wanted.client)
        else {
            let names = issuers.flatMap(\.clients).map(\.clientID).sorted()
            throw wanted.noSuchClient("client", hint: Spelling.hint(wanted.client, among: names))
        }
        let (account, now) = (try wanted.person(in: exchange), exchange.world.now)
        let grant = OpenIDGrant(
            key: "", issuer: issuer.id, client: client.clientID, account: account.id,
            scopes: wanted.scopes ?? ["openid", "email", "profile"], authenticatedAt: now, expires: now)
        let claims = issuer.idTokenClaims(grant, of: account, for: client, in: exchange, nonce: wanted.nonce)
        return TokenDraft(
            claims: claims, owner: issuer.owner, type: "JWT", algorithm: issuer.algorithm(client.idTokenAlgorithm))
    }
}

extension Issuer {
    var operations: [Operation] {
        let (hosts, paths) = ([host], policy.paths)
        let authorization = OperationTraits.authorization(
            errors: OAuthRefusal.ofAuthorizations, mints: owner, isOpen: true)
        let client = OperationTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofClients))
        let device = OperationTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofClients + ["invalid_scope"]))
        let token = OperationTraits.api(OAuthRefusal.ordered(OAuthRefusal.ofTokens), mints: owner)
        let userInfo = OperationTraits.api(
            OAuthRefusal.ordered(["invalid_token", "insufficient_scope"], isForBearers: true), mints: owner)
        let metadata = ["\(path)/.well-known/openid-configuration", "\(path)/.well-known/oauth-authorization-server"]
        // RFC 8414 section 3.1 puts the issuer's path behind its own.
        let inserted = path.isEmpty ? [] : ["/.well-known/oauth-authorization-server\(path)"]
        func at(
            _ endpoint: String, _ traits: OperationTraits, _ methods: [String] = ["POST"], cors: Operation.CORS = .any,
            _ respond: @escaping @Sendable (Exchange) -> Response
        ) -> [Operation] {
            methods.map { Operation($0, hosts, path + endpoint, cors: cors, keys: [owner], traits, respond) }
        }
        var all = (metadata + inserted).map { path in Operation("GET", hosts, path, cors: .any) { discovery($0) } }
        all += at(paths.keys, .keySet(owner), ["GET"]) { keySet($0) }
        all += at(paths.authorization, authorization, ["GET"], cors: .none) { authorize($0, $0.request.queryForm) }
        all += at(paths.authorization, authorization, cors: .none) { authorizeByPost($0) }
        all += at(paths.pushedRequest, device) { push($0) }
        all += at(paths.token, token) { self.token($0) }
        all += at(paths.userInfo, userInfo, ["GET", "POST"]) { self.userInfo($0) }
        all += at(paths.introspection, client) { introspect($0) }
        all += at(paths.revocation, client.withoutMembers) { revoke($0) }
        all += at(paths.deviceAuthorization, device) { authorizeDevice($0) }
        all += at(paths.device, .page, ["GET"], cors: .none) { devicePage($0) }
        all += at(paths.device, .page, cors: .none) { decideOnDevice($0) }
        all += ["GET", "POST"].map { method in
            Operation(method, hosts, path + paths.endSession, keys: [owner], .page(mints: owner)) {
                await logout($0, method == "GET" ? $0.request.queryForm : $0.request.bodyForm)
            }
        }
        return all
    }
}
