import HTTPServer

/// One request with all that an endpoint needs to answer it.
package struct Exchange: Sendable {
    package let request: Request
    package let address: Address
    package let world: World
    /// Names this exchange in headers, diagnoses and the log.
    package let id: String
    package let parameters: [String: String]
    /// The fault that is ordered for it.
    package internal(set) var appliedFault: AppliedFault?
    let network: any Network

    package init(
        request: Request, address: Address, world: World, id: String, parameters: [String: String] = [:],
        network: any Network
    ) {
        self.request = request
        self.address = address
        self.world = world
        self.id = id
        self.parameters = parameters
        self.network = network
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
    /// Whose signing keys it waits for, without holding a thread.
    package let keys: [KeyOwner]
    /// What can be ordered to go wrong here; `nil` where nothing can, which isn't recorded either.
    package let traits: EndpointTraits?

    package init(
        cors: CORS = .none, keys: [KeyOwner] = [], _ traits: EndpointTraits? = .api, _ endpoint: @escaping Endpoint
    ) {
        self.endpoint = endpoint
        self.cors = cors
        self.keys = keys
        self.traits = traits
    }

    /// For an endpoint that asks other hosts before it answers.
    package init(
        cors: CORS = .none, keys: [KeyOwner] = [], _ traits: EndpointTraits? = .api,
        waiting endpoint: @escaping @Sendable (Exchange) async -> Response
    ) {
        self.init(cors: cors, keys: keys, traits) { exchange in Reply.running { await endpoint(exchange) } }
    }

    /// The paths by which an order may name the endpoint of this request: its own, that of the endpoint of which it is a
    /// part, and the one without the version before it.
    func paths(of exchange: Exchange) -> [String] {
        var paths = [exchange.address.path]
        if let whole = traits?.partOf { paths.append(whole) }
        if let version = exchange.parameters["version"] {
            paths += paths.filter { $0.hasPrefix("/\(version)/") }.map { String($0.dropFirst(version.count + 1)) }
        }
        return paths
    }
}

/// A provider, as the dispatcher sees it: host names, and what is served at each.
package protocol Provider: Sendable {
    /// As the control API names it: `apple`.
    var name: String { get }
    /// Routes by host name. `*.example.com` is every host below `example.com`; the empty name is no host: our own
    /// address.
    var routes: [String: Router<Route>] { get }
    /// Calls that the provider adds to the control API.
    var controlRoutes: [ControlRoute] { get }
    /// The provider's own words for an address that it doesn't serve, or not with that method; `nil` leaves them to us.
    func notServed(_ exchange: Exchange) -> Response?
    /// The provider's own words for a request that holds too many fields, or texts that are too long; `nil` leaves them to us.
    func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response?
    /// What an ID token holds that is asked for without a sign-in; `nil` from a provider that mints none.
    func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft?
    /// The client whose request it is, where the provider knows more than the request's fields say.
    func client(of exchange: Exchange) -> String?
    /// An account has just been removed from the exchange's world.
    func accountDeleted(_ account: String, in exchange: Exchange)
}

extension Provider {
    package func notServed(_ exchange: Exchange) -> Response? { nil }

    package func overBudget(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response? { nil }

    package func client(of exchange: Exchange) -> String? { nil }

    package func token(for wanted: TokenRequest, in exchange: Exchange) throws(ControlRefusal) -> TokenDraft? { nil }
}
