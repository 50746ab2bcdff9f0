import EmulatorCore
import JSON

/// The parameter `claims`: a request for single claims.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter>
package struct ClaimsParameter: Codable, Sendable {
    /// A request for one claim.
    package struct Wish: Codable, Sendable {
        package let isEssential: Bool
        /// The accepted values; empty if any is accepted.
        package let values: [JSONValue]
    }

    private static let limit = 100
    /// The most bytes of the text, which is stored as long as the grant.
    private static let sizeLimit = 8_192

    package let idToken: [String: Wish]
    package let userInfo: [String: Wish]

    package init() { (idToken, userInfo) = ([:], [:]) }

    /// Reads the parameter. Without a text, no claims are requested.
    package init(_ text: String?) throws(OAuthRefusal) {
        guard let text else {
            (idToken, userInfo) = ([:], [:])
            return
        }
        guard text.utf8.count <= ClaimsParameter.sizeLimit else {
            throw ClaimsParameter.refusal(
                "it has \(text.utf8.count) bytes; at most \(ClaimsParameter.sizeLimit) are read")
        }
        guard let value = try? JSONValue(parsing: Array(text.utf8), limits: .control), value.object != nil else {
            throw ClaimsParameter.refusal("it must be an object of JSON")
        }
        idToken = try ClaimsParameter.wishes(value["id_token"])
        userInfo = try ClaimsParameter.wishes(value["userinfo"])
    }

    private static func wishes(_ value: JSONValue?) throws(OAuthRefusal) -> [String: Wish] {
        guard let value, !value.isNull else { return [:] }
        guard let object = value.object, object.count <= limit else {
            throw refusal("its members id_token and userinfo must be objects of at most \(limit) claims")
        }
        return Dictionary(
            object.members.map { name, wish in
                let values = wish["values"]?.array ?? wish["value"].map { [$0] } ?? []
                return (name, Wish(isEssential: wish["essential"]?.bool ?? false, values: values))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func refusal(_ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_request", Diagnosis("claims can't be used: \(reason)"))
    }
}
