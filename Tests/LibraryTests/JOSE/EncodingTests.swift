import JOSE
import Testing

@Suite("Encodings")
struct EncodingTests {
    @Test("base64url round-trips every length", arguments: 0..<70)
    func roundTrip(length: Int) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        let text = Base64URL.encode(bytes)
        #expect(!text.contains("="))
        #expect(Base64URL.decode(text) == bytes)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }

    @Test(
        "base64url is strict",
        arguments: ["A", "AA==", "AAA=", "AA+A", "AA/A", "AA A", "AB", "AAB", "AA\n", "ÀAAA", "AAAAA", "=", "AA.A"])
    func strict(text: String) { #expect(Base64URL.decode(text) == nil) }

    @Test(
        "known values",
        arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("\u{3}\u{f}~?>", "Aw9-Pz4")])
    func known(plain: String, encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test("hex takes either case and writes lower case")
    func hex() {
        #expect(Hex.encode([0, 255, 16]) == "00ff10")
        #expect(Hex.decode("00fF10") == [0, 255, 16])
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
    }
}

@Suite("Digests")
struct DigestTests {
    @Test("SHA-256 of the FIPS 180 examples")
    func sha256() {
        #expect(Hex.encode(Digest.sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Hex.encode(Digest.sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test("HMAC-SHA256 of RFC 4231, case 2")
    func hmac() {
        let mac = Digest.hmacSHA256(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(Hex.encode(mac) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("at_hash of OpenID Connect's example")
    func leftHalf() {
        // The example is in OpenID Connect Core 1.0, appendix A.3.
        #expect(Algorithm.rs256.leftHalf(of: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y") == "77QmUPtjPfzWtF2AnpK9RQ")
    }

    @Test("constant-time comparison")
    func comparison() {
        #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
    }
}

@Suite("Randomness")
struct RandomnessTests {
    @Test("a seed gives the same bytes again, another seed others")
    func seeded() {
        var (first, second, other) = (Randomness(seed: "a"), Randomness(seed: "a"), Randomness(seed: "b"))
        let bytes = first.bytes(100)
        #expect(second.bytes(60) + second.bytes(40) == bytes)
        #expect(other.bytes(100) != bytes)
    }

    @Test("no byte of the system's is handed out twice, however many are asked for")
    func drawnOnce() {
        var random = Randomness(seed: nil)
        let pieces = (0..<3_000).map { random.bytes(8 + $0 % 40) } + [random.bytes(3_000), random.bytes(8)]
        var windows: Set<UInt64> = []
        var (window, count) = (UInt64(0), 0)
        for byte in pieces.joined() {
            window = window << 8 | UInt64(byte)
            count += 1
            if count >= 8 { windows.insert(window) }
        }
        #expect(windows.count == count - 7)
    }

    @Test("the system's bytes differ, and a text draws from its alphabet only")
    func system() {
        var random = Randomness(seed: nil)
        #expect(random.bytes(32) != random.bytes(32))
        let text = random.text(500, from: Array("abc".utf8))
        #expect(text.count == 500)
        #expect(Set(text) == Set("abc"))
    }
}
