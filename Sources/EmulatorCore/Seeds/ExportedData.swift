import JOSE
import JSON

/// Data that a provider's own tools have exported, with which a world begins beside the seed.
package protocol ExportedData: Sendable {
    /// A digest of the data. A store that lasts refuses to continue with other data than it began with.
    var digest: String { get }
}

extension Seed {
    /// A digest of all that worlds begin with, including imported data. A store continues only with the digest that it
    /// began with.
    package var digest: String {
        let parts = [document.text] + exports.map(\.digest)
        // Each part has its length before it, so that no other parts give the same text.
        let whole = parts.count == 1 ? parts[0] : parts.map { "\($0.utf8.count):\($0)" }.joined()
        return String(Hex.encode(Array(Digest.sha256(whole))).prefix(16))
    }

    /// Returns the same seed with data that a provider's tools have exported.
    package func beginning(with data: [any ExportedData]) -> Seed {
        var seed = self
        seed.exports = data
        return seed
    }

    /// Returns the data that one provider's tools have exported; `nil` when none was imported.
    package func export<Data: ExportedData>(_ type: Data.Type) -> Data? {
        exports.lazy.compactMap { $0 as? Data }.first
    }
}
