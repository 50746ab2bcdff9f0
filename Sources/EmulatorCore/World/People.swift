import JSON
import Worlds

extension Account: Row {
    package static let table = Table<Account>(
        "people", indexes: [byEmail, byPhoneNumber, byIdentifier], sortedBy: names)

    package var key: String { id }

    /// The number of people that a world may have; a seed may have more.
    package static let limit = 100_000

    package static let byEmail = Index<Account, String>("email") { $0.email.lowercased() }
    package static let byPhoneNumber = Index<Account, String>("phoneNumber") { $0.phoneNumber }
    /// The accounts by a provider's identifier for the person, and by the person's groups: see
    /// `AccountProfile.identifiers`.
    package static let byIdentifier = Index<Account, String>("identifier", each: { $0.identifiers })
    /// The accounts by each text with which a search for them may begin.
    package static let names = SortedIndex<Account>("names") { account in
        Set(account.searchNames.map { $0.lowercased() }).map { "\($0)\u{0}\(account.id)" }
    }

    /// Returns the first text under which a search for `prefix` finds the account.
    fileprivate static func firstName(of account: Account, beginningWith prefix: String) -> String? {
        names.texts(account).filter { $0.hasPrefix(prefix) }.min()
    }
}

extension TableReading where Self: ~Copyable {
    package func account(_ id: String) -> Account? { find(Account.self, id) }

    /// Returns the path in `written`, from which `account` was made, of an identifier that another person has, and that
    /// person. Identifiers that `earlier` had already are ignored, and so are those that follow from the rest by
    /// default.
    package func takenIdentifier(
        of account: Account, written: JSONValue, before earlier: Account? = nil
    ) -> (path: String, owner: String)? {
        let known = Set(earlier?.uniqueIdentifiers.map(\.identifier) ?? [])
        for unique in account.uniqueIdentifiers where !known.contains(unique.identifier) {
            guard let value = written[unique.profile]?[unique.member], !value.isNull else { continue }
            let owners = rows(Account.byIdentifier, unique.identifier, limit: 2)
            guard let owner = owners.first(where: { $0.id != account.id }) else { continue }
            return (path: "$.\(unique.profile).\(unique.member)", owner: owner.id)
        }
        return nil
    }

    /// Returns the person who signs in where no page asks: the outcome's account, the interaction's, or the first.
    package func personSigningIn(_ interaction: Interaction, _ outcome: Outcome?) -> Account? {
        (outcome?.account ?? interaction.account).map { account($0) } ?? first(Account.self)
    }
}

extension World {
    /// Changes rows that belong to a person, such as grants, codes and sessions. Returns `nil` when the person is gone.
    /// A person who was looked up before is looked up again here, so that nothing is left to somebody who gets the ID
    /// later.
    package func update<Outcome: Sendable>(
        for person: String, _ body: (inout Transaction) -> Outcome
    ) throws(StoreFailure) -> Outcome? {
        try update { tables in tables.account(person) == nil ? nil : body(&tables) }
    }
}

extension Exchange {
    /// Returns "no account …", with a guess which one was meant.
    package func noAccount(_ id: String) -> String {
        // Words are compared one by one, so only with a number that is quick.
        let known = world.read { $0.rows(Account.self, limit: 1_000).map(\.id) }
        return "no account \(Diagnosis.quote(id))" + Spelling.hint(id, among: known)
    }
}

extension Transaction {
    package var outcomes: OutcomeQueue {
        get { self[OutcomeQueue.self] }
        _modify { yield &self[OutcomeQueue.self] }
    }

    package var faults: FaultQueue {
        get { self[FaultQueue.self] }
        _modify { yield &self[FaultQueue.self] }
    }
}

/// A page of a list of people.
package struct PeoplePage: Sendable {
    package let people: [Account]
    /// The last one's ID, which is the `after` of the next page; `nil` on the last page.
    package let next: String?
}

extension TableReading where Self: ~Copyable {
    /// Returns at most `limit` people: those whose name, address, or a word of whose name begins with `search`, in any
    /// case; or without a search all, in the order in which they came.
    package func people(search: String = "", after: String? = nil, limit: Int) -> PeoplePage {
        guard !search.isEmpty else {
            let found = rows(Account.self, after: after, limit: limit + 1)
            return PeoplePage(
                people: Array(found.prefix(limit)), next: found.count > limit ? found[limit - 1].id : nil)
        }
        let prefix = search.lowercased()
        var found: [Account] = []
        var place = after.flatMap { account($0) }.flatMap { Account.firstName(of: $0, beginningWith: prefix) }
        repeat {
            let entries = rows(Account.names, prefix: prefix, after: place, limit: 2 * limit)
            // A person whom several words match is listed at the first of them.
            found += entries.filter { Account.firstName(of: $0.row, beginningWith: prefix) == $0.text }.map(\.row)
            place = entries.last?.text
        } while place != nil && found.count <= limit
        return PeoplePage(
            people: Array(found.prefix(limit)), next: found.count > limit ? found[limit - 1].id : nil)
    }
}
