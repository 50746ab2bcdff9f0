import EmulatorCore
import HTTPServer
import OAuth

// DELETE https://graph.facebook.com/me/permissions and /me/permissions/NAME
// https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke#revokelogin
//
// Quirks: without a permission's name, the whole grant is revoked; all its tokens are refused from then on, with code 190 and
// subcode 458.

extension FacebookProvider {
    /// `POST /_understudy/v1/facebook/revocations`: people remove an app under "Apps and websites".
    /// <https://www.facebook.com/help/204306713029340>
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) -> Response {
        exchange.revoke(FacebookGrant.self, order) { id in
            apps[id] == nil ? "no app \(Diagnosis.quote(id)) is seeded" : nil
        } isOf: { grant, id in
            grant.app == id
        } end: { grant in
            exchange.world.update { $0.remove(grant) }
        }
    }

    func revoke(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let caller = try accessToken(callerToken(exchange), exchange)
            exchange.world.update { tables in
                if let permission = exchange.parameters["permission"] {
                    tables.revoke(permission, of: caller.grant)
                } else {
                    tables.remove(caller.grant)
                }
            }
            return FacebookProvider.json(["success": true])
        } catch {
            return error.response
        }
    }
}
