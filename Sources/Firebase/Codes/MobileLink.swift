import EmulatorCore
import HTTPServer
import OAuth

// Links in e-mails that open an app: https://firebase.google.com/docs/auth/web/passing-state-in-email-actions
//
// Production wraps such a link as `https://DOMAIN/__/auth/links?link=…`, which the phone gives to the app. Recorded as
// `mobile-links` (https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json). The official emulator
// knows no such links. That a browser without the app is led on to the link isn't documented.

/// The settings of a request for a link that opens an app.
struct MobileLink {
    /// The domain of the wrapped link.
    private let domain: String
    /// Whether the app, rather than a page, applies the code.
    private let opensInApp: Bool
    private let hasApp: Bool

    /// Reads the settings of a request.
    ///
    /// - Throws: `INVALID_HOSTING_LINK_DOMAIN` if `linkDomain` isn't among the project's; `DYNAMIC_LINK_NOT_ACTIVATED` if
    ///   the project still asks for links of Firebase Dynamic Links.
    init(_ call: FirebaseCall) throws(FirebaseError) {
        opensInApp = try call.flag("canHandleCodeInApp") ?? false
        let apps = [try call.given("iOSBundleId"), try call.given("androidPackageName")]
        hasApp = apps.contains { $0 != nil }
        let wanted = try call.given("linkDomain")?.lowercased()
        domain = wanted ?? call.project.host
        guard wanted.map({ call.project.linkDomains.contains($0) }) ?? true else {
            throw FirebaseError(
                "INVALID_HOSTING_LINK_DOMAIN",
                "The provided hosting link domain is not configured in Firebase Hosting or is not owned by the current "
                    + "project. This cannot be a default hosting domain (web.app or firebaseapp.com).",
                because: "\(Diagnosis.quote(domain)) isn't among linkDomains of the project in the seed")
        }
        let kind = call.project.otherSettings["mobileLinksConfig"]?["domain"]?.string
        guard !hasApp || kind != "FIREBASE_DYNAMIC_LINK_DOMAIN" else {
            throw FirebaseError(
                "DYNAMIC_LINK_NOT_ACTIVATED", "FDL domain is not configured",
                because: "mobileLinksConfig.domain is FIREBASE_DYNAMIC_LINK_DOMAIN, and Dynamic Links have ended")
        }
    }

    /// Returns the continue URL of the link: one that opens the app where a page applies the code first.
    /// Production writes it into that link as it is.
    func continueURL(_ url: String) -> String { hasApp && !opensInApp ? "\(opening)?link=\(url)" : url }

    /// Returns the link as it is mailed.
    func link(_ link: String) -> String {
        guard hasApp, opensInApp else { return link }
        return "\(opening)?\(Form(fields: [Form.Field(name: "link", value: link)]).encoded)"
    }

    private var opening: String { "https://\(domain)\(FirebaseProvider.linkPath)" }
}

extension FirebaseProvider {
    static let linkPath = "/__/auth/links"

    func linkEndpoints(at hosts: [String]) -> [Endpoint] {
        [
            Endpoint(
                "GET", hosts, FirebaseProvider.linkPath, step: Step(.page, "open an e-mail's link for an app"), .page
            ) { try openLink($0) }
        ]
    }

    /// Leads a browser on to the link inside, where that is one of the project's own.
    private func openLink(_ exchange: Exchange) throws -> Response {
        do {
            let project = try project(id: client(of: exchange) ?? "", in: exchange)
            guard let link = exchange.request.queryForm["link"] else {
                throw FirebaseError("MISSING_LINK", because: "link is missing")
            }
            _ = try project.checkedReturnURL(link, named: "link")
            return .redirect(to: link)
        } catch let error as FirebaseError {
            return FirebaseProvider.problem(error.status, "This link doesn't work", error.diagnosis)
        }
    }
}
