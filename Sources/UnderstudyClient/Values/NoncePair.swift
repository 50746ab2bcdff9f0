/// A nonce for Sign in with Apple, raw and hashed. The hash goes into the request to Apple. The raw text goes to the
/// verifier of the ID token: Firebase, or your backend.
///
///     let nonce = NoncePair()
///     request.nonce = nonce.sha256
///     // later: OAuthProvider.appleCredential(withIDToken: token, rawNonce: nonce.raw, fullName: name)
public struct NoncePair: Sendable, Hashable {
    /// The raw text of the nonce, for the verifier of the ID token.
    public let raw: String
    /// The SHA-256 digest of the nonce's ``raw`` text, in lower-case hexadecimal digits, for the request to Apple. The
    /// ID token contains the digest.
    public let sha256: String

    /// Makes a nonce from its raw text, by default 32 random letters and digits.
    public init(raw: String = NoncePair.random()) {
        self.raw = raw
        sha256 = SHA256.hex(raw)
    }

    /// Returns 32 random letters and digits, which have 190 bits of randomness.
    public static func random() -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var system = SystemRandomNumberGenerator()
        return String((0..<32).map { _ in letters[Int.random(in: 0..<letters.count, using: &system)] })
    }
}

/// Computes SHA-256 digests: <https://csrc.nist.gov/pubs/fips/180-4/upd1/final>. CryptoKit isn't used, because it
/// doesn't exist on every system on which this library runs.
enum SHA256 {
    /// Returns the SHA-256 digest of `bytes`, which has 32 bytes.
    static func digest(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var state = initial
        let message = padded(bytes)
        for start in stride(from: 0, to: message.count, by: 64) { compress(message[start..<start + 64], into: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    /// Returns the SHA-256 digest of a text's UTF-8, in lower-case hexadecimal digits.
    static func hex(_ text: String) -> String {
        digest(Array(text.utf8)).map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Returns `bytes` with the padding that SHA-256 prescribes: a one bit, zeros, and the length of `bytes` in bits.
    /// The result is a multiple of 64 bytes.
    private static func padded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var message = Array(bytes) + [0x80]
        message += Array(repeating: 0, count: (120 - message.count % 64) % 64)
        let bits = UInt64(bytes.count) * 8
        return message + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { place in
            block[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for place in 16..<64 {
            let (early, late) = (words[place - 15], words[place - 2])
            let first = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
            let second = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
            words.append(words[place - 16] &+ first &+ words[place - 7] &+ second)
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for place in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let one = h &+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) &+ choice &+ constants[place] &+ words[place]
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ two)
        }
        for (place, word) in [a, b, c, d, e, f, g, h].enumerated() { state[place] &+= word }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
