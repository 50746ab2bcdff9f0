import EmulatorCore
import JSON

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
            "How the person signs in at Google, `amr` in ID tokens of clients that ask for it.")
    }

    /// The address of the picture, which isn't served.
    var picture: String { "https://lh3.googleusercontent.com/a/\(sub)=s96-c" }

    var uniqueIdentifiers: [(member: String, identifier: String)] { [(member: "sub", identifier: "google.sub:\(sub)")] }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "sub", what: "person")
    }
}

extension Account {
    var google: GoogleProfile { self[GoogleProfile.self] }
}
