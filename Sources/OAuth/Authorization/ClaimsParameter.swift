import EmulatorCore
import JSON

/// The parameter `claims`: single claims that a client asks for.
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter>
package struct ClaimsParameter: Codable, Sendable {
    /// What is asked for of one claim.
    package struct Wish: Codable, Sendable {
        package let isEssential: Bool
        /// The values that will do; empty when any does.
        package let values: [JSONValue]
    }

    private static let limit = 100
    /// Bytes of the text: what is asked for is kept for as long as a grant.
    private static let sizeLimit = 8_192

    package let idToken: [String: Wish]
    package let userInfo: [String: Wish]

    package init() { (idToken, userInfo) = ([:], [:]) }

    /// Without a text, nothing is asked for.
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
