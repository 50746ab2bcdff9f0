import JOSE
import JSON

/// What a provider begins with beside its section of the seed: data that the provider's own tools have exported.
package protocol ExportedData: Sendable {
    /// Unlike that of any other data: stores that last refuse to go on with other data than they began with.
    var digest: String { get }
}

extension Seed {
    /// Names the seed with all that worlds begin with, what was imported included: what a store began with, it goes on with.
    package var digest: String {
        let parts = [document.text] + exports.map(\.digest)
        // Each with its length, so that no other parts give the same.
        let whole = parts.count == 1 ? parts[0] : parts.map { "\($0.utf8.count):\($0)" }.joined()
        return String(Hex.encode(Array(Digest.sha256(whole))).prefix(16))
    }

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
