import EmulatorCore
import HTTPServer
import OAuth

// POST /_understudy/v1/google/revocations: people remove an app under "Third-party apps & services".
// https://support.google.com/accounts/answer/13533235

extension GoogleProvider {
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        try exchange.revoke(GoogleGrant.self, order) { id in
            clients[id] == nil ? "no client \(Diagnosis.quote(id)) is seeded" : nil
        } isOf: { grant, id in
            grant.client == id
        } end: { grant in
            let reason = exchange.cause("the person removed \(Diagnosis.quote(grant.client))")
            return try exchange.world.update { tables in
                guard let grant = tables.find(GoogleGrant.self, grant.key), !tables.endIfExpired(grant) else {
                    return false
                }
                tables.end(grant, because: reason)
                return true
            }
        }
    }
}
