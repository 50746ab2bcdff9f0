import EmulatorCore
import HTTPServer
import OAuth

// POST /_understudy/v1/openid/revocations: people withdraw their consent, at every issuer that has the client.

extension OpenIDProvider {
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        if try hasForgottenConsent(order, exchange) { return ControlAnswer.ok(["revoked": true, "grants": 0]) }
        return try exchange.revoke(OpenIDGrant.self, order) { id in
            takesUnknown || issuers.contains { $0.client(id, in: exchange.world) != nil }
                ? nil : "no issuer has a client \(Diagnosis.quote(id))"
        } isOf: { grant, id in
            grant.client == id
        } end: { grant in
            let issuer = issuer(grant.issuer, in: exchange.world)
            let owner = issuer?.client(grant.client, in: exchange.world).flatMap { issuer?.key(of: $0) }
            let reason = exchange.cause("the person removed \(Diagnosis.quote(grant.client))")
            return try exchange.world.update { tables in
                guard tables.find(OpenIDGrant.self, grant.key) != nil else { return false }
                tables.end(grant, because: reason)
                if let owner { tables.forgetConsent(of: grant.account, to: owner) }
                return true
            }
        }
    }

    /// Removes a consent without a grant, and returns whether there was one. A consent outlives the grants of its
    /// sign-ins.
    private func hasForgottenConsent(_ order: RevocationOrder, _ exchange: Exchange) throws -> Bool {
        guard let account = order.account, let id = order.client else { return false }
        let owners = issuers.compactMap { issuer in issuer.client(id, in: exchange.world).map { issuer.key(of: $0) } }
        return try exchange.world.update { tables in
            guard !tables.grants(OpenIDGrant.self, of: account).contains(where: { $0.client == id }) else {
                return false
            }
            var isForgotten = false
            for owner in owners where tables.forgetConsent(of: account, to: owner) { isForgotten = true }
            return isForgotten
        }
    }
}
