import EmulatorCore
import HTTPServer
import OAuth

// POST /_understudy/v1/openid/revocations: people withdraw what they have consented to, at every issuer that has the client.

extension OpenIDProvider {
    func revokeByOrder(_ exchange: Exchange) -> Response {
        exchange.revoke(OpenIDGrant.self) { id in
            issuers.contains { $0.client(id) != nil } ? nil : "no issuer has a client \(Diagnosis.quote(id))"
        } isOf: { grant, id in
            grant.client == id
        } end: { grant in
            let issuer = issuers.first { $0.id == grant.issuer }
            exchange.world.update { tables in
                tables.end(grant)
                if let issuer, let client = issuer.client(grant.client) {
                    tables.forgetConsent(of: grant.account, to: issuer.key(of: client))
                }
            }
        }
    }
}
