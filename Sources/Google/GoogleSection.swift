import EmulatorCore
import JSON
import OAuth
import Time

/// The section `google` of the seed (the test data).
struct GoogleSection: SeedSection {
    static let name = "google"
    static let about = "Google."

    static let words = RegisteredClientWords(
        noun: "client", defaultSecret: "google-secret-for-tests", redirectURIs: "Authorized redirect URIs")

    let issuer: IssuerChoice
    private let signingKeys: [SigningKey]
    let codeLifetime: TimeSpan
    let deviceCodeLifetime: TimeSpan
    let securityEventsURL: String?
    let clients: RegisteredClients<GoogleClient>

    init(_ fields: inout Fields) {
        issuer = IssuerChoice(&fields, own: "https://accounts.google.com")
        signingKeys = fields.signingKeys()
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "The lifetime of an authorization code.")
        deviceCodeLifetime = fields(
            "deviceCodeLifetime", .duration, default: .minutes(30), "The lifetime of a device code.")
        securityEventsURL = fields.nullable(
            "securityEventsURL", .text(.url), "The URL to which security events of Cross-Account Protection are posted."
        )
        clients = RegisteredClients(&fields, GoogleSection.words, "OAuth clients.")
    }

    var issuerFollowsRequest: Bool { issuer == .request }

    var keys: [SeededKeys] { [SeededKeys(.google, keys: signingKeys)] }

    var seededClients: [SeededClient] { clients.seeded(at: GoogleProvider.title) }

    func secret(ofClient id: String) -> String? { clients[id]?.secret }

    static func check(_ references: inout SeedReferences) {
        for client in references.root[name]?["clients"]?.items ?? [] { GoogleClient.check(client, &references) }
    }
}

extension KeyOwner {
    static let google = KeyOwner("google")
}

/// An OAuth client of a Google project: <https://developers.google.com/identity/protocols/oauth2#scenarios>.
struct GoogleClient: SeededOAuthClient {
    enum Kind: String, CaseIterable, Sendable {
        case web
        case desktop
        case ios
        case android
        case device

        /// The name of the client type in Google's errors. `WEB` and `NATIVE_DEVICE` occur in public reports; the names
        /// of the other types aren't documented.
        var nameInErrors: String { self == .web ? "WEB" : "NATIVE_\(rawValue.uppercased())" }

        /// Whether clients of this type are apps on a person's own device. Such apps get a refresh token with every
        /// sign-in (<https://developers.google.com/identity/protocols/oauth2/native-app#exchange-authorization-code>).
        var isInstalled: Bool { self != .web }

        /// Whether clients of this type have a secret. Phone apps have none:
        /// <https://developers.google.com/identity/protocols/oauth2/native-app#exchange-authorization-code>.
        var hasSecret: Bool { self != .ios && self != .android }
    }

    /// The publishing status of an app at Google. Google's console has one status for the whole project:
    /// <https://support.google.com/cloud/answer/15549945>.
    enum PublishingStatus: String, CaseIterable, Sendable {
        case production
        case testing
    }

    /// The claims about a person's session at Google that a client may request:
    /// <https://developers.google.com/identity/siwg/security-bundle>.
    static let sessionClaims = ["auth_time", "amr"]

    let id: String
    let type: Kind
    /// The client secret; `nil` for client types that have none.
    let secret: String?
    let name: String
    let redirectURIs: [String]
    /// The origins of the pages that may use Google's script for this client.
    let javaScriptOrigins: [String]
    /// The schemes of the client's redirect URIs, in lower case.
    let schemes: [String]
    let publishingStatus: PublishingStatus
    /// The IDs of the accounts from which an app in testing may request more scopes than those of sign-in.
    let testUsers: Set<String>
    /// The Google Workspace domain of an internal app. Only people of that domain may use the app.
    let organization: String?
    let sessionClaims: Set<String>
    let interaction: Interaction?

