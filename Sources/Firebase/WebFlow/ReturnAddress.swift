import JSON
import HTTPServer
import OAuth
import EmulatorCore

// The address to which a sign-in returns. Whoever gets the answer can finish the sign-in, so every part of the address
// is checked.
//
// The handler asks production whether an app belongs to the project: the messages are those of its `INVALID_APP_ID`,
// `INVALID_OAUTH_CLIENT_ID` and `UNAUTHORIZED_DOMAIN`, as the web SDK has them (`auth/invalid-app-id` …). That it shows
// them on its own page with status 400 isn't documented.

/// The reason why a sign-in may not return to the address in the request.
struct ReturnAddressFailure: Error {
    let message: String
    let diagnosis: Diagnosis

    static func app(_ received: String, _ reason: String) -> ReturnAddressFailure {
        ReturnAddressFailure(
            message: "The mobile app identifier is not registered for the current project.",
            diagnosis: Diagnosis(received: received, reason))
    }

    static func client(_ received: String, _ reason: String) -> ReturnAddressFailure {
        ReturnAddressFailure(
            message: "The OAuth client ID provided is either invalid or does not match the specified API key.",
            diagnosis: Diagnosis(received: received, reason))
    }
}

extension WebFlow.Destination {
    private static let longestIdentifier = 256

    /// Reads the address in the request: `clientId` (turned around), `appId`, or else `ibi`, as the app's URL scheme;
    /// without any of them `redirectUrl`.
    init(_ form: Form, _ project: Project) throws(ReturnAddressFailure) {
        func value(_ name: String) -> String? { form[name].flatMap { $0.isEmpty ? nil : $0 } }
        let (bundleID, clientID) = (value("ibi"), value("clientId"))
        guard bundleID != nil || clientID != nil else {
            self = .page(redirectURL: try WebFlow.Destination.page(value("redirectUrl"), project))
            return
        }
        try WebFlow.Destination.check(bundleID: bundleID, project)
        if let clientID {
            guard clientID.hasSuffix(IdentitySources.appClientSuffix), WebFlow.Destination.isIdentifier(clientID)
            else {
                throw .client(
                    "clientId \(Diagnosis.quote(clientID))",
                    "an iOS client's ID has letters, digits, \"-\" and \".\" before \(IdentitySources.appClientSuffix)"
                )
            }
            self = .app(scheme: clientID.split(separator: ".").reversed().joined(separator: "."))
        } else if let appID = value("appId") {
            let scheme = "app-" + appID.replacing(":", with: "-")
            guard WebFlow.Destination.isIdentifier(scheme) else {
                throw .app(
                    "appId \(Diagnosis.quote(appID))",
                    "a Firebase app's ID has letters, digits and \":\" only, such as 1:123:ios:abc")
            }
            self = .app(scheme: scheme)
        } else {
            self = .app(scheme: bundleID ?? "")
        }
    }

    private static func check(bundleID: String?, _ project: Project) throws(ReturnAddressFailure) {
        let (registered, source) = project.providers.bundleIDs
        guard let bundleID else {
            guard registered.isEmpty else { throw .app("no ibi", "ibi must be the app's bundle ID") }
            return
        }
        // The dot rules out schemes that a browser knows, such as javascript and https.
        guard isIdentifier(bundleID), bundleID.contains(".") else {
            throw .app(
                "ibi \(Diagnosis.quote(bundleID))",
                "a bundle ID has letters, digits, \"-\" and \".\" only, such as com.example.app")
        }
        guard registered.isEmpty || registered.contains(bundleID) else {
            throw .app(
                "ibi \(Diagnosis.quote(bundleID))",
                "the project's bundleIDs are \(registered.prefix(5).joined(separator: ", "))"
                    + "\(Spelling.hint(bundleID, among: registered)): add it to \(source) in the seed")
        }
    }

    private static func isIdentifier(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count <= longestIdentifier, let first = bytes.first, isLetterOrDigit(first) else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x2E }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func page(_ redirectURL: String?, _ project: Project) throws(ReturnAddressFailure) -> String? {
        guard let redirectURL else { return nil }
        // The SDKs take subdomains of an authorized domain, too (firebase-js-sdk: packages/auth, validate_origin).
        do { _ = try project.checkedReturnURL(redirectURL, named: "redirectUrl", takesSubdomains: true) } catch {
            throw ReturnAddressFailure(
                message: "This domain is not authorized for OAuth operations for your Firebase project.",
                diagnosis: error.diagnosis)
        }
        return redirectURL
    }
}

extension Project {
    /// The domains to which people may be redirected.
    var returnDomains: [String] {
        domains ?? authorizedDomains
            + ["\(id).firebaseapp.com", "\(id).web.app"].filter { !authorizedDomains.contains($0) }
    }

    /// Returns `text` as the address of one of the project's web pages.
    ///
    /// - Throws: `INVALID_CONTINUE_URI` when it isn't an http or https URL, `UNAUTHORIZED_DOMAIN` when the project doesn't have
    ///   its domain.
    func checkedReturnURL(
        _ text: String, named name: String = "continueUrl", takesSubdomains: Bool = false
    ) throws(FirebaseError) -> WebAddress {
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme) else {
            throw FirebaseError("INVALID_CONTINUE_URI", because: "\(name) isn't an absolute URL")
        }
        let isKnown = returnDomains.contains { domain in
            address.host == domain || takesSubdomains && address.host.hasSuffix(".\(domain)")
        }
        guard address.isLoopback || isKnown else {
            throw FirebaseError(
                "UNAUTHORIZED_DOMAIN", "Domain not allowlisted by project",
                because: "\(name): add \(Diagnosis.quote(address.host)) to authorizedDomains of the project in the seed"
            )
        }
        return address
    }
}
