import JSON
import EmulatorCore

/// The built-in seed: `seed-data/default.json` and the keys it names, embedded so that the binary needs no other files.
enum BuiltInSeed {
    /// The seed's source. It throws for a file that isn't embedded; a test checks that this never happens.
    static var source: SeedSource {
        get throws(Issues) {
            guard let seed = EmbeddedFiles.bytes(at: "default.json") else {
                throw Issues(file: "default.json", "it isn't built in")
            }
            return SeedSource(name: "built-in default.json", bytes: seed, isChecked: true) { name in
                guard let bytes = EmbeddedFiles.bytes(at: name) else { throw Missing() }
                return bytes
            }
        }
    }

    private struct Missing: Error {}
}

extension EmbeddedFiles {
    /// Returns the embedded file at `path` below seed-data, or `nil`.
    static func bytes(at path: String) -> [UInt8]? {
        all.first { $0.path == path }?.text.withUTF8Buffer { Array($0) }
    }
}
