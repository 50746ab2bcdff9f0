import EmulatorCore
import Synchronization

/// Under which identifiers a person is known who came with an app from another team.
enum FormerIdentifier: Hashable, Sendable {
    /// What the former team called the person.
    case subject(team: String)
    /// What the former team hands the person over with.
    case transferSubject(from: String, to: String)

    func text(of account: String) -> String {
        switch self {
        case .subject(let team): AppleIdentifiers.subject(account: account, team: team)
        case .transferSubject(let from, let to):
            AppleIdentifiers.transferSubject(account: account, from: from, to: to)
        }
    }
}

/// The people of a world by such identifiers, which are digests: they can be made from a person, but not the other way
/// around. Each kind is worked out for everybody when it is first asked for, and from then on for those who have come since.
final class TransferredPeople: WorldCache {
    private struct Known {
        var accounts: [String: String] = [:]
        /// The account up to which all are known.
        var last: String?
    }

    /// How many identifiers are remembered.
    var count: Int { known.withLock { $0.values.reduce(0) { $0 + $1.accounts.count } } }

    private static let page = 1_000
    private let known = Mutex<[FormerIdentifier: Known]>([:])

    /// The ID of the account that has or had an identifier.
    func account(_ text: String, as kind: FormerIdentifier, in world: World) -> String? {
        while true {
            let last = known.withLock { $0[kind]?.last }
            let (new, count) = world.read { tables in
                (tables.rows(Account.self, after: last, limit: TransferredPeople.page), tables.count(Account.self))
            }
            guard let newest = new.last?.id, newest != last else { break }
            // Digests are made without a lock; what two requests add at once is the same.
            let entries = new.map { (kind.text(of: $0.id), $0.id) }
            known.withLock { known in
                var entry = known[kind] ?? Known()
                // Most of them are gone: this begins again, with those who are there.
                guard entry.accounts.count <= 2 * count + TransferredPeople.page else {
                    known[kind] = nil
                    return
                }
                known[kind] = nil
                entry.accounts.merge(entries) { $1 }
                entry.last = newest
                known[kind] = entry
            }
        }
        return known.withLock { $0[kind]?.accounts[text] }
    }
}

extension World {
    /// Who has an identifier; `nil` when nobody does.
    func account(_ text: String, as kind: FormerIdentifier) -> Account? {
        guard let id = caches[TransferredPeople.self].account(text, as: kind, in: self) else { return nil }
        return read { $0.account(id) }
    }
}
