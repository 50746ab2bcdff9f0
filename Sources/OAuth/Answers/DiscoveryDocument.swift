import EmulatorCore
import JSON

/// A discovery document, written as a JSON template with placeholders in braces. A value may begin with a named
/// placeholder, such as `{issuer}`, or with a host, as in `{accounts.google.com}/o/oauth2/v2/auth`. A host is replaced
/// by the base URL at which the requesting client reaches it.
/// <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>
package struct DiscoveryDocument: Sendable {
    private let members: JSONObject

    package init(_ text: StaticString) {
        members = (try? JSONValue(parsing: Array("\(text)".utf8)))?.object ?? JSONObject()
    }

    /// Returns the discovery document that answers a request. A member's value may begin with a placeholder in braces.
    /// `values` has the texts that replace placeholders. A placeholder that isn't in `values` is a host's name, and is
    /// replaced by the host's base URL.
    package func filled(for exchange: Exchange, _ values: [String: String] = [:]) -> JSONValue {
        .object(
            JSONObject(
                members.members.map { member in
                    guard let text = member.value.string, text.hasPrefix("{"), let end = text.firstIndex(of: "}") else {
                        return (member.key, member.value)
                    }
                    let name = String(text[text.index(after: text.startIndex)..<end])
                    let start = values[name] ?? exchange.address.base(of: name)
                    return (member.key, .string(start + text[text.index(after: end)...]))
                }))
    }
}
