import EmulatorCore
import HTTPServer
import OAuth
import Time

// The access token of a call of the Graph API
// https://developers.facebook.com/docs/facebook-login/guides/access-tokens
//
// Quirk: parameters may stand in the query or in a form.

/// A valid access token and its person.
struct AccessToken: Sendable {
    let token: Token<FacebookGrant>
    let grant: FacebookGrant
    /// `nil` when the person is gone.
    let account: Account?

    var details: FacebookGrant.Details { token.details }
}

extension FacebookProvider {
    func parameter(_ name: String, _ exchange: Exchange) -> String? {
        exchange.request.queryForm[name] ?? exchange.request.bodyForm[name]
    }

    /// The access token that the request brings; empty without one.
    func callerToken(_ exchange: Exchange) -> String {
        parameter("access_token", exchange) ?? exchange.request.accessToken(schemes: ["bearer", "oauth"]) ?? ""
    }

    func accessToken(_ text: String, _ exchange: Exchange) throws(GraphError) -> AccessToken {
        let (found, removed, now) = exchange.world.read { tables in
            let token = tables.find(Token<FacebookGrant>.self, text)
            let found = token.flatMap { token in
                tables.find(FacebookGrant.self, token.grant).map { grant in
                    AccessToken(token: token, grant: grant, account: tables.account(grant.account))
                }
            }
            return (found, found == nil ? tables.find(RemovedToken.self, text) : nil, tables.now)
        }
        if let removed {
            throw GraphError(
                message: "Error validating access token: The user has not authorized application \(removed.app).",
                code: 190, subcode: 458,
                diagnosis: Diagnosis("the person has removed the app since: sign in again"))
        }
        guard let found else {
            throw GraphError(
                message: text.isEmpty
                    ? "An active access token must be used to query information about the current user."
                    : "Invalid OAuth access token - Cannot parse access token", code: text.isEmpty ? 2500 : 190,
                diagnosis: Diagnosis("the access token is missing, unknown or revoked"))
        }
        if let expires = found.token.expires, expires <= now {
            throw GraphError(
                message: "Error validating access token: Session has expired.", code: 190, subcode: 463,
                diagnosis: Diagnosis("the access token expired \((now - expires).inWords) ago"))
        }
        return found
    }
}
