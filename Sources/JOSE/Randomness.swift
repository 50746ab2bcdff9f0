import COpenSSL

/// A generator of random bytes, which come from the system or follow from a seed text. Two runs with equal seed texts
/// get equal bytes.
package enum Randomness: Codable, Sendable {
    case system(SystemGenerator)
    case seeded(SeededGenerator)

    /// Makes a generator of random bytes. Without a seed text, the bytes come from the system.
    package init(seed: String?) {
        self = seed.map { .seeded(SeededGenerator(seed: $0)) } ?? .system(SystemGenerator())
    }

    package var isSystem: Bool { if case .system = self { true } else { false } }

    /// Whether any bytes have been drawn from the generator.
    package var isUsed: Bool {
        switch self {
        case .system(let generator): generator.isUsed
        case .seeded(let generator): generator.isUsed
        }
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        switch self {
        case .system(var generator):
            let bytes = generator.bytes(count)
            self = .system(generator)
            return bytes
        case .seeded(var generator):
            let bytes = generator.bytes(count)
            self = .seeded(generator)
            return bytes
        }
    }

    /// Returns a text of `count` characters, drawn evenly from `alphabet` (at most 256 of them).
    package mutating func text(_ count: Int, from alphabet: [UInt8]) -> String {
        let limit = 256 - 256 % alphabet.count
        var characters: [UInt8] = []
        characters.reserveCapacity(count)
        while characters.count < count {
            for byte in bytes(count - characters.count) where Int(byte) < limit {
                characters.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }
}

/// The system's random bytes, from OpenSSL's generator. Many bytes are drawn at once, because each call of OpenSSL is
/// expensive. No byte is used twice.
package struct SystemGenerator: Codable, Sendable {
    /// The generator is encoded without its pool of random bytes. A decoded copy of the pool would give the same bytes
    /// again.
    private enum CodingKeys: CodingKey {
        case isUsed
    }

    /// The number of random bytes in the pool. With this number, the pool's array takes less than 1,024 bytes of
    /// memory: glibc allocates larger blocks more slowly.
    private static let poolSize = 960
    /// The pool of random bytes. The array is never modified, so that copies of the generator share it.
    private var pool: [UInt8] = []
    /// The number of random bytes in the pool that have been used.
    private var drawn = 0
    private(set) var isUsed = false

    package init() {}

    package mutating func bytes(_ count: Int) -> [UInt8] {
        isUsed = true
        if pool.count - drawn < count {
            OpenSSL.prepare()
            pool = [UInt8](repeating: 0, count: max(SystemGenerator.poolSize, count))
            pool.withUnsafeMutableBufferPointer { _ = RAND_bytes($0.baseAddress, Int32($0.count)) }
            drawn = 0
        }
        defer { drawn += count }
        return Array(pool[drawn..<drawn + count])
    }
}

/// A reproducible generator of random bytes: SHA-256 in counter mode over a seed text. It is not for secrets.
package struct SeededGenerator: Codable, Sendable {
    private let seed: [UInt8]
    private var counter: UInt64 = 0
    private var pool: [UInt8] = []

    package init(seed: String) { self.seed = Digest.sha256(seed) }

    var isUsed: Bool { counter > 0 }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        while pool.count < count {
            pool += Digest.sha256(seed + withUnsafeBytes(of: counter.bigEndian, Array.init))
            counter += 1
        }
        defer { pool.removeFirst(count) }
        return Array(pool.prefix(count))
    }
}
