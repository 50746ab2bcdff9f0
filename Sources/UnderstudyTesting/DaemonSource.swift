import UnderstudyClient

/// The source of the daemon in which tests have their worlds.
///
/// ``environment`` is a daemon that is already running. The product `UnderstudyInProcess` adds `.process`, a daemon in
/// the tests' own process.
public struct DaemonSource: Sendable {
    private let find: @Sendable () throws -> Understudy

    /// Makes a source of a closure, which is called for each test.
    public init(_ find: @escaping @Sendable () throws -> Understudy) { self.find = find }

    /// The daemon at `UNDERSTUDY_URL`, or at `http://localhost:9099` if that isn't set.
    public static let environment = DaemonSource { Understudy() }

    /// Makes a source of a daemon's address.
    public static func url(_ url: String, controlToken: String? = nil) -> DaemonSource {
        DaemonSource { Understudy(url: url, controlToken: controlToken) }
    }

    /// Returns the daemon, and starts it if it doesn't run.
    ///
    /// - Throws: An error if the daemon can't be started.
    public func daemon() throws -> Understudy { try find() }
}
