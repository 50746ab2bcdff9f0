import HTTPServer
import Logging

extension Dispatcher {
    /// Returns whether the host is played by the daemon's seed.
    package func plays(_ host: String) -> Bool { endpoints.serves(host) }

    /// Returns what answers a request at a played host: the provider's name, and whether it is an authorization
    /// endpoint. Returns `nil` if nothing is served there.
    package func endpoint(_ method: String, _ host: String, _ path: String) -> (provider: String?, authorizes: Bool)? {
        guard case .found(let entry, _) = endpoints.match(method, host: host, path: path) else { return nil }
        return (entry.provider?.name, entry.endpoint.traits?.authorizes ?? false)
    }
}

extension Dispatcher: Network {
    package func makeID() -> String { nextID() }

    package func plays(_ host: String, in world: World) -> Bool { endpoints(of: world).serves(host) }

    package func send(_ request: Request, from parent: String) -> Reply { handle(request, from: parent) }

    /// The number of worlds that are searched for a code or token.
    private static let askedWorlds = 64

    /// Returns the name of the world that has given out a code or token. Shared worlds aren't searched, since each
    /// would have to be read from the store.
    package func world(thatIssued text: String, besides world: World) -> String? {
        guard !worlds.isShared, (8...4_096).contains(text.utf8.count) else { return nil }
        let others = worlds.all.lazy.map(\.world).filter { $0.name != world.name }.prefix(Dispatcher.askedWorlds)
        return others.first { other in
            providers(of: other).contains { ($0 as? any KeepsGrants)?.issued(text, in: other) != nil }
        }?.name
    }

    package func log(_ message: String, detail: String, for exchange: Exchange) {
        var metadata: Logger.Metadata = ["request": "\(exchange.id)"]
        if exchange.address.world != worlds.unnamed { metadata["world"] = "\(exchange.address.world)" }
        logger.info("\(message)", metadata: metadata)
        logger.debug("\(detail)", metadata: metadata)
    }
}
