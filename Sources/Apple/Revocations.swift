import EmulatorCore
import HTTPServer
import OAuth

// POST /_understudy/v1/apple/revocations: people stop using Sign in with Apple for an app, in their settings.
// https://support.apple.com/102571

extension AppleProvider {
    /// Ends the grants of an order, and notifies the teams' servers in the background. A client stands for its app
    /// group.
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        try exchange.revoke(AppleGrant.self, order) { id in
            directory.clients[id] == nil
                ? "no App ID or Services ID \(Diagnosis.quote(id)) is seeded\(directory.hint(for: id))" : nil
        } isOf: { grant, id in
            guard let client = directory.clients[id] else { return false }
            return grant.team == client.team && grant.group == client.group
        } end: { grant in
            try endGrant(
                grant, in: exchange, by: grant.client,
                because: exchange.cause("the person removed \(Diagnosis.quote(grant.client))"))
        }
    }
}
