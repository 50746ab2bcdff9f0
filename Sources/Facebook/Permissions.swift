import EmulatorCore
import HTTPServer
import OAuth

// DELETE https://graph.facebook.com/me/permissions and /me/permissions/NAME
// https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke#revokelogin
//
// Quirk: without a permission's name, the whole grant is revoked, with all its tokens.

extension FacebookProvider {
    func revoke(_ exchange: Exchange) -> Response {
        do throws(GraphError) {
            let caller = try accessToken(callerToken(exchange), exchange)
            exchange.world.update { tables in
                if let permission = exchange.parameters["permission"] {
                    tables.revoke(permission, of: caller.grant)
                } else {
                    tables.end(caller.grant)
                }
            }
            return FacebookProvider.json(["success": true])
        } catch {
            return error.response
        }
    }
}
