import EmulatorCore
import Synchronization

/// Profiles as they were last served: sign-ins ask for the same document again and again.
final class ProfileCache: WorldCache {
    struct Key: Hashable, Sendable {
        let account: String
        let isPrivate: Bool
        /// The base of the URLs in it.
        let api: String
    }

    /// Bases follow from the request's Host header, so without a limit a client could make any number of them.
    private static let limit = 1_000

    private let profiles = Mutex<[Key: (account: Account, body: RESTBody)]>([:])

    /// The profile of `account`, made anew when the account has changed.
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
