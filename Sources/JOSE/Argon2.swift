/// The password hash function Argon2 (RFC 9106), which OpenSSL has from version 3.2 on only.
///
/// ```swift
/// let tag = Argon2(kind: .id, memory: 65_536, passes: 3).hash(password, salt: salt, length: 32)
/// ```
package struct Argon2: Codable, Equatable, Sendable {
    /// A variant of Argon2. The raw value is the variant's number in RFC 9106 §3.2.
    package enum Kind: UInt32, Codable, Sendable {
        /// Argon2d: the password decides which blocks are read.
        case d = 0
        /// Argon2i: the password has no influence on which blocks are read.
        case i = 1
        /// Argon2id: as Argon2i in the first half of the first pass, then as Argon2d.
        case id = 2
    }

    private let kind: Kind
    private let isFirstVersion: Bool
    private let memory: Int
    private let passes: Int
    private let lanes: Int
    private let associatedData: [UInt8]

    /// Makes an Argon2 function with these costs. `memory` is in kibibytes.
    ///
    /// - Parameter isFirstVersion: True for version 1.0 of 2015 (0x10), whose later passes overwrite blocks. False for
    ///   version 1.3 (0x13).
    package init(
        kind: Kind, memory: Int, passes: Int, lanes: Int = 1, associatedData: [UInt8] = [], isFirstVersion: Bool = false
    ) {
        (self.kind, self.isFirstVersion, self.memory, self.passes) = (kind, isFirstVersion, memory, passes)
        (self.lanes, self.associatedData) = (lanes, associatedData)
    }

    /// Computes the Argon2 tag of a password. Returns `nil` if the parameters make no sense, or would cost more than 32
    /// megabytes, 16 passes or 16 lanes.
    package func hash(_ password: [UInt8], salt: [UInt8], secret: [UInt8] = [], length: Int) -> [UInt8]? {
        guard (1...16).contains(lanes), (8 * lanes...32 << 10).contains(memory), (1...16).contains(passes),
            (4...1_024).contains(length)
        else { return nil }
        var input = BLAKE2b.littleEndian(
            [lanes, length, memory, passes, isFirstVersion ? 0x10 : 0x13, Int(kind.rawValue)].map(UInt32.init))
        for part in [password, salt, secret, associatedData] {
            input += BLAKE2b.littleEndian([UInt32(truncatingIfNeeded: part.count)]) + part
        }
        let blocks = Argon2Memory(lanes: lanes, segment: memory / (4 * lanes))
        blocks.start(from: BLAKE2b.hash(input, length: 64))
        for pass in 0..<passes {
            for slice in 0..<4 {
                for lane in 0..<lanes { fill(blocks, pass, slice, lane) }
            }
        }
        return BLAKE2b.longHash(blocks.lastColumn, length: length)
    }

    /// Computes the blocks of one slice of a lane in Argon2's memory (RFC 9106 §3.4).
    private func fill(_ blocks: Argon2Memory, _ pass: Int, _ slice: Int, _ lane: Int) {
        let (segment, length) = (blocks.segment, 4 * blocks.segment)
        let isIndependent = kind == .i || kind == .id && pass == 0 && slice < 2
        var counter: UInt64 = 0
        for index in (pass == 0 && slice == 0 ? 2 : 0)..<segment {
            let column = slice * segment + index
            let previous = blocks.block(lane, (column + length - 1) % length)
            if isIndependent, counter == 0 || index % 128 == 0 {
                counter += 1
                blocks.makeAddresses([
                    UInt64(pass), UInt64(lane), UInt64(slice), UInt64(4 * segment * lanes), UInt64(passes),
                    UInt64(kind.rawValue), counter,
                ])
            }
            let random = isIndependent ? blocks.addresses[index % 128] : previous[0]
            let other = pass == 0 && slice == 0 ? lane : Int(random >> 32) % lanes
            // The blocks that may be read: those of the last three slices, and of the own lane also those of this one
            // but the previous block.
            let behind = pass == 0 ? slice * segment : 3 * segment
            let area = UInt64(behind + (other == lane ? index - 1 : index == 0 ? -1 : 0))
            let low = random & 0xFFFF_FFFF
            let distance = area - 1 - (area * ((low * low) >> 32)) >> 32
            let start = pass == 0 ? 0 : (slice + 1) * segment
            let read = blocks.block(other, (start + Int(distance)) % length)
            blocks.compress(previous, read, into: blocks.block(lane, column), adding: pass > 0 && !isFirstVersion)
        }
    }
}