    init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        id = fields("clientID", .text(.nonEmpty), "The client ID.")
        type = fields(
            "type", .choice(Kind.self), default: .web,
            "The application type, which decides how the client signs in and whether it has a secret.")
        let written = fields.nullable(
            "clientSecret", .text(.nonEmpty),
            "The client secret, `\(words.defaultSecret)` by default. Clients of type `ios` and `android` have none.")
        secret = type.hasSecret ? written ?? words.defaultSecret : nil
        name = fields("name", .text(.nonEmpty), default: "Example", "The client's name on the consent page.")
        redirectURIs = fields(
            "redirectURIs", .set(of: .text(RegisteredRedirectURI.rule)), default: [],
            "\(words.redirectURIs) of a `web` client. Others need none: `desktop` redirects to any port and path of the "
                + "loopback address, `ios` to its reversed client ID as a scheme.")
        javaScriptOrigins = fields(
            "javaScriptOrigins", .set(of: .text(JavaScriptOrigin.rule)), default: [],
            "Authorized JavaScript origins of a `web` client: pages elsewhere can't use Google's script for it.")
        let appID = fields.nullable(
            "appID", .text(.nonEmpty),
            "The app's bundle ID or package name: a scheme to which it may redirect, beside its reversed client ID.")
        let takesSchemes = fields(
            "customURIScheme", .boolean, default: false,
            "Whether an `android` client may redirect to a scheme: Google's console has that off.")
        publishingStatus = fields(
            "publishingStatus", .choice(PublishingStatus.self), default: .production,
            "While it is `testing`, only test users may grant more scopes than those of sign-in, and for seven days.")
        testUsers = Set(
            fields(
                "testUsers", .set(of: .text(.nonEmpty)), default: [],
                "The test users of a client whose publishing status is `testing`: IDs of accounts."))
        organization = fields.nullable(
            "organization", .text(.nonEmpty),
            "The Google Workspace domain whose people alone may sign in: user type Internal.")
        sessionClaims = Set(
            fields(
                "sessionClaims", .set(of: .choice(GoogleClient.sessionClaims)), default: [],
                "The claims that the client may request with `claims`: Session age claims and Authentication strength claims, "
                    + "which are off in Google's console, too."))
        interaction = fields.clientInteraction()
        let hasSchemes = type == .ios || type == .android && takesSchemes
        schemes = hasSchemes ? ([GoogleClient.reversed(id)] + (appID.map { [$0] } ?? [])).map { $0.lowercased() } : []
    }

    /// The number of the client's Google project, with which the client ID begins:
    /// <https://firebase.google.com/docs/projects/learn-more#config-files-objects>. It is `nil` for client IDs without
    /// a number, such as those in examples.
    var projectNumber: Substring? {
        guard let number = id.split(separator: "-", maxSplits: 1).first, number.utf8.count < id.utf8.count,
            number.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return number
    }

    /// Returns the reversed client ID, which iOS apps use as a URL scheme: `com.googleusercontent.apps.ID` for
    /// `ID.apps.googleusercontent.com`.
    static func reversed(_ id: String) -> String { id.split(separator: ".").reversed().joined(separator: ".") }

    func accepts(_ uri: String) -> Bool {
        switch type {
        case .web: redirectURIs.contains { RegisteredRedirectURI($0).matches(uri) }
        case .desktop: WebAddress(uri).map { $0.scheme == "http" && $0.isLoopback && !$0.hasFragment } ?? false
        case .ios, .android: schemes.contains(GoogleClient.scheme(of: uri)) && !uri.utf8.contains(UInt8(ascii: "#"))
        case .device: false
        }
    }

    /// Returns the scheme of a URI in lower case; empty if the URI has none.
    static func scheme(of uri: String) -> String {
        guard let colon = uri.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let scheme = uri[..<colon].lowercased()
        let isScheme =
            (scheme.utf8.first.map { (0x61...0x7A).contains($0) } ?? false)
            && scheme.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
            }
        return isScheme ? scheme : ""
    }

    /// Checks a seed's Google client by the rules that a JSON schema can't express.
    static func check(_ json: LocatedJSON, _ references: inout SeedReferences) {
        references.checkInteraction(json["interaction"])
        for user in json["testUsers"]?.items ?? [] { references.expectAccount(user) }
        let type = json["type"]?.string.flatMap { Kind(rawValue: $0) } ?? .web
        if !type.hasSecret, let secret = json["clientSecret"], secret.string != nil {
            references.add(secret, "a client of type \(type.rawValue) has no secret: leave it out")
        }
        let client = ComposedRule { GoogleClient(&$0, GoogleSection.words) }.value(reading: json.value)
        if type != .web, let origins = json["javaScriptOrigins"], !origins.items.isEmpty {
            references.add(origins, "a client of type \(type.rawValue) has no JavaScript origins: leave them out")
        }
        for uri in json["redirectURIs"]?.items ?? [] {
            guard let text = uri.string else { continue }
            if type == .web ? !["http", "https"].contains(scheme(of: text)) : !client.accepts(text) {
                references.add(uri, "a client of type \(type.rawValue) can't redirect there: \(rule(of: client))")
            }
        }
    }

    private static func rule(of client: GoogleClient) -> String {
        switch client.type {
        case .web: "expected an absolute URL that begins with http:// or https://"
        case .desktop: "expected http://127.0.0.1:PORT, http://[::1]:PORT or http://localhost:PORT, with any path"
        case .device: "expected none"
        case .android where client.schemes.isEmpty: "expected none, unless \"customURIScheme\" is true"
        case .ios, .android:
            "expected \(client.schemes.map { "\"\($0):/path\"" }.joined(separator: " or "))"
        }
    }
}

/// A person's profile at Google.
struct GoogleProfile: AccountProfile {
    static let name = "google"
    static let about = "The person at Google."

    let sub: String
    let hostedDomain: String?
    /// The ways in which the person signs in at Google: <https://developers.google.com/identity/siwg/security-bundle>.
    let authenticationMethods: [String]

    init(_ fields: inout Fields, of account: Account) {
        sub =
            fields.optional("sub", .text(.identifier), "Google's user ID; made from the id by default.")
            ?? "1\(DerivedNumber.digits(of: "google:\(account.id)", width: 20))"
        hostedDomain = fields.nullable(
            "hostedDomain", .text(.nonEmpty), "The Google Workspace domain, `hd` in ID tokens.")
        authenticationMethods = fields(
            "authenticationMethods", .set(of: .choice(["pwd", "mfa", "hwk"])), default: ["pwd"],
            "The ways in which the person signs in at Google: `amr` in ID tokens of clients that ask for it.")
    }

    /// Whether the person's account belongs to the Google Workspace domain `domain`. If `orAny` is true, the domain `*`
    /// means any Workspace domain.
    func isAt(_ domain: String, orAny: Bool = true) -> Bool {
        hostedDomain.map { orAny && domain == "*" || $0.equalsIgnoringASCIICase(domain) } ?? false
    }

    /// The URL of the person's picture in Google's claims. Nothing is served at that URL.
    var picture: String { "https://lh3.googleusercontent.com/a/\(sub)=s96-c" }

    var uniqueIdentifiers: [(member: String, identifier: String)] { [(member: "sub", identifier: "google.sub:\(sub)")] }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "sub", what: "person")
    }
}

extension Account {
    var google: GoogleProfile { self[GoogleProfile.self] }
}
