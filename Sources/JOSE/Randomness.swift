import COpenSSL

/// Where random bytes come from: the system, or a seed, after which two runs draw the same bytes.
package enum Randomness: Sendable {
    case system
    case seeded(SeededGenerator)

    /// `seed` `nil` means the system's generator.
    package init(seed: String?) {
        self = seed.map { .seeded(SeededGenerator(seed: $0)) } ?? .system
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        switch self {
        case .system:
            OpenSSL.prepare()
            var bytes = [UInt8](repeating: 0, count: count)
            bytes.withUnsafeMutableBufferPointer { _ = RAND_bytes($0.baseAddress, Int32($0.count)) }
            return bytes
        case .seeded(var generator):
            let bytes = generator.bytes(count)
            self = .seeded(generator)
            return bytes
        }
    }

    /// A text of `count` characters drawn evenly from `alphabet` (at most 256 of them).
    package mutating func text(_ count: Int, from alphabet: [UInt8]) -> String {
        let limit = 256 - 256 % alphabet.count
        var characters: [UInt8] = []
        while characters.count < count {
            for byte in bytes(count - characters.count) where Int(byte) < limit {
                characters.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }
}

/// SHA-256 in counter mode over a seed: reproducible, and meant for nothing else.
package struct SeededGenerator: Sendable {
    private let seed: [UInt8]
    private var counter: UInt64 = 0
    private var pool: [UInt8] = []

    package init(seed: String) { self.seed = Digest.sha256(seed) }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        while pool.count < count {
            pool += Digest.sha256(seed + withUnsafeBytes(of: counter.bigEndian, Array.init))
            counter += 1
        }
        defer { pool.removeFirst(count) }
        return Array(pool.prefix(count))
    }
}
