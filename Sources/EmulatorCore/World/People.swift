import JSON

extension Account: Row {
    package static let table = Table<Account>(
        "people", indexes: [byEmail, byPhoneNumber, byIdentifier], sortedBy: names)

    package var key: String { id }

    /// How many a world may have; a seed may have more.
    package static let limit = 100_000

    package static let byEmail = Index<Account, String>("email") { $0.email.lowercased() }
    package static let byPhoneNumber = Index<Account, String>("phoneNumber") { $0.phoneNumber }
    /// What a provider calls a person, and the groups to which the person belongs: `AccountProfile.identifiers`.
    package static let byIdentifier = Index<Account, String>("identifier", each: { $0.identifiers })
    /// For a search: every way in which one may begin to write who is meant.
    package static let names = SortedIndex<Account>("names") { account in
        Set(account.searchNames.map { $0.lowercased() }).map { "\($0)\u{0}\(account.id)" }
    }

    /// Where a search for `prefix` finds the account first.
    fileprivate static func firstName(of account: Account, beginningWith prefix: String) -> String? {
        names.texts(account).filter { $0.hasPrefix(prefix) }.min()
    }
}

extension TableReading where Self: ~Copyable {
    package func account(_ id: String) -> Account? { find(Account.self, id) }

    /// Where `written`, of which `account` was made, says something that another person has, and who that is. What `earlier` said
    /// already is left alone, and so is what follows from the rest by default.
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

    /// Who signs in when nobody is asked: the outcome's account, the interaction's, or the first.
    package func personSigningIn(_ interaction: Interaction, _ outcome: Outcome?) -> Account? {
        (outcome?.account ?? interaction.account).map { account($0) } ?? first(Account.self)
    }
}

extension World {
    /// Changes what a person has, such as grants, codes and sessions: `nil` when the person is gone. Where a change begins with a
    /// person who was looked up before, it looks again, so that nothing is left to somebody who gets the ID later.
    package func update<Outcome: Sendable>(
        for person: String, _ body: (inout Transaction) -> Outcome
    ) throws(StoreFailure) -> Outcome? {
        try update { tables in tables.account(person) == nil ? nil : body(&tables) }
    }
}

extension Exchange {
    /// "no account …", with a guess what was meant.
    package func noAccount(_ id: String) -> String {
        // Words are compared one by one, so only with as many as that is quick for.
        let known = world.read { $0.rows(Account.self, limit: 1_000).map(\.id) }
        return "no account \(Diagnosis.quote(id))" + Spelling.hint(id, among: known)
    }
}

extension Transaction {
    package var outcomes: OutcomeQueue {
        get { tables[OutcomeQueue.self] }
        _modify { yield &tables[OutcomeQueue.self] }
    }

    package var faults: FaultQueue {
        get { tables[FaultQueue.self] }
        _modify { yield &tables[FaultQueue.self] }
    }
}

/// Some of the people, and where the next ones begin.
package struct PeoplePage: Sendable {
    package let people: [Account]
    /// The last one's ID, to be given as `after` for the next page; `nil` when there are no more.
    package let next: String?
}

extension TableReading where Self: ~Copyable {
    /// At most `limit` people: those one of whose names, addresses or words of their names begins with `search`, without case,
    /// or without a search all of them in the order in which they came.
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
            // A person whom several words find is shown at the first of them.
            found += entries.filter { Account.firstName(of: $0.row, beginningWith: prefix) == $0.text }.map(\.row)
            place = entries.last?.text
        } while place != nil && found.count <= limit
        return PeoplePage(
            people: Array(found.prefix(limit)), next: found.count > limit ? found[limit - 1].id : nil)
    }
}
