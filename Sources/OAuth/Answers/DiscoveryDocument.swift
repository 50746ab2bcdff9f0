import EmulatorCore
import JSON

/// A discovery document, written in JSON. A text that begins with a name in braces has a value in the place of the name:
/// `{accounts.google.com}/o/oauth2/v2/auth` is that path at the host, in the form of the request.
/// <https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata>
package struct DiscoveryDocument: Sendable {
    private let members: JSONObject

    package init(_ text: StaticString) {
        members = (try? JSONValue(parsing: Array("\(text)".utf8)))?.object ?? JSONObject()
    }

    /// Returns the document for a request. Names that aren't in `values` are hosts.
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
