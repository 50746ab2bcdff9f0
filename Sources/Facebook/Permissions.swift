import EmulatorCore
import HTTPServer
import JSON
import OAuth

// GET and DELETE https://graph.facebook.com/me/permissions, and DELETE /me/permissions/NAME
// https://developers.facebook.com/docs/graph-api/reference/user/permissions
// https://developers.facebook.com/docs/facebook-login/guides/permissions/request-revoke
//
// Quirks: permissions belong to a person and an app, for all tokens. A declined or revoked permission is requested
// again only with auth_type=rerequest. Without a permission's name, the whole grant is revoked; then all its tokens are
// refused with code 190 and subcode 458.

extension FacebookProvider {
    func permissions(_ exchange: Exchange) throws(GraphError) -> Response {
        let grant = try person(exchange).grant
        return FacebookProvider.json(
            FacebookProvider.permissions(
                of: grant, named: parameter("permission", exchange), having: parameter("status", exchange)))
    }

    static func permissions(
        of grant: FacebookGrant, named name: String? = nil, having status: String? = nil
    ) -> JSONValue {
        let all = grant.granted.map { ($0, "granted") } + grant.declined.map { ($0, "declined") }
        let shown = all.filter { (name ?? $0.0) == $0.0 && (status ?? $0.1) == $0.1 }
        return ["data": .array(shown.map { ["permission": .string($0.0), "status": .string($0.1)] })]
    }

    /// Handles the JavaScript SDK's POST with `method=delete`.
    func postPermissions(_ exchange: Exchange) throws -> Response {
        if parameter("method", exchange)?.lowercased() == "delete" { return try revoke(exchange) }
        throw unserved(exchange)
    }

    func revoke(_ exchange: Exchange) throws -> Response {
        let grant = try person(exchange).grant
        let reason = exchange.cause("the permissions of the app were deleted")
        let isChanged = try exchange.world.update { tables in
            if let permission = exchange.parameters["permission"] {
                return tables.change(FacebookGrant.self, grant.key) { $0.decline(permission) }
            }
            return tables.remove(grant, because: reason)
        }
        guard isChanged else { throw GraphError.notAuthorized(app: grant.app) }
        return FacebookProvider.json(["success": true])
    }
}
