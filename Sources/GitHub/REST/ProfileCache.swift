import EmulatorCore
import Synchronization

/// A cache of served profiles, because sign-ins request the same document repeatedly.
final class ProfileCache: WorldCache {
    struct Key: Hashable, Sendable {
        let account: String
        let isPrivate: Bool
        /// The base of the URLs in the profile.
        let api: String
    }

    /// The most cached profiles. Bases follow from the Host header, so a client could otherwise make any number of
    /// them.
    private static let limit = 1_000

    private let profiles = Mutex<[Key: (account: Account, body: RESTBody)]>([:])

    /// Returns the profile of `account`. It is made again if the account has changed.
    func body(_ key: Key, of account: Account, make: () -> RESTBody) -> RESTBody {
        let known = profiles.withLock { $0[key] }
        if let known, known.account == account { return known.body }
        let body = make()
        profiles.withLock { profiles in
            if profiles.count >= ProfileCache.limit { profiles = [:] }
            profiles[key] = (account: account, body: body)
        }
        return body
    }
}
