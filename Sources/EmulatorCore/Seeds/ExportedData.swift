/// What a provider begins with beside its section of the seed: data that the provider's own tools have exported.
package protocol ExportedData: Sendable {}

extension Seed {
    /// The same seed, with what a provider's tools have exported.
    package func beginning(with data: [any ExportedData]) -> Seed {
        var seed = self
        seed.exports = data
        return seed
    }

    /// What the tools of one provider have exported; `nil` when nothing was imported.
    package func export<Data: ExportedData>(_ type: Data.Type) -> Data? {
        exports.lazy.compactMap { $0 as? Data }.first
    }
}