/// The memory of an Argon2 computation. It has lanes, each of four segments, and blocks for intermediate results. A
/// block has 128 words.
private final class Argon2Memory {
    typealias Block = UnsafeMutablePointer<UInt64>

    let segment: Int
    private let lanes: Int
    private let words: Block
    private let count: Int
    /// The pseudorandom numbers by which Argon2i chooses blocks. They don't depend on the password.
    let addresses: Block
    private let (first, second): (Block, Block)

    init(lanes: Int, segment: Int) {
        (self.lanes, self.segment) = (lanes, segment)
        count = (lanes * 4 * segment + 3) * 128
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
        addresses = words + (count - 128)
        (first, second) = (words + (count - 256), words + (count - 384))
    }

    deinit { words.deallocate() }

    func block(_ lane: Int, _ column: Int) -> Block { words + (lane * 4 * segment + column) * 128 }

    /// Sets the first two blocks of each lane in Argon2's memory, from the hash of all parameters.
    func start(from hash: [UInt8]) {
        for lane in 0..<lanes {
            for column in 0..<2 {
                let input = hash + BLAKE2b.littleEndian([UInt32(column), UInt32(lane)])
                let words = BLAKE2b.words(BLAKE2b.longHash(input, length: 1_024))
                block(lane, column).update(from: words, count: 128)
            }
        }
    }

    /// The exclusive or of the last blocks of all lanes in Argon2's memory, as bytes.
    var lastColumn: [UInt8] {
        var sum = [UInt64](repeating: 0, count: 128)
        for lane in 0..<lanes {
            let last = block(lane, 4 * segment - 1)
            for place in 0..<128 { sum[place] ^= last[place] }
        }
        return BLAKE2b.littleEndian(sum)
    }

    /// Makes the next 128 pseudorandom numbers by which Argon2i chooses earlier blocks:
    /// <https://datatracker.ietf.org/doc/html/rfc9106#section-3.4.1.2>.
    func makeAddresses(_ position: [UInt64]) {
        addresses.update(repeating: 0, count: 128)
        addresses.update(from: position, count: position.count)
        // A block of zeros leaves the other input as it is.
        for _ in 0..<2 { compress(addresses, nil, into: addresses, adding: false) }
    }

    /// Computes Argon2's compression function G of two blocks (RFC 9106 §3.5). If `adding` is true, the earlier content
    /// of `result` is combined with the new one by exclusive or.
    func compress(_ left: Block, _ right: Block?, into result: Block, adding: Bool) {
        for place in 0..<128 { first[place] = left[place] ^ (right?[place] ?? 0) }
        second.update(from: first, count: 128)
        for row in 0..<8 { round(first + row * 16, step: 2) }
        for column in 0..<8 { round(first + column * 2, step: 16) }
        for place in 0..<128 { result[place] = (adding ? result[place] : 0) ^ first[place] ^ second[place] }
    }

