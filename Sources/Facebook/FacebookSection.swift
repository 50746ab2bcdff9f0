import EmulatorCore
import JSON
import OAuth

/// A Facebook app in the seed.
struct FacebookApp: SeededOAuthClient {
    /// The mode of a Facebook app, which decides who can sign in:
    /// <https://developers.facebook.com/docs/development/build-and-test/app-modes>.
    enum Mode: String, CaseIterable, Sendable {
        case live
        /// Only accounts with a role in the app can sign in.
        case development
    }

    private let client: RegisteredClient
    /// The origins of the pages that may use Facebook's SDK for JavaScript with this app.
    let javaScriptOrigins: [String]
    let mode: Mode
    /// The IDs of the accounts that have a role in the app. Their access tokens may inspect the app's tokens with
    /// debug_token.
    let developers: Set<String>
    let requiresAppSecret: Bool
    let deauthorizeURL: String?
    let dataDeletionURL: String?

    var id: String { client.id }
    var secret: String { client.secret }
    var name: String { client.name }
    var redirectURIs: [String] { client.redirectURIs }

    func admits(_ account: Account) -> Bool { mode == .live || developers.contains(account.id) }

    func reason(againstAdmitting account: Account) -> Diagnosis {
        Diagnosis(
            received: "the account \(Diagnosis.quote(account.id))",
            expected: developers.isEmpty ? nil : Diagnosis.alternatives(developers.sorted()),
            "the app is in development mode: add the account to its \"developers\" in the seed, or set its mode to live"
        )
    }

    var interaction: Interaction? { client.interaction }

    init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        client = RegisteredClient(&fields, words)
        javaScriptOrigins = fields(
            "javaScriptOrigins", .set(of: .text(JavaScriptOrigin.rule)), default: [],
            "Allowed Domains for the JavaScript SDK, as origins: pages elsewhere can't sign in by it. Without any, \"Login with the "
                + "JavaScript SDK\" is off.")
        mode = fields(
            "mode", .choice(Mode.self), default: .live,
            "The app mode. While it is in development, only its developers can sign in.")
        developers = Set(
            fields(
                "developers", .set(of: .text(.nonEmpty)), default: [],
                "Accounts with a role in the app: debug_token takes their access tokens, too, and they are shown which permissions there aren't."
            ))
        requiresAppSecret = fields(
            "requireAppSecret", .boolean, default: false,
            "\"Require App Secret\": the Graph API takes no access token without its appsecret_proof.")
        deauthorizeURL = fields.nullable(
            "deauthorizeURL", .text(.url), "The deauthorize callback: it is told when a person removes the app.")
        dataDeletionURL = fields.nullable(
            "dataDeletionURL", .text(.url),
            "The data deletion request callback: it is asked to delete the data of a person who removes the app.")
    }
}

/// The section `facebook` of a seed.
struct FacebookSection: SeedSection {
    static let name = "facebook"
    static let about = "Facebook."

    private static let words = RegisteredClientWords(
        noun: "app", defaultSecret: "facebook-secret-for-tests", redirectURIs: "Valid OAuth redirect URIs")

    private let signingKeys: [SigningKey]
    let apps: RegisteredClients<FacebookApp>

    init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        apps = RegisteredClients(&fields, FacebookSection.words, "Apps.")
    }

    var keys: [SeededKeys] { [SeededKeys(.facebook, keys: signingKeys)] }

    var seededClients: [SeededClient] { apps.seeded(at: FacebookProvider.title) }

    func secret(ofClient id: String) -> String? { apps[id]?.secret }

    static func check(_ references: inout SeedReferences) {
        for app in references.root[name]?["apps"]?.items ?? [] {
            references.checkInteraction(app["interaction"])
            for developer in app["developers"]?.items ?? [] { references.expectAccount(developer) }
        }
    }
}

extension KeyOwner {
    static let facebook = KeyOwner("facebook")
}

