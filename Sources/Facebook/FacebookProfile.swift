import EmulatorCore
import JSON

/// A person at Facebook.
struct FacebookProfile: AccountProfile {
    static let name = "facebook"
    static let about = "The person at Facebook."

    let id: String

    init(_ fields: inout Fields, of account: Account) {
        id =
            fields.optional("id", .text(.identifier), "Facebook's user ID; made from the id by default.")
            ?? "1015\(DerivedNumber.digits(of: "facebook:\(account.id)", width: 13))"
    }

    var uniqueIdentifiers: [(member: String, identifier: String)] { [(member: "id", identifier: "facebook.id:\(id)")] }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "id", what: "person")
    }
}

extension Account {
    var facebook: FacebookProfile { self[FacebookProfile.self] }
}
