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