/// A person's Facebook profile in the seed.
struct FacebookProfile: AccountProfile {
    static let name = "facebook"
    static let about = "The person at Facebook."

    /// The age ranges that a Facebook profile can show.
    enum AgeRange: String, CaseIterable, Codable {
        case minor = "13-17"
        case young = "18-20"
        case adult = "21+"

        fileprivate var json: JSONValue {
            switch self {
            case .minor: ["min": 13, "max": 17]
            case .young: ["min": 18, "max": 20]
            case .adult: ["min": 21]
            }
        }
    }

    let id: String
    let birthday: String?
    let gender: String?
    let ageRange: AgeRange?
    let hometown: String?
    let location: String?
    /// The IDs of the accounts that are the person's friends at Facebook.
    let friends: [String]

    init(_ fields: inout Fields, of account: Account) {
        id =
            fields.optional("id", .text(.identifier), "Facebook's user ID; made from the id by default.")
            ?? "1015\(DerivedNumber.digits(of: "facebook:\(account.id)", width: 13))"
        birthday = fields.nullable("birthday", .text(.birthday), "Told with the permission user_birthday.")
        gender = fields.nullable("gender", .choice(["female", "male"]), "Told with the permission user_gender.")
        ageRange = fields.nullable("ageRange", .choice(AgeRange.self), "Told with the permission user_age_range.")
        hometown = fields.nullable("hometown", .text(.nonEmpty), "A place, told with the permission user_hometown.")
        location = fields.nullable("location", .text(.nonEmpty), "A place, told with the permission user_location.")
        friends = fields(
            "friends", .set(of: .text(.nonEmpty)), default: [],
            "Accounts. With the permission user_friends, an app is told those that have granted it the same permission."
        )
    }

    var uniqueIdentifiers: [(member: String, identifier: String)] { [(member: "id", identifier: "facebook.id:\(id)")] }

    static func check(_ references: inout SeedReferences) {
        let profiles = references.accounts.compactMap { $0[name] }
        references.checkUnique(profiles, key: "id", what: "person")
        for friend in profiles.flatMap({ $0["friends"]?.items ?? [] }) { references.expectAccount(friend) }
    }

    /// A member of a Facebook profile, such as `birthday`, and the permission that an app needs to read it, such as
    /// `user_birthday`. In an ID token, the claim with the member's value has the permission's name.
    struct Detail {
        let field: String
        let permission: String
        let value: JSONValue
    }

    var details: [Detail] {
        let all: [(String, String, JSONValue?)] = [
            ("age_range", "user_age_range", ageRange?.json),
            ("birthday", "user_birthday", birthday.map { .string($0) }),
            ("gender", "user_gender", gender.map { .string($0) }),
            ("hometown", "user_hometown", hometown.map(FacebookProfile.place)),
            ("link", "user_link", .string("https://www.facebook.com/app_scoped_user_id/\(id)/")),
            ("location", "user_location", location.map(FacebookProfile.place)),
        ]
        return all.compactMap { field, permission, value in
            value.map { Detail(field: field, permission: permission, value: $0) }
        }
    }

    /// Returns a place, such as a home town, in the Graph API's form: a Page with an ID and a name.
    private static func place(_ name: String) -> JSONValue {
        ["id": .string("1\(DerivedNumber.digits(of: "facebook.place:\(name)", width: 14))"), "name": .string(name)]
    }
}

extension TextRule {
    /// A date of birth as Facebook shows it. A person may hide the year, or everything except the year.
    fileprivate static let birthday = TextRule(
        about: "MM/DD/YYYY, MM/DD or YYYY", pattern: "^([0-9]{2}/[0-9]{2}(/[0-9]{4})?|[0-9]{4})$"
    ) { text in
        ["00/00/0000", "00/00", "0000"].contains(
            String(decoding: text.utf8.map { (0x30...0x39).contains($0) ? 0x30 : $0 }, as: UTF8.self))
    }
}

extension Account {
    var facebook: FacebookProfile { self[FacebookProfile.self] }
}
