import HTTPServer

/// Finds the endpoint that has answered a recorded exchange, and its provider.
package struct EndpointFinder: Sendable {
    private let table: EndpointTable

    package init(providers: [any Provider]) { table = EndpointTable(providers: providers, own: []) { _, _ in nil } }

    package func plays(_ host: String) -> Bool { table.serves(host) }

    /// Returns the endpoint, or `nil` if nothing is served there, and the provider, which may be known from the host
    /// alone.
    package func find(_ exchange: RecordedExchange) -> (provider: (any Provider)?, endpoint: Endpoint?) {
        switch table.match(exchange.request.method, host: exchange.host, path: exchange.path) {
        case .found(let entry, _): (entry.provider, entry.endpoint)
        case .methodNotAllowed, .notFound: (table.providers(at: exchange.host).first, nil)
        }
    }
}
