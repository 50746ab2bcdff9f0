/// A hash of bcrypt, the password hash function of OpenBSD: Niels Provos and David Mazières, "A Future-Adaptable
/// Password Scheme", 1999. OpenSSL has Blowfish, but not bcrypt's expensive key schedule.
///
/// ```swift
/// let hash = BCrypt("$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy")
/// hash?.matches(Array("secret".utf8))
/// ```
package struct BCrypt: Sendable {
    /// The greatest bcrypt cost that is computed. Each step doubles the time; at this cost, a hash takes about a
    /// second.
    package static let greatestCost = 14

    private let cost: Int
    private let salt: [UInt8]
    private let hash: [UInt8]

    /// Reads a bcrypt hash in its usual text form: `$2b$`, the cost, `$`, 22 characters of salt and 31 of the hash.
    /// `2a` and `2y` mean the same as `2b`. Returns `nil` if the text has a different form, or its cost is too great.
    package init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, ["2a", "2b", "2y"].contains(parts[1]), parts[2].utf8.count == 2,
            let cost = Int(parts[2]), (4...BCrypt.greatestCost).contains(cost), parts[3].utf8.count == 53,
            let salt = BCrypt.decoded(parts[3].utf8.prefix(22)), let hash = BCrypt.decoded(parts[3].utf8.dropFirst(22))
        else { return nil }
        (self.cost, self.salt, self.hash) = (cost, salt, hash)
    }

    /// Whether this is the bcrypt hash of `password`. Only the first 72 bytes of a password count.
    package func matches(_ password: [UInt8]) -> Bool {
        let key = Blowfish.cyclic(Array((password + [0]).prefix(72)), count: 18)
        let (halves, saltKey) = (Blowfish.cyclic(salt, count: 4), Blowfish.cyclic(salt, count: 18))
        let cipher = Blowfish()
        cipher.expand(key: key, salt: halves)
        for _ in 0..<1 << cost {
            cipher.expand(key: key)
            cipher.expand(key: saltKey)
        }
        var text = Blowfish.cyclic(Array("OrpheanBeholderScryDoubt".utf8), count: 6)
        for place in stride(from: 0, to: 6, by: 2) {
            for _ in 0..<64 {
                (text[place], text[place + 1]) = cipher.encrypted(text[place], text[place + 1])
            }
        }
        let bytes = text.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
        return constantTimeEquals(Array(bytes.prefix(23)), hash)
    }

    private static let digits = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Decodes the base64 variant of bcrypt. Trailing bits that don't fill a byte are dropped.
    private static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var (bytes, bits, count): ([UInt8], Int, Int) = ([], 0, 0)
        for character in text {
            guard let value = digits.firstIndex(of: character) else { return nil }
            (bits, count) = ((bits << 6 | value) & 0xFFFF, count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }
}

/// The cipher Blowfish. Its initial tables are the first 1,042 words of the fraction of π.
private final class Blowfish {
    private let subkeys: UnsafeMutablePointer<UInt32>
    private let boxes: UnsafeMutablePointer<UInt32>
    private static let size = 18 + 4 * 256

    init() {
        subkeys = .allocate(capacity: Blowfish.size)
        subkeys.initialize(from: Blowfish.pi, count: Blowfish.size)
        boxes = subkeys + 18
    }

    deinit { subkeys.deallocate() }

    func encrypted(_ left: UInt32, _ right: UInt32) -> (UInt32, UInt32) {
        var (left, right) = (left, right)
        for round in stride(from: 0, to: 16, by: 2) {
            left ^= subkeys[round]
            right ^= mixed(left) ^ subkeys[round + 1]
            left ^= mixed(right)
        }
        return (right ^ subkeys[17], left ^ subkeys[16])
    }

    private func mixed(_ word: UInt32) -> UInt32 {
        let sum = boxes[Int(word >> 24)] &+ boxes[256 + Int(word >> 16 & 0xFF)]
        return (sum ^ boxes[512 + Int(word >> 8 & 0xFF)]) &+ boxes[768 + Int(word & 0xFF)]
    }

    /// Replaces Blowfish's tables by new ones, made from the present tables, a key and a salt.
    func expand(key: [UInt32], salt: [UInt32] = [0, 0, 0, 0]) {
        for place in 0..<18 { subkeys[place] ^= key[place] }
        var (left, right): (UInt32, UInt32) = (0, 0)
        for place in stride(from: 0, to: Blowfish.size, by: 2) {
            (left, right) = encrypted(left ^ salt[place % 4], right ^ salt[place % 4 + 1])
            (subkeys[place], subkeys[place + 1]) = (left, right)
        }
    }

    /// Returns `count` big-endian words made of the bytes, which are repeated from the beginning when they end.
    static func cyclic(_ bytes: [UInt8], count: Int) -> [UInt32] {
        (0..<count).map { word in
            (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[(4 * word + $1) % bytes.count]) }
        }
    }

    /// The 32-bit words of the fraction of π, computed by Machin's formula: π = 16 arctan(1/5) - 4 arctan(1/239).
    private static let pi: [UInt32] = {
        // The first word is the whole part, and the last two take what rounding loses.
        var sums = [Int64](repeating: 0, count: 1 + size + 2)
        func divide(_ number: inout [UInt32], by divisor: UInt64, from first: inout Int) {
            var rest: UInt64 = 0
            for place in first..<number.count {
                let part = rest << 32 | UInt64(number[place])
                number[place] = UInt32(truncatingIfNeeded: part / divisor)
                rest = part % divisor
            }
            while first < number.count, number[first] == 0 { first += 1 }
        }
        for (factor, number) in [(16, 5), (-4, 239)] as [(Int64, UInt64)] {
            var power = [UInt32](repeating: 0, count: sums.count)
            var (first, odd, sign) = (0, UInt64(1), factor)
            power[0] = 1
            divide(&power, by: number, from: &first)
            while first < power.count {
                var (term, start) = (power, first)
                divide(&term, by: odd, from: &start)
                for place in start..<term.count { sums[place] += sign * Int64(term[place]) }
                divide(&power, by: number * number, from: &first)
                (odd, sign) = (odd + 2, -sign)
            }
        }
        for place in sums.indices.dropFirst().reversed() { sums[place - 1] += sums[place] >> 32 }
        return sums[1...size].map { UInt32(truncatingIfNeeded: $0) }
    }()
}
