import HTTPServer
import Logging

extension Dispatcher {
    /// Whether the daemon's seed has the host played.
    package func plays(_ host: String) -> Bool { operations.serves(host) }
}

extension Dispatcher: Network {
    package func makeID() -> String { nextID() }

    package func plays(_ host: String, in world: World) -> Bool { operations(of: world).serves(host) }

    package func send(_ request: Request, from parent: String) -> Reply { handle(request, from: parent) }

    package func log(_ message: String, detail: String, for exchange: Exchange) {
        var metadata: Logger.Metadata = ["request": "\(exchange.id)"]
        if exchange.address.world != worlds.unnamed { metadata["world"] = "\(exchange.address.world)" }
        logger.info("\(message)", metadata: metadata)
        logger.debug("\(detail)", metadata: metadata)
    }
}
