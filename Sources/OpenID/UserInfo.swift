import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// GET and POST /userinfo: https://openid.net/specs/openid-connect-core-1_0.html#UserInfo

extension Issuer {
    func userInfo(_ exchange: Exchange) throws -> Response {
        guard let presented = PresentedAccessToken.read(exchange.request, for: self) else {
            let scheme = policy.dpop == .required ? "DPoP, and a proof" : "Bearer"
            return OAuthRefusal.withoutToken(
                Diagnosis("there is no access token: send Authorization: \(scheme)"), dpop: policy.dpop)
        }
        let key = rowKey(of: presented.text, in: exchange)
        let found = exchange.world.read { $0.working(key, .access, OpenIDGrant.self) }
        guard let (token, grant, account) = found, grant.issuer == id,
            let client = client(grant.client, in: exchange.world)
        else {
            let reason = exchange.reason(againstUsing: key, .access, OpenIDGrant.self)
            let refusal = OAuthRefusal("invalid_token", Diagnosis("the access token doesn't work: \(reason)"))
            return presented.isBound ? refusal.proofResponse : refusal.bearerResponse
        }
        do {
            let url = exchange.address.url(of: host, exchange.address.path)
            try check(presented, boundTo: token.details.thumbprint, at: url, in: exchange)
        } catch let error as OAuthRefusal { return error.proofResponse }
        guard token.details.scopes.contains("openid") else {
            let refusal = OAuthRefusal(
                "insufficient_scope", Diagnosis("the token was granted without the scope openid"))
            return presented.isBound ? refusal.proofResponse : refusal.bearerResponse
        }
        var body = JSONObject([("sub", .string(subject(of: account, for: client)))])
        let wishes = Set(grant.claims.userInfo.keys)
        body.merge(claims(of: account, for: client, scopes: token.details.scopes, wishes: wishes))
        guard let name = client.userInfoAlgorithm else { return OAuthRefusal.json(.object(exchange.claims(body))) }
        (body["iss"], body["aud"]) = (.string(identifier(exchange)), .string(client.clientID))
        do throws(KeyError) {
            let text = try sign(body, for: client, type: "JWT", with: name, in: exchange)
            return Response(
                status: 200, contentType: "application/jwt", headers: [(name: "Cache-Control", value: "no-store")],
                body: text)
        } catch {
            return OAuthRefusal("server_error", Diagnosis("the answer can't be signed: \(error.description)")).response
        }
    }
}
