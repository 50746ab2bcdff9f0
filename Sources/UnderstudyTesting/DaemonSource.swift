import UnderstudyClient

/// Where the daemon comes from in which tests have their worlds.
///
/// ``environment`` is a daemon that runs already. The product `UnderstudyInProcess` adds `.process`, a daemon in the tests' own process.
public struct DaemonSource: Sendable {
    private let find: @Sendable () throws -> Understudy

    /// A source of one's own. It is asked for each test.
    public init(_ find: @escaping @Sendable () throws -> Understudy) { self.find = find }

    /// The daemon at `UNDERSTUDY_URL`, else at `http://localhost:9099`.
    public static let environment = DaemonSource { Understudy() }

    /// The daemon at an address.
    public static func url(_ url: String, controlToken: String? = nil) -> DaemonSource {
        DaemonSource { Understudy(url: url, controlToken: controlToken) }
    }

    /// The daemon; it is started where it doesn't run.
    ///
    /// - Throws: Why it can't be started.
    public func daemon() throws -> Understudy { try find() }
}
