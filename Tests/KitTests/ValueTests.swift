import EmulatorCore
import Foundation
import TestSupport
import Testing

@testable import UnderstudyClient

@Suite("The client's values")
struct ValueTests {
    /// <https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values>
    @Test(
        "SHA-256 gives the published digests",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func digest(text: String, digest: String) { #expect(SHA256.hex(text) == digest) }

    @Test(
        "SHA-256 gives what openssl gives, at every length around a block's",
        arguments: [54, 55, 56, 57, 63, 64, 65, 119, 120, 1_000])
    func lengths(length: Int) throws {
        let text = String((0..<length).map { Character(Unicode.Scalar(UInt8(33 + $0 % 90))) })
        let told = try Shell.run("openssl", ["dgst", "-sha256", "-r"], input: text).output
        #expect(told.hasPrefix(SHA256.hex(text)))
    }

    @Test("a nonce is new each time, and its hash is that of its text")
    func nonce() {
        let nonce = NoncePair()
        #expect(nonce.raw.count == 32)
        #expect(nonce.raw.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        #expect(nonce.sha256 == SHA256.hex(nonce.raw))
        #expect(NoncePair() != nonce)
        #expect(NoncePair(raw: "abc").sha256.hasPrefix("ba7816bf"))
    }

    @Test(
        "a world's name is the daemon's for every text",
        arguments: [
            "", "checkout", "default", "Checkout", "a--b", "-a", "a-", "tests/test_login.py::test_google[chrome]", "ä",
            "日本", String(repeating: "a", count: 63), String(repeating: "a", count: 64),
            String(repeating: "a-", count: 40),
        ])
    func worldName(text: String) {
        #expect(Understudy.worldName(from: text) == WorldName.made(from: text))
    }

    @Test("a world's name of one's own is readable, valid and another one each time")
    func uniqueName() {
        let name = Understudy.uniqueWorldName(from: "signs in (Apple)")
        #expect(name.hasPrefix("signs-in-apple-"))
        #expect(WorldName.isValid(name))
        #expect(name != Understudy.uniqueWorldName(from: "signs in (Apple)"))
        #expect(Understudy.uniqueWorldName(from: "").hasPrefix("world-"))
    }

    @Test(
        "a duration is written in milliseconds",
        arguments: [
            (Duration.minutes(6), "360000ms"), (.hours(2), "7200000ms"), (.days(1), "86400000ms"),
            (.milliseconds(1_500), "1500ms"), (.milliseconds(-1), "-1ms"),
            (.seconds(-2) - .milliseconds(500), "-2500ms"),
            (.microseconds(1), "0ms"), (.seconds(Int64.max), "9223372036854775807ms"),
            (.seconds(Int64.min), "-9223372036854775807ms"), (.days(Int64.max), "9223372036854775807ms"),
            (.hours(Int64.min), "-9223372036854775807ms"), (.minutes(Int64.max), "9223372036854775807ms"),
        ])
    func duration(duration: Duration, text: String) { #expect(duration.wire == text) }

    @Test(
        "an error's code has its name, and its number where it has none",
        arguments: [
            (1000, "unknown"), (1001, "canceled"), (1005, "notInteractive"), (1006, "1006"), (999, "999"),
            (Int.min, String(Int.min)), (Int.max, String(Int.max)),
        ])
    func codeName(code: Int, name: String) { #expect(AppleAuthorizationError.Code(rawValue: code).name == name) }

    @Test("JSON is read and written as it is")
    func json() throws {
        let value: JSONValue = [
            "null": nil, "bool": true, "integer": 7, "number": 1.5, "text": "a\("b")", "list": [1, "two"],
            "object": ["a": []],
        ]
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
        #expect(value["null"] == .null)
        #expect(value["bool"]?.bool == true)
        #expect(value["integer"]?.integer == 7)
        #expect(value["integer"]?.number == 7)
        #expect(value["number"]?.number == 1.5)
        #expect(value["number"]?.integer == nil)
        #expect(value["text"]?.string == "ab")
        #expect(value["text"]?.number == nil)
        #expect(value["list"]?[1] == "two")
        #expect(value["list"]?[2] == nil)
        #expect(value["object"]?.object?.keys.first == "a")
        #expect(value["list"]?["a"] == nil)
        #expect(value["object"]?[0] == nil)
    }

    @Test("parts of an address are encoded")
    func address() {
        #expect(UnderstudyClient.Address.segment("a/b c+é") == "a%2Fb%20c%2B%C3%A9")
        #expect(UnderstudyClient.Address.segment("..") == "%2E%2E")
        #expect(UnderstudyClient.Address.segment("a.b") == "a.b")
        #expect(UnderstudyClient.Address.query([("to", "a+b@c"), ("x", "\t")]) == "?to=a%2Bb%40c&x=%09")
        #expect(UnderstudyClient.Address.query([]).isEmpty)
    }
}
