import HTTPServer
import Synchronization
import Time
import Worlds

/// The test world to which a request belongs, and the part of the request that names the world, such as its path or its
/// host. URLs in the response name the world in the same way.
package struct NamedWorld: Sendable, Equatable {
    package enum Place: Sendable, Equatable {
        /// The request belongs to the default world: no part of it names a test world, or its path names the default
        /// world.
        case nowhere
        /// The request's path names the test world: `http://localhost:9099/~w1/…`.
        case path
        /// The request's host names the test world: `http://w1.localhost:9099/…`, or
        /// `http://appleid.apple.com.w1.localhost:9099/…`.
        case host
        /// The request's connection names the test world: it came to the world's own port, or through the proxy with
        /// the world's name as the proxy's user. This case also stands for requests that the daemon sends to itself.
        case connection
    }

    /// The reason why no test world can be found for a request.
    package enum Refusal: Error, Equatable {
        /// The request names a test world, but its host or its connection leads to another world.
        case contradiction(first: String, second: String)
        /// The request's host name ends with `.localhost`, but the part before that names neither a provider's host nor
        /// a test world.
        case unknownHost(String)
    }

    package let name: String
    package let place: Place
    /// The path of a request without the beginning that names the test world, such as `/a` for `/~w1/a`.
    let path: String
    /// The host name of a request in lower case, without the test world's name and without `.localhost` at its end.
    let host: String
    let isBelowLocalhost: Bool

    /// Finds the test world to which `request` belongs. `unnamed` is the name of the world for requests that name none.
    /// `plays` returns whether a world serves a provider's host; its arguments are the world's name and the host.
    ///
    /// - Throws: A `Refusal` when the world can't be found, or any error of `plays`.
    package init(
        _ request: Request, unnamed: String = WorldRegistry.defaultName, plays: (String, String) throws -> Bool
    ) throws {
        let (written, path) = NamedWorld.split(request.path)
        let connection = request.label
        let fixed = connection ?? written
        var host = Address.hostName(of: request.header("Host") ?? "localhost")
        let below = NamedWorld.nameBelowLocalhost(host)
        if let below { host = below }
        var label: String?
        if let below, try !plays(fixed ?? unnamed, below) {
            (host, label) = NamedWorld.split(host: below)
            if !host.isEmpty, try !plays(fixed ?? label ?? unnamed, host) {
                guard fixed != nil else { throw Refusal.unknownHost(below) }
                (host, label) = ("", nil)
            }
        }
        let names = [connection, label, written].compactMap { $0 }
        if let first = names.first, let second = names.first(where: { $0 != first }) {
            throw Refusal.contradiction(first: first, second: second)
        }
        name = names.first ?? unnamed
        place =
            connection != nil ? .connection : label != nil ? .host : (written ?? unnamed) != unnamed ? .path : .nowhere
        self.path = path
        self.host = host
        isBelowLocalhost = below != nil
    }

    /// Puts a request whose test world can't be found into the world `unnamed`, so that the request can be logged.
    init(unreadable request: Request, unnamed: String) {
        (name, place, path, host) = (unnamed, .nowhere, request.path, "")
        isBelowLocalhost = false
    }

    /// Splits a request's path into the name of the test world and the remaining path: `/~w1/a` into `w1` and `/a`.
    /// Clients put the path of an issuer or a resource behind a well-known path, so
    /// `/.well-known/openid-configuration/~w1/a` has the world `w1` and the remaining path
    /// `/.well-known/openid-configuration/a`.
    private static func split(_ path: String) -> (world: String?, path: String) {
        let wellKnown = "/.well-known/"
        if path.hasPrefix(wellKnown), let place = path.firstRange(of: "/~") {
            let (before, after) = (path[..<place.lowerBound], String(path[place.lowerBound...]))
            guard !before.dropFirst(wellKnown.count).contains("/") else { return (nil, path) }
            let (world, rest) = split(after)
            return (world, before + (rest == "/" ? "" : rest))
        }
        guard path.hasPrefix("/~") else { return (nil, path) }
        let name = path.dropFirst(2).prefix { $0 != "/" }
        let rest = String(path.dropFirst(2 + name.count))
        return (String(name), rest.isEmpty ? "/" : rest)
    }

    /// Returns the part of a host name before `.localhost`; `nil` if the name doesn't end with `.localhost`.
    private static func nameBelowLocalhost(_ name: String) -> String? {
        guard name.hasSuffix(".localhost") else { return nil }
        let below = name.dropLast(".localhost".count)
        return below.isEmpty ? nil : String(below)
    }

    /// Splits a host name into a provider's host and the name of a test world: `appleid.apple.com.w1` into
    /// `appleid.apple.com` and `w1`.
    private static func split(host name: String) -> (host: String, world: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return ("", name) }
        return (String(name[..<dot]), String(name[name.utf8.index(after: dot)...]))
    }
}

/// The source of the numbers in the IDs of requests.
///
/// If test worlds are only in memory, the daemon counts from 1. If they are kept in a store, a number must also be
/// unique among all daemons that have used the store. Such a number consists of the time since 2026, in tenths of
/// milliseconds, followed by the daemon's own number in four digits. If the daemon needs more than ten thousand numbers
/// per second, it uses times that lie a little in the future.
final class ExchangeNumbers: Sendable {
    /// The beginning of the year 2026, in microseconds since 1970. The times in the IDs of requests are counted from
    /// then.
    private static let beginning: Int64 = 1_767_225_600_000_000
    private static let replicas = 10_000

    private let replica: Int
    private let riseWithTime: Bool
    private let last: Atomic<Int>

    /// Makes a source of numbers for the IDs of requests. `replica` is this daemon's number among the daemons that
    /// share a store. It is below 10,000, and 0 if no store is shared.
    init(replica: Int, outlivesProcess: Bool) {
        self.replica = replica
        riseWithTime = outlivesProcess
        last = Atomic(0)
    }

    convenience init(of archive: (any Archive)?) {
        self.init(replica: archive?.replica ?? 0, outlivesProcess: archive != nil)
    }

    var next: Int {
        guard riseWithTime else { return last.wrappingAdd(1, ordering: .relaxed).newValue }
        let now = Int(clamping: max(0, MachineClock.microseconds - ExchangeNumbers.beginning) / 100)
        var known = last.load(ordering: .relaxed)
        while true {
            let next = max(known &+ 1, now)
            let (exchanged, original) = last.weakCompareExchange(
                expected: known, desired: next, ordering: .relaxed)
            if exchanged { return next &* ExchangeNumbers.replicas &+ replica }
            known = original
        }
    }
}
