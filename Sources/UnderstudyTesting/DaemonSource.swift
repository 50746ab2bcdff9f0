import UnderstudyClient

/// The way in which tests find the daemon that has their test worlds.
///
/// ``environment`` is a daemon that is already running. The product `UnderstudyInProcess` adds `.process`, a daemon in
/// the tests' own process.
public struct DaemonSource: Sendable {
    private let find: @Sendable () throws -> Understudy

    /// Makes a source of daemons from a closure, which is called for each test and returns the daemon to use.
    public init(_ find: @escaping @Sendable () throws -> Understudy) { self.find = find }

    /// The daemon of Understudy at `UNDERSTUDY_URL`, or at `http://localhost:9099` if that isn't set.
    public static let environment = DaemonSource { Understudy() }

    /// Makes a source of daemons that always returns the daemon at the address `url`.
    public static func url(_ url: String, controlToken: String? = nil) -> DaemonSource {
        DaemonSource { Understudy(url: url, controlToken: controlToken) }
    }

    /// Returns the daemon of Understudy to use for a test. If the daemon runs in the tests' own process, the first call
    /// of this function starts the daemon.
    ///
    /// - Throws: An error if the daemon can't be started.
    public func daemon() throws -> Understudy { try find() }
}
