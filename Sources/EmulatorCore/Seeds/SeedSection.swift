import JSON

/// A provider's section of the seed, declared in the provider's folder.
package protocol SeedSection: SchemaObject {
    /// The section's name: the provider's.
    static var name: String { get }
    /// What it is, in a sentence for the seed's reference.
    static var about: String { get }
    /// Who signs, and with what: an owner of keys for each issuer that the section has, or none.
    var keys: [SeededKeys] { get }
    /// For people who look for what is seeded.
    var seededClients: [SeededClient] { get }
    /// Hosts that are played because of what is seeded, beside the provider's own.
    var hosts: [String] { get }
    /// Whether tokens are issued in the name of the address that the request used, not of the provider's own.
    var issuerFollowsRequest: Bool { get }

    /// The secret of a client, for other sections that name the client.
    func secret(ofClient id: String) -> String?
    /// Whether requests can come from a client of this ID: it is seeded, or comes into being on first use.
    func knows(client id: String) -> Bool

    /// Checks what the section says of other parts of the seed.
    static func check(_ references: inout SeedReferences)
}

extension SeedSection {
    package var keys: [SeededKeys] { [] }
    package var hosts: [String] { [] }
    package var issuerFollowsRequest: Bool { false }

    package func secret(ofClient id: String) -> String? { nil }

    package func knows(client id: String) -> Bool { seededClients.contains { $0.id == id } }

    package static func check(_ references: inout SeedReferences) {}
}

/// A client, or what is like one, as the inspector lists it.
package struct SeededClient: Sendable {
    package let id: String
    package let kind: String
    /// Where it can be returned to, or how it is reached.
    package let addresses: String

    package init(id: String, kind: String, addresses: String) {
        self.id = id
        self.kind = kind
        self.addresses = addresses
    }
}
