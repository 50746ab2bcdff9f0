import JSON
import OAuth
import WebAuthn

/// The settings of passkeys in a project, as in the administrator's `PasskeyConfig`.
/// <https://pub.dev/documentation/firebaseapis/latest/identitytoolkit_v2/GoogleCloudIdentitytoolkitAdminV2PasskeyConfig-class.html>
struct PasskeySettings: SchemaObject {
    let isEnabled: Bool
    private let relyingPartyID: String?
    private let expectedOrigins: [String]

    static let plain = PasskeySettings(isEnabled: true, relyingPartyID: nil, expectedOrigins: [])

    private init(isEnabled: Bool, relyingPartyID: String?, expectedOrigins: [String]) {
        self.isEnabled = isEnabled
        self.relyingPartyID = relyingPartyID
        self.expectedOrigins = expectedOrigins
    }

    init(_ fields: inout Fields) {
        isEnabled = fields.enabled()
        relyingPartyID = fields.optional(
            "rpId", .text(.identifier),
            "The relying party ID, a domain; the first of the project's `authorizedDomains` by default.")
        expectedOrigins = fields(
            "expectedOrigins", .set(of: .text(.nonEmpty)), default: [],
            "Origins of pages and apps that may use passkeys; by default https pages at the relying party's domain and at "
                + "authorized domains below it, and http pages of this machine where the domain is `localhost`.")
    }

    /// Returns the relying party of a project with these domains.
    func relyingParty(authorizedDomains: [String], returnDomains: [String]) -> RelyingParty {
        let id = relyingPartyID ?? authorizedDomains.first ?? "localhost"
        let (expected, domains) = (Set(expectedOrigins), Set(returnDomains))
        return RelyingParty(id: id) { origin in
            guard expected.isEmpty else { return expected.contains(origin) }
            guard let address = WebAddress(origin), address.rest.isEmpty || address.rest == "/" else { return false }
            let isSecure = address.scheme == "https" || (address.scheme == "http" && address.isLocalhost)
            let isBelow = address.host.hasSuffix(".\(id)") && (address.isLocalhost || domains.contains(address.host))
            return isSecure && (address.host == id || isBelow)
        }
    }
}

extension Project {
    /// The relying party; `nil` if passkeys aren't configured or aren't enabled.
    var relyingParty: RelyingParty? {
        guard let passkeys = providers.passkey, passkeys.isEnabled else { return nil }
        return passkeys.relyingParty(authorizedDomains: authorizedDomains, returnDomains: returnDomains)
    }
}
