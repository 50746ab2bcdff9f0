import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// The section `apple` of the seed (the test data).
package struct AppleSection: SeedSection {
    package static let name = "apple"
    package static let about = "Sign in with Apple."

    enum BooleanClaims: String, CaseIterable, Sendable {
        case boolean
        case string
    }

    package let teams: [Team]
    let issuer: IssuerChoice
    let booleanClaims: BooleanClaims
    let accountDeletedEvent: String
    let crossSiteFormPost: Bool
    let accountMails: Bool
    let codeLifetime: TimeSpan
    let idTokenLifetime: TimeSpan
    /// The lifetime of access tokens, which is `expires_in` in the response of Apple's token endpoint.
    let accessTokenLifetime = TimeSpan.hours(1)
    private let keyRotation: TimeSpan?
    private let signingKeys: [SigningKey]

    package init(_ fields: inout Fields) {
        issuer = IssuerChoice(&fields, own: "https://appleid.apple.com")
        booleanClaims = fields(
            "booleanClaims", .choice(BooleanClaims.self), default: .boolean,
            "The form of email_verified and is_private_email; Apple sends both forms.")
        accountDeletedEvent = fields(
            "accountDeletedEvent", .choice(["account-deleted", "account-delete"]), default: "account-deleted",
            "The name of the event about a deleted account: the one on Apple's page, or the one that receivers report.")
        crossSiteFormPost = fields(
            "crossSiteFormPost", .boolean, default: true,
            "Move the browser to appleid.apple.com.localhost before a form post to the daemon's own site.")
        accountMails = fields(
            "accountMails", .boolean, default: false,
            "Write to people when they use an app for the first time. The mails lie in the inbox, where a test that waits for the app's own would find them first."
        )
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(5), "The lifetime of an authorization code.")
        idTokenLifetime = fields("idTokenLifetime", .duration, default: .hours(24), "The lifetime of an ID token.")
        keyRotation = fields.nullable(
            "keyRotation", .duration,
            "The time after which the next published key signs; by default the key doesn't change.")
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
    /// An Apple developer team.
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
                "notificationsURL", .text(.url), "The URL to which server-to-server notifications are posted.")
        }
    }

    /// A key of an Apple developer team, which signs client secrets.
    package struct Key: SchemaObject {
        package let id: String
        /// The public half of the key in PEM; `nil` if the seed has only the private half, from which the public half
        /// follows.
        private let publicKey: String?
        /// The private half of the key in PEM; `nil` if the seed has only the public half, with which client secrets
        /// can be checked but not signed.
        let privateKey: String?

        package init(_ fields: inout Fields) {
            id = fields("id", .text(.appleIdentifier), "The key ID.")
            publicKey = fields.publicKey()
            privateKey = fields.privateKey(
                "The private half, a P-256 PKCS#8 PEM file, relative to this file: then `understudy client-secret` can sign, and the public half needn't be given."
            )
        }

        /// Returns the key with which Apple client secrets are checked. `known` maps the PEM text of each key in the
        /// seed to the parsed key.
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
                "primaryApp", .text(.identifier), "The primary App ID of the app's group; the app itself by default.")
            transfer = fields.nullable(
                "transfer", .object(Transfer.self), "Set when the app came from another team.")
            interaction = fields.clientInteraction()
        }
    }

    /// The transfer of an app from a different Apple developer team. For sixty days after it, ID tokens contain the
    /// person's transfer identifier.
    /// <https://developer.apple.com/documentation/technotes/tn3159-migrating-sign-in-with-apple-users-for-an-app-transfer>
    struct Transfer: SchemaObject {
        static let period = TimeSpan.days(60)

        let fromTeam: String
        let at: Instant

        init(_ fields: inout Fields) {
            fromTeam = fields("fromTeam", .text(.appleIdentifier), "The team that had the app before.")
            at = fields("at", .timestamp, "The time at which the app was transferred.")
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
            primaryApp = fields(
                "primaryApp", .text(.identifier), "The primary App ID with which the Services ID is grouped.")
            returnURLs = fields(
                "returnURLs", .set(of: .text(RegisteredRedirectURI.webRule)), default: [], "Registered return URLs.")
            allowInsecureReturnURLs = fields(
                "allowInsecureReturnURLs", .boolean, default: false,
                "Accept return URLs with http, localhost or an IP address, which Apple refuses.")
            interaction = fields.clientInteraction()
        }
    }

    /// The senders that may write to the relay addresses of an Apple developer team, because the team has registered
    /// them.
    struct Relay: SchemaObject {
        let senders: [String]
        let domains: [String]

        init(_ fields: inout Fields) {
            senders = fields(
                "senders", .set(of: .text(.email)), default: [], "Addresses that may write to relay addresses.")
            domains = fields(
                "domains", .set(of: .text(.mailDomain)), default: [],
                "Domains whose addresses may write to relay addresses.")
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

/// A person's settings at Apple. The person's identifiers aren't among them, because they are different at each
/// developer team.
struct AppleProfile: AccountProfile {
    static let name = "apple"
    static let about = "The person at Apple."

    /// The person's `ASUserDetectionStatus`, which says whether Apple believes that the person is real:
    /// <https://developer.apple.com/documentation/authenticationservices/asuserdetectionstatus>
    enum RealUserStatus: String, Codable, CaseIterable, Sendable {
        case unsupported
        case unknown
        case likelyReal

        var rawNumber: Int64 {
            switch self {
            case .unsupported: 0
            case .unknown: 1
            case .likelyReal: 2
            }
        }
    }

    let shareEmail: Bool
    let realUserStatus: RealUserStatus

    init(_ fields: inout Fields, of account: Account) {
        shareEmail = fields(
            "shareEmail", .boolean, default: true, "Share the real address, or hide it behind a relay.")
        realUserStatus = fields(
            "realUserStatus", .choice(RealUserStatus.self), default: .likelyReal,
            "The `realUserStatus` that a device reports for a new user.")
    }
}

extension Account {
    var apple: AppleProfile { self[AppleProfile.self] }
}

/// The identifiers that Apple gives a person. They follow only from the person and the developer team, so a restart, a
/// reset or a revocation doesn't change them.
enum AppleIdentifiers {
    /// Returns a person's `sub` at an Apple developer team, such as `000000.<32 hex>.0000`.
    static func subject(account: String, team: String) -> String {
        compose(Digest.sha256("apple:sub:\(team):\(account)"))
    }

    /// Returns a person's transfer identifier (`transfer_sub`) during the transfer of an app from one Apple developer
    /// team to another.
    static func transferSubject(account: String, from: String, to: String) -> String {
        compose(Digest.sha256("apple:transfer:\(from):\(to):\(account)"))
    }

    /// The domain of Apple's private relay addresses, with the `@` before it.
    static let relayDomain = "@privaterelay.appleid.com"

    /// Returns a person's relay address at an Apple developer team: ten lower-case letters and digits before
    /// `relayDomain`.
    static func relayAddress(account: String, team: String) -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let digest = Digest.sha256("apple:relay:\(team):\(account)")
        let local = digest.prefix(10).map { alphabet[Int($0) % alphabet.count] }
        return String(decoding: local, as: UTF8.self) + relayDomain
    }

    /// Makes an identifier from a digest. Like Apple's own identifiers, it begins with a small number and ends with a
    /// time of day.
    private static func compose(_ digest: [UInt8]) -> String {
        let first = (Int(digest[16]) << 8 | Int(digest[17])) % 2000
        let hour = Int(digest[18]) % 24
        let minute = Int(digest[19]) % 60
        return "\(pad(first, 6)).\(Hex.encode(Array(digest.prefix(16)))).\(pad(hour, 2))\(pad(minute, 2))"
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// The codes and tokens in Apple's form, `c<32 hex>.0.<4 letters>.<22 base64url>`. The first letter is `c` in a code,
/// `a` in an access token and `r` in a refresh token. The hexadecimal digits are random, and the other letters and the
/// base64url text are a digest of them. Thus a text that this stand-in for Apple never issued can be recognized.
enum AppleToken {
    case code
    case access
    case refresh

    /// The length of an Apple code or token in bytes.
    private static let length = 63

    /// Returns a new code or token in Apple's form, made from 128 random bits.
    func make(from random: inout Randomness) -> String {
        String(decoding: text(Array(Hex.encode(random.bytes(16)).utf8)[...]), as: UTF8.self)
    }

    private var letter: UInt8 {
        switch self {
        case .code: UInt8(ascii: "c")
        case .access: UInt8(ascii: "a")
        case .refresh: UInt8(ascii: "r")
        }
    }

    private func text(_ hex: ArraySlice<UInt8>) -> [UInt8] {
        let digest = Digest.sha256(Array("apple:".utf8) + [letter, UInt8(ascii: ":")] + hex)
        var text: [UInt8] = []
        text.reserveCapacity(AppleToken.length)
        text.append(letter)
        text += hex
        text += ".0.".utf8
        for byte in digest[..<4] { text.append(UInt8(ascii: "a") + byte % 26) }
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(Array(digest[4..<20])).utf8
        return text
    }

    /// Returns whether a text has the form of a code or token of this kind, and ends with the digest of its beginning.
    /// Thus the codes and tokens that this stand-in for Apple issued are recognized.
    func fits(_ text: String) -> Bool {
        guard text.utf8.count == AppleToken.length else { return false }
        let bytes = Array(text.utf8)
        return bytes[0] == letter && constantTimeEquals(self.text(bytes[1..<33]), bytes)
    }

    /// Describes in words which kind of Apple code or token a text seems to be, for an error message.
    static func describe(_ text: String) -> String {
        if text.isEmpty { return "nothing" }
        if text.hasPrefix("eyJ") { return "a JSON Web Token" }
        if code.fits(text) { return "an authorization code" }
        if access.fits(text) { return "an access token" }
        if refresh.fits(text) { return "a refresh token" }
        return "a text that this Apple never issued"
    }
}