    /// Computes Argon2's permutation P of eight pairs of words, which are `step` words apart (RFC 9106 §3.6).
    @inline(__always)
    private func round(_ pairs: Block, step: Int) {
        @inline(__always) func word(_ number: Int) -> Int { number / 2 * step + number % 2 }
        @inline(__always) func mix(_ numbers: (Int, Int, Int, Int)) {
            let places = (word(numbers.0), word(numbers.1), word(numbers.2), word(numbers.3))
            var (a, b, c, d) = (pairs[places.0], pairs[places.1], pairs[places.2], pairs[places.3])
            @inline(__always) func sum(_ x: UInt64, _ y: UInt64) -> UInt64 {
                x &+ y &+ 2 &* (x & 0xFFFF_FFFF) &* (y & 0xFFFF_FFFF)
            }
            a = sum(a, b)
            d = BLAKE2b.rotated(d ^ a, by: 32)
            c = sum(c, d)
            b = BLAKE2b.rotated(b ^ c, by: 24)
            a = sum(a, b)
            d = BLAKE2b.rotated(d ^ a, by: 16)
            c = sum(c, d)
            b = BLAKE2b.rotated(b ^ c, by: 63)
            (pairs[places.0], pairs[places.1], pairs[places.2], pairs[places.3]) = (a, b, c, d)
        }
        mix((0, 4, 8, 12))
        mix((1, 5, 9, 13))
        mix((2, 6, 10, 14))
        mix((3, 7, 11, 15))
        mix((0, 5, 10, 15))
        mix((1, 6, 11, 12))
        mix((2, 7, 8, 13))
        mix((3, 4, 9, 14))
    }
}

/// The hash function BLAKE2b (RFC 7693) without a key. OpenSSL 3.0 has only its variant with 64 bytes of output.
private enum BLAKE2b {
    private static let initial: [UInt64] = [
        0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
    ]
    /// The order in which each round of BLAKE2b reads the words of the message (RFC 7693 §2.7).
    private static let orders: [[Int]] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4], [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13], [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11], [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5], [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ]
    private static let lanes = [
        (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13),
        (3, 4, 9, 14),
    ]

    static func hash(_ input: [UInt8], length: Int) -> [UInt8] {
        var state = initial
        state[0] ^= 0x0101_0000 ^ UInt64(length)
        var start = 0
        repeat {
            let end = min(start + 128, input.count)
            let chunk = Array(input[start..<end]) + [UInt8](repeating: 0, count: 128 - (end - start))
            start += 128
            compress(&state, words(chunk), total: UInt64(end), isLast: start >= input.count)
        } while start < input.count
        return Array(littleEndian(state).prefix(length))
    }

    /// Computes Argon2's hash of variable length (RFC 9106 §3.3). The output is put together from the first halves of
    /// repeated hashes.
    static func longHash(_ input: [UInt8], length: Int) -> [UInt8] {
        let input = littleEndian([UInt32(length)]) + input
        guard length > 64 else { return hash(input, length: length) }
        var part = hash(input, length: 64)
        var output: [UInt8] = []
        while length - output.count > 64 {
            output += part.prefix(32)
            part = hash(part, length: min(64, length - output.count))
        }
        return output + part
    }

    private static func compress(_ state: inout [UInt64], _ message: [UInt64], total: UInt64, isLast: Bool) {
        var work = state + initial
        work[12] ^= total
        if isLast { work[14] = ~work[14] }
        for round in 0..<12 {
            let order = orders[round % 10]
            for (place, lane) in lanes.enumerated() {
                var (a, b, c, d) = (work[lane.0], work[lane.1], work[lane.2], work[lane.3])
                a = a &+ b &+ message[order[2 * place]]
                d = rotated(d ^ a, by: 32)
                c = c &+ d
                b = rotated(b ^ c, by: 24)
                a = a &+ b &+ message[order[2 * place + 1]]
                d = rotated(d ^ a, by: 16)
                c = c &+ d
                b = rotated(b ^ c, by: 63)
                (work[lane.0], work[lane.1], work[lane.2], work[lane.3]) = (a, b, c, d)
            }
        }
        for place in 0..<8 { state[place] ^= work[place] ^ work[place + 8] }
    }

    @inline(__always)
    static func rotated(_ word: UInt64, by bits: UInt64) -> UInt64 { word &>> bits | word &<< (64 &- bits) }

    static func littleEndian(_ words: [some FixedWidthInteger]) -> [UInt8] {
        words.flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
    }

    static func words(_ bytes: [UInt8]) -> [UInt64] {
        stride(from: 0, to: bytes.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << (8 * $1) }
        }
    }
}
