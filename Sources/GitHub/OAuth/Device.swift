import EmulatorCore
import JOSE
import Time

/// A device that is waiting for a person to enter its code.
struct Device: Row {
    enum Decision: Codable, Sendable {
        case approved(account: String, GitHubScopes, isUnverified: Bool)
        case denied
    }

    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// The table. Rows are kept for a while after their expiry, so that polls get `expired_token`.
    static let table = Table<Device>("github.device", limit: 100_000, indexes: [byUserCode, byAccount]) {
        $0.expires + .minutes(15)
    }
    static let byUserCode = Index<Device, String>("userCode") { $0.userCode }
    /// The index by the person who has approved.
    static let byAccount = Index<Device, String>("account") { device in
        if case .approved(let account, _, _) = device.decision { account } else { nil }
    }

    /// The device code.
    let key: String
    let userCode: String
    let client: String
    let scopes: GitHubScopes
    let wantsRefreshToken: Bool
    let expires: Instant
    /// The least time between two polls.
    var interval = TimeSpan.seconds(5)
    /// The time of the last poll; `nil` before the first one.
    var polledAt: Instant?
    var decision: Decision?
    var isRedeemed = false
}

/// The times within the last hour at which people entered user codes of an app.
struct UserCodeEntries: Row {
    static let period = TimeSpan.hours(1)
    /// The most codes that people may enter for an app in `period`.
    static let limit = 50
    static let table = Table<UserCodeEntries>("github.userCodeEntries") { row in row.times.last.map { $0 + period } }

    /// The app's client ID.
    let key: String
    var times: [Instant] = []
}

extension TableReading where Self: ~Copyable {
    /// Returns the waiting device that shows this code.
    func device(showing userCode: String) -> Device? {
        guard let device = first(Device.byUserCode, userCode), device.expires > now, device.decision == nil else {
            return nil
        }
        return device
    }
}

extension Transaction {
    /// Returns a user code that no other device shows.
    mutating func makeUserCode() -> String {
        while true {
            // The alphabet isn't documented; codes in public logs have hexadecimal digits.
            let text = random.text(8, from: Array("0123456789ABCDEF".utf8))
            let code = "\(text.prefix(4))-\(text.suffix(4))"
            if first(Device.byUserCode, code) == nil { return code }
        }
    }

    /// Counts a code that a person entered for an app. Returns `false` if there were fifty within the last hour.
    mutating func countUserCode(of client: String) -> Bool {
        let now = self.now
        var entries = find(UserCodeEntries.self, client) ?? UserCodeEntries(key: client)
        entries.times.removeAll { $0 <= now - UserCodeEntries.period }
        guard entries.times.count < UserCodeEntries.limit else { return false }
        entries.times.append(now)
        put(entries)
        return true
    }
}
