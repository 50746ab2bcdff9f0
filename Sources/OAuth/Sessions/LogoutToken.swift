import EmulatorCore
import JOSE
import JSON
import Time

/// The token that notifies a client of a session's end:
/// <https://openid.net/specs/openid-connect-backchannel-1_0.html#LogoutToken>.
package enum LogoutToken {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    package static func claims(
        issuer: String, client: String, subject: String, session: String, id: String, at now: Instant
    ) -> JSONObject {
        JSONObject([
            ("iss", .string(issuer)), ("aud", .string(client)), ("sub", .string(subject)), ("sid", .string(session)),
            ("iat", .numericDate(now)), ("exp", .numericDate(now + .minutes(2))), ("jti", .string(id)),
            ("events", .object(JSONObject([(event, [:])]))),
        ])
    }
}
