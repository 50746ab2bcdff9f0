import JOSE
import TestSupport
import Testing
import WebAuthn

@Suite("CBOR")
struct CBORTests {
    /// Most of these are from RFC 8949's appendix A.
    @Test(
        "items of the kinds that authenticators write are read",
        arguments: [
            ("00", .integer(0)), ("17", .integer(23)), ("1818", .integer(24)), ("1903e8", .integer(1000)),
            ("1a000f4240", .integer(1_000_000)), ("1b000000e8d4a51000", .integer(1_000_000_000_000)),
            ("1b7fffffffffffffff", .integer(.max)), ("20", .integer(-1)), ("3863", .integer(-100)),
            ("3b7fffffffffffffff", .integer(.min)), ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
            ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")), ("62c3bc", .text("ü")),
            ("80", .array([])), ("83010203", .array([.integer(1), .integer(2), .integer(3)])), ("a0", .map([:])),
            ("a201020304", .map([.integer(1): .integer(2), .integer(3): .integer(4)])),
            (
                "a26161016162820203",
                .map([.text("a"): .integer(1), .text("b"): .array([.integer(2), .integer(3)])])
            ),
            ("8181818100", .array([.array([.array([.array([.integer(0)])])])])),
        ] as [(String, CBOR)])
    func items(hex: String, item: CBOR) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(try CBOR(parsing: bytes) == item)
        #expect(item.encoded == bytes)
    }

    @Test(
        "what isn't one whole item, or is of another kind, is refused",
        arguments: [
            "", "18", "1900", "1b8000000000000000", "3b8000000000000000", "1c", "1f", "5f", "7f", "9f", "bf", "ff",
            "f7", "f97e00", "fb3ff199999999999a", "f818", "c074", "d82a00", "61ff", "62c3", "41", "5bffffffffffffffff",
            "9bffffffffffffffff", "bb7fffffffffffffff", "9a00ffffff00", "81", "a101", "a1f500", "a14100f5", "a180f5",
            "a201020102", "0000", "818181818100", "a100a100a100a100a10000",
        ])
    func refused(hex: String) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(throws: WebAuthnError.self) { try CBOR(parsing: bytes) }
    }

    @Test("items are read one after another")
    func sequence() throws {
        var reader = CBORReader([0x01, 0xA0, 0x41, 0x07, 0x02][...])
        #expect(try reader.item() == .integer(1))
        #expect(try reader.item() == .map([:]))
        #expect(try reader.item() == .bytes([7]))
        #expect(Array(reader.rest) == [2])
    }
}
