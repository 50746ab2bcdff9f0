import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// The seed's section `apple`.
package struct AppleSection: SeedSection {
    package static let name = "apple"
    package static let about = "Sign in with Apple."

    enum Issuer: String, CaseIterable, Sendable {
        case provider
        case request
    }

    enum BooleanClaims: String, CaseIterable, Sendable {
        case boolean
        case string
    }

    /// The teams with their clients and keys.
    package let teams: [Team]
    let issuer: Issuer
    let booleanClaims: BooleanClaims
    let accountDeletedEvent: String
    let crossSiteFormPost: Bool
    let accountMails: Bool
    let codeLifetime: TimeSpan
    let idTokenLifetime: TimeSpan
    /// The value of `expires_in`.
    let accessTokenLifetime = TimeSpan.hours(1)
    private let keyRotation: TimeSpan?
    private let signingKeys: [SigningKey]

    package init(_ fields: inout Fields) {
        issuer = fields(
            "issuer", .choice(Issuer.self), default: .provider,
            "\"provider\": https://appleid.apple.com; \"request\": the address that the request used.")
        booleanClaims = fields(
            "booleanClaims", .choice(BooleanClaims.self), default: .boolean,
            "How email_verified and is_private_email are written; Apple sends both forms.")
        accountDeletedEvent = fields(
            "accountDeletedEvent", .choice(["account-deleted", "account-delete"]), default: "account-deleted",
            "The event's name, a choice: as Apple's page has it, or as receivers report it.")
        crossSiteFormPost = fields(
            "crossSiteFormPost", .boolean, default: true,
            "Move the browser to appleid.apple.com.localhost before a form post to the daemon's own site.")
        accountMails = fields(
            "accountMails", .boolean, default: false,
            "Write to people when they use an app for the first time. The mails lie in the inbox, where a test that waits for the app's own would find them first."
        )
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(5), "How long an authorization code lasts.")
        idTokenLifetime = fields("idTokenLifetime", .duration, default: .hours(24), "How long an ID token lasts.")
        keyRotation = fields.nullable(
            "keyRotation", .duration,
            "How often the next published key takes over signing; never by default.")
        signingKeys = fields.signingKeys(.appleSigningKeyID)
        teams = fields.list("teams", of: Team.self, key: "id", "Developer teams.")
    }

    package var issuerFollowsRequest: Bool { issuer == .request }

    package var keys: [SeededKeys] { [SeededKeys(.apple, keys: signingKeys, rotation: keyRotation)] }

    package var seededClients: [SeededClient] {
        teams.flatMap { team in
            team.apps.map {
                SeededClient(id: $0.bundleID, kind: "App ID of team \(team.id)", addresses: "native")
            }
                + team.services.map { service in
                    SeededClient(
                        id: service.id, kind: "Services ID of team \(team.id)",
                        addresses: service.returnURLs.joined(separator: " "))
                }
        }
    }
}

extension KeyOwner {
    static let apple = KeyOwner("apple")
}

extension AppleSection {
    /// A developer team.
    package struct Team: SchemaObject {
        package let id: String
        package let keys: [Key]
        package let apps: [App]
        package let services: [Service]
        let relay: Relay
        let notificationsURL: String?

        package init(_ fields: inout Fields) {
            id = fields("id", .text(.appleIdentifier), "The Team ID.")
            keys = fields.list("keys", of: Key.self, key: "id", "Keys that sign client secrets.")
            apps = fields.list("apps", of: App.self, key: "bundleID", "App IDs.")
            services = fields.list("services", of: Service.self, key: "id", "Services IDs.")
            relay = fields.object("relay", Relay.self, "Private e-mail relay.")
            notificationsURL = fields.nullable(
                "notificationsURL", .text(.url), "Where server-to-server notifications are posted.")
        }
    }

