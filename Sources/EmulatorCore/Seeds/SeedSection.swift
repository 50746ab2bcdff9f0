import JSON

/// A provider's section of the seed, declared in the provider's folder.
package protocol SeedSection: SchemaObject {
    /// The section's name, which is the provider's.
    static var name: String { get }
    /// A sentence about the section for the seed's reference.
    static var about: String { get }
    /// The keys that sign: an owner of keys for each issuer of the section, or none.
    var keys: [SeededKeys] { get }
    /// The clients of the section, for lists and searches.
    var seededClients: [SeededClient] { get }
    /// The hosts that are played because of the section, beside the provider's own.
    var hosts: [String] { get }
    /// Whether tokens name the address that the request used as their issuer, and not the provider's own.
    var issuerFollowsRequest: Bool { get }

    /// Returns the secret of a client, for other sections that name the client.
    func secret(ofClient id: String) -> String?
    /// Returns whether requests can come from a client with this ID: it is seeded, or made on first use.
    func knows(client id: String) -> Bool

    /// Checks the section's references to other parts of the seed.
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

/// A client, or something similar, as the inspector lists it.
package struct SeededClient: Sendable {
    package let id: String
    package let kind: String
    /// The addresses to which the client can be returned, or at which it is reached.
    package let addresses: String

    package init(id: String, kind: String, addresses: String) {
        self.id = id
        self.kind = kind
        self.addresses = addresses
    }
}
