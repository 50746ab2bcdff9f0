import EmulatorCore
import JSON
import OAuth

/// Apple's rules for return URLs: https, a domain name, no fragment, and equal to a registered one, byte for byte.
/// <https://developer.apple.com/documentation/signinwithapple/configuring-your-environment-for-sign-in-with-apple>
enum ReturnURL {
    enum Fault: Sendable {
        case notAURL
        case hasFragment
        /// The URL isn't https, or its host is localhost or an IP address.
        case insecure
    }

    /// Returns the fault of a URL; `nil` if it may be registered and used.
    static func fault(of uri: String, allowsInsecure: Bool) -> Fault? {
        guard let address = WebAddress(uri), address.scheme == "https" || address.scheme == "http" else {
            return .notAURL
        }
        if address.hasFragment { return .hasFragment }
        let isInsecure = address.scheme != "https" || address.isLocalhost || address.isIPAddress
        return isInsecure && !allowsInsecure ? .insecure : nil
    }

    /// Returns the reason why `client` can't use `uri`, and the advice that would make it work.
    static func diagnosis(of uri: String, for client: AppleDirectory.Client) -> Diagnosis {
        let reason = reason(against: uri, for: client)
        let fault = fault(of: uri, allowsInsecure: false)
        guard fault == nil || fault == .insecure, let primaryApp = client.primaryApp else { return reason }
        var service = JSONObject([
            ("id", .string(client.id)), ("primaryApp", .string(primaryApp)), ("returnURLs", [.string(uri)]),
        ])
        if fault == .insecure { service["allowInsecureReturnURLs"] = true }
        return reason.mended(
            byMerging: ["apple": ["teams": [["id": .string(client.team), "services": [.object(service)]]]]])
    }

    private static func reason(against uri: String, for client: AppleDirectory.Client) -> Diagnosis {
        guard !uri.isEmpty else {
            return Diagnosis("redirect_uri is missing: send one of the service's registered return URLs")
        }
        let received = "redirect_uri \(Diagnosis.quote(uri))"
        switch fault(of: uri, allowsInsecure: client.allowsInsecureReturnURLs) {
        case .notAURL:
            return Diagnosis(received: received, expected: "an absolute https URL", "it can't be read as a URL")
        case .hasFragment:
            return Diagnosis(received: received, "a return URL has no fragment: leave out \"#\" and what follows")
        case .insecure:
            return Diagnosis(
                received: received,
                expected: "https and a domain name"
                    + (client.returnURLs.isEmpty ? "" : ", as in \(client.returnURLs.joined(separator: " "))"),
                "Apple takes no http, localhost or IP address; to allow it in tests, set \"allowInsecureReturnURLs\": "
                    + "true at service \"\(client.id)\" in the seed")
        case nil:
            let registered = client.returnURLs.isEmpty ? "none is registered" : client.returnURLs.joined(separator: " ")
            return Diagnosis(
                received: received,
                expected: "exactly one of: \(registered)\(RegisteredRedirectURI.noteOnAnyPort(in: client.returnURLs))",
                fault(of: uri, allowsInsecure: false) == .insecure
                    ? "register it at service \"\(client.id)\", which takes it for tests; Apple takes https and a domain name only"
                    : "register it at service \"\(client.id)\", or send it as it is registered")
        }
    }
}
