import HTTPServer

/// One request with all that an endpoint needs to answer it.
package struct Exchange: Sendable {
    package let request: Request
    package let address: Address
    package let world: World
    /// Names this exchange in headers, diagnoses and the log.
    package let id: String
    package let parameters: [String: String]

    package init(request: Request, address: Address, world: World, id: String, parameters: [String: String] = [:]) {
        self.request = request
        self.address = address
        self.world = world
        self.id = id
        self.parameters = parameters
    }
}

package typealias Endpoint = @Sendable (Exchange) -> Reply

/// An endpoint and how it is reached.
package struct Route: Sendable {
    /// What a browser's script on another origin may do.
    package enum CORS: Sendable {
        /// No header: browsers refuse, as they do at the provider.
        case none
        /// Any origin.
        case any
    }

    package let endpoint: Endpoint
    package let cors: CORS
    /// Waits, without holding a thread, until the signing keys are there.
    package let needsKeys: Bool

    package init(cors: CORS = .none, needsKeys: Bool = false, _ endpoint: @escaping Endpoint) {
        self.endpoint = endpoint
        self.cors = cors
        self.needsKeys = needsKeys
    }
}

/// A provider, as the dispatcher sees it: host names, and what is served at each.
package protocol Provider: Sendable {
    /// As the control API names it: `apple`.
    var name: String { get }
    /// Routes by host name.
    var routes: [String: Router<Route>] { get }
    /// Calls that the provider adds to the control API.
    var controlRoutes: [ControlRoute] { get }
    /// The provider's own words for an address that it doesn't serve, or not with that method; `nil` leaves them to us.
    func notServed(_ exchange: Exchange) -> Response?
    /// An account has just been removed from the exchange's world.
    func accountDeleted(_ account: String, in exchange: Exchange)
}

extension Provider {
    package func notServed(_ exchange: Exchange) -> Response? { nil }
}
