import EmulatorCore
import Synchronization

/// The identifier of a person who came with an app from another team.
enum FormerIdentifier: Hashable, Sendable {
    /// The `sub` of the person at the former team.
    case subject(team: String)
    /// The transfer identifier of the person between two teams.
    case transferSubject(from: String, to: String)

    func text(of account: String) -> String {
        switch self {
        case .subject(let team): AppleIdentifiers.subject(account: account, team: team)
        case .transferSubject(let from, let to):
            AppleIdentifiers.transferSubject(account: account, from: from, to: to)
        }
    }
}

/// The people of a world by such identifiers. These are digests: they can be made from a person, but not reversed. Each
/// kind is computed for everybody at its first use, and later for new people.
final class TransferredPeople: WorldCache {
    private struct Known {
        var accounts: [String: String] = [:]
        /// The last account for which the identifiers are known.
        var last: String?
    }

    /// The number of cached identifiers.
    var count: Int { known.withLock { $0.values.reduce(0) { $0 + $1.accounts.count } } }

    private static let page = 1_000
    private let known = Mutex<[FormerIdentifier: Known]>([:])

    /// Returns the ID of the account that has or had an identifier.
    func account(_ text: String, as kind: FormerIdentifier, in world: World) -> String? {
        while true {
            let last = known.withLock { $0[kind]?.last }
            let (new, count) = world.read { tables in
                (tables.rows(Account.self, after: last, limit: TransferredPeople.page), tables.count(Account.self))
            }
            guard let newest = new.last?.id, newest != last else { break }
            // Digests are made without a lock; two concurrent requests add the same ones.
            let entries = new.map { (kind.text(of: $0.id), $0.id) }
            known.withLock { known in
                var entry = known[kind] ?? Known()
                // Most of these accounts have been removed: the cache begins again with those that exist.
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
    /// Returns the account with an identifier; `nil` if there is none.
    func account(_ text: String, as kind: FormerIdentifier) -> Account? {
        guard let id = caches[TransferredPeople.self].account(text, as: kind, in: self) else { return nil }
        return read { $0.account(id) }
    }
}
