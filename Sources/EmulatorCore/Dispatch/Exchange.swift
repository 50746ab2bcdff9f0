import HTTPServer

/// One request, with all that an operation needs to answer it.
package struct Exchange: Sendable {
    package let request: Request
    package let address: Address
    package let world: World
    /// Names this exchange in headers, diagnoses and the log.
    package let id: String
    package let parameters: [String: String]
    /// The fault that was ordered for this request, if any.
    package internal(set) var appliedFault: AppliedFault?
    let network: any Network
    /// Whether the daemon sent itself the request, for another one or for a scenario.
    package let isInternal: Bool
    /// `nil` with a store that can't fail.
    let storeCall: StoreCall?

    package init(
        request: Request, address: Address, world: World, id: String, parameters: [String: String] = [:],
        network: any Network
    ) {
        self.init(
            request: request, address: address, world: world, id: id, parameters: parameters, network: network,
            isInternal: false, storeCall: nil)
    }

    init(
        request: Request, address: Address, world: World, id: String, parameters: [String: String],
        network: any Network, isInternal: Bool, storeCall: StoreCall?
    ) {
        self.isInternal = isInternal
        self.storeCall = storeCall
        self.request = request
        self.address = address
        self.world = world
        self.id = id
        self.parameters = parameters
        self.network = network
    }

    /// Whether the worlds' store has failed for this request, whose answer is replaced by that then.
    package var storeHasFailed: Bool { storeCall?.failure != nil }
}