    /// A key that signs client secrets.
    package struct Key: SchemaObject {
        package let id: String
        /// The PEM; `nil` if only the private half is given, from which it follows.
        private let publicKey: String?
        /// The PEM; `nil` if the seed can only check secrets, not sign them.
        let privateKey: String?

        package init(_ fields: inout Fields) {
            id = fields("id", .text(.appleIdentifier), "The key ID.")
            publicKey = fields.publicKey()
            privateKey = fields.privateKey(
                "The private half, a P-256 PKCS#8 PEM file, relative to this file: then `understudy client-secret` can sign, and the public half needn't be given."
            )
        }

        /// Returns the key that secrets are checked with, from the seed's keys by their PEM text.
        func verifying(_ known: [String: JOSE.Key]) -> JOSE.Key? { (publicKey ?? privateKey).flatMap { known[$0] } }
    }

    package struct App: SchemaObject {
        package let bundleID: String
        let primaryApp: String?
        let transfer: Transfer?
        let interaction: Interaction?

        package init(_ fields: inout Fields) {
            bundleID = fields("bundleID", .text(.identifier), "The App ID.")
            primaryApp = fields.nullable(
                "primaryApp", .text(.identifier), "The app that leads this one's group; itself by default.")
            transfer = fields.nullable(
                "transfer", .object(Transfer.self), "Set when the app came from another team.")
            interaction = fields.clientInteraction()
        }
    }

    /// The origin of an app that came from another team. For sixty days, ID tokens contain the person's transfer
    /// identifier.
    /// <https://developer.apple.com/documentation/technotes/tn3159-migrating-sign-in-with-apple-users-for-an-app-transfer>
    struct Transfer: SchemaObject {
        static let period = TimeSpan.days(60)

        let fromTeam: String
        let at: Instant

        init(_ fields: inout Fields) {
            fromTeam = fields("fromTeam", .text(.appleIdentifier), "The team that had the app before.")
            at = fields("at", .timestamp, "When the app changed hands.")
        }
    }

    package struct Service: SchemaObject {
        package let id: String
        let primaryApp: String
        let returnURLs: [String]
        let allowInsecureReturnURLs: Bool
        let interaction: Interaction?

        package init(_ fields: inout Fields) {
            id = fields("id", .text(.identifier), "The Services ID: a web client's client_id.")
            primaryApp = fields("primaryApp", .text(.identifier), "The App ID that it is grouped with.")
            returnURLs = fields(
                "returnURLs", .set(of: .text(RegisteredRedirectURI.webRule)), default: [], "Registered return URLs.")
            allowInsecureReturnURLs = fields(
                "allowInsecureReturnURLs", .boolean, default: false,
                "Accept return URLs with http, localhost or an IP address, which Apple refuses.")
            interaction = fields.clientInteraction()
        }
    }

    /// The senders that may write to relay addresses.
    struct Relay: SchemaObject {
        let senders: [String]
        let domains: [String]

        init(_ fields: inout Fields) {
            senders = fields(
                "senders", .set(of: .text(.email)), default: [], "Addresses that may write to relay addresses.")
            domains = fields("domains", .set(of: .text(.mailDomain)), default: [], "Domains that may.")
        }
    }
}

extension AppleSection {
    package static func check(_ references: inout SeedReferences) {
        let teams = references.root[name]?["teams"]?.items ?? []
        let teamIDs = KnownNames(references.root[name]?["teams"], "id")
        var clients: [String: LocatedJSON] = [:]
        for team in teams {
            let place = " in team \"\(team["id"]?.string ?? "")\""
            let apps = KnownNames(team["apps"], "bundleID")
            for key in team["keys"]?.items ?? [] { references.expectPair(key) }
            for app in team["apps"]?.items ?? [] {
                references.expect(app["primaryApp"], among: apps, "app", in: place)
                references.expect(app["transfer"]?["fromTeam"], among: teamIDs, "team", in: " in apple.teams")
                references.checkInteraction(app["interaction"])
                references.claim(app["bundleID"], as: "client_id", in: &clients)
            }
            for service in team["services"]?.items ?? [] {
                references.expect(service["primaryApp"], among: apps, "app", in: place)
                references.checkInteraction(service["interaction"])
                references.claim(service["id"], as: "client_id", in: &clients)
            }
        }
    }
}

extension TextRule {
    static let appleIdentifier = TextRule.upperCase(
        10, about: "ten upper-case letters and digits, as Apple's Team IDs and key IDs are")
    static let appleSigningKeyID = TextRule.alphanumeric(
        10, about: "ten letters and digits, as Apple's signing keys are named")
}
