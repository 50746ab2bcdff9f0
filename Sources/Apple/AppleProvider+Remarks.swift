import EmulatorCore
import HTTPServer
import JOSE
import JSON

extension AppleProvider {
    /// A code came without the person's name, though it was asked for.
    static func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard (200..<300).contains(exchange.response.status) else { return [] }
        let names = Set(exchange.responseFindings.map(\.name))
        guard names.contains("code"), !names.contains("user") else { return [] }
        let scopes = exchange.requestFindings.first { $0.name == "scope" }?.value.split(separator: " ") ?? []
        return scopes.contains("name") ? [onlyOnce] : []
    }

    /// The remark on a later sign-in:
    /// <https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple>
    private static let onlyOnce =
        "Apple sends the name and, natively, the address only the first time that a person authorizes an app of the team: keep "
        + "them then. To see the first time again, revoke the app for this person, or reset the world."

    static func nativeRemarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard (200..<300).contains(exchange.response.status),
            let asked = exchange.request.jsonBody?["scopes"]?.array, !asked.isEmpty,
            let answer = try? JSONValue(parsing: exchange.response.body, limits: .answer)
        else { return [] }
        let wantsName = asked.contains("fullName") && answer["fullName"] == nil
        let wantsEmail = asked.contains("email") && answer["email"] == nil
        return wantsName || wantsEmail ? [onlyOnce] : []
    }
}
