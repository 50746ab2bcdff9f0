import HTTPServer
import Synchronization
import Time
import Worlds

/// The world of a request, and the part of the request that names it. URLs in answers name it in the same part.
package struct NamedWorld: Sendable, Equatable {
    package enum Place: Sendable, Equatable {
        /// No part of the request names the world: it is the default world.
        case nowhere
        /// The path: `http://localhost:9099/~w1/…`.
        case path
        /// The host: `http://w1.localhost:9099/…`, or `http://appleid.apple.com.w1.localhost:9099/…`.
        case host
        /// The connection, which came to the world's own port, or by the proxy with the world's name as the user.
        case connection
    }

    /// The reason why a request has no world.
    package enum Refusal: Error, Equatable {
        /// The request names a second world beside the only one that it can reach.
        case contradiction(first: String, second: String)
        /// The host, which ends with `.localhost`, is neither a played host nor a world.
        case unknownHost(String)
    }

    package let name: String
    package let place: Place
    /// The path of the request, without the world's name.
    let path: String
    /// The host's name in lower case, without the world's name; without `.localhost`, too, if it ends with it.
    let host: String
    let isBelowLocalhost: Bool

    /// `unnamed` is the world of requests that name none. `plays` returns whether a world, the first argument, plays a
    /// host, the second.
    ///
    /// - Throws: A `Refusal`, or what `plays` throws.
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

    /// Makes the world for a request that can't be answered, so that it can be logged.
    init(unreadable request: Request, unnamed: String) {
        (name, place, path, host) = (unnamed, .nowhere, request.path, "")
        isBelowLocalhost = false
    }

    /// Splits a path into world and rest: `/~w1/a` into `w1` and `/a`. Clients put the path of an issuer or a resource,
    /// with the world in it, behind a well-known one: `/.well-known/openid-configuration/~w1/a` has the world `w1` and
    /// the rest `/.well-known/openid-configuration/a`.
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

    /// Returns the part of a host name before `.localhost`.
    private static func nameBelowLocalhost(_ name: String) -> String? {
        guard name.hasSuffix(".localhost") else { return nil }
        let below = name.dropLast(".localhost".count)
        return below.isEmpty ? nil : String(below)
    }

    /// Splits a host name into host and world: `appleid.apple.com.w1` into `appleid.apple.com` and `w1`.
    private static func split(host name: String) -> (host: String, world: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return ("", name) }
        return (String(name[..<dot]), String(name[name.utf8.index(after: dot)...]))
    }
}

/// The numbers in the IDs of exchanges.
///
/// A daemon with its worlds in memory counts from 1. If worlds outlive it, their codes and tokens name requests of
/// earlier daemons and of other replicas, so numbers must be unique among all: tenths of milliseconds since 2026,
/// followed by the replica's number in four digits. A daemon that needs more than ten thousand a second takes numbers
/// of the near future.
final class ExchangeNumbers: Sendable {
    /// The time 2026-01-01, in microseconds since 1970.
    private static let beginning: Int64 = 1_767_225_600_000_000
    private static let replicas = 10_000

    private let replica: Int
    private let riseWithTime: Bool
    private let last: Atomic<Int>

    /// `replica` is 0 for worlds that aren't shared, and below 10,000.
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
