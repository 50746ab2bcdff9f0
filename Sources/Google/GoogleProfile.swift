import EmulatorCore
import JSON

/// A person at Google.
struct GoogleProfile: AccountProfile {
    static let name = "google"
    static let about = "The person at Google."

    let sub: String
    let hostedDomain: String?

    init(_ fields: inout Fields, of account: Account) {
        sub =
            fields.optional("sub", .text(.identifier), "Google's user ID; made from the id by default.")
            ?? "1\(DerivedNumber.digits(of: "google:\(account.id)", width: 20))"
        hostedDomain = fields.nullable(
            "hostedDomain", .text(.nonEmpty), "The Google Workspace domain, `hd` in ID tokens.")
    }

    /// The address of the picture. Nothing is served there.
    var picture: String { "https://lh3.googleusercontent.com/a/\(sub)=s96-c" }

    var uniqueIdentifiers: [(member: String, identifier: String)] { [(member: "sub", identifier: "google.sub:\(sub)")] }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "sub", what: "person")
    }
}

extension Account {
    var google: GoogleProfile { self[GoogleProfile.self] }
}
