import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("Keys and signatures")
struct KeyTests {
    static let message = Array("header.payload".utf8)

    /// Returns this number of bytes in base64url, none of them 0.
    private static func bytes(_ count: Int) -> String { Base64URL.encode([UInt8](repeating: 0xAB, count: count)) }

    @Test("an RS256 signature is deterministic, and openssl verifies it from the command line")
    func rs256() throws {
        let key = try Key.generateRSA()
        #expect(key.kind == .rsa(bits: 2048))
        let signature = try key.sign(KeyTests.message, with: .rs256)
        #expect(try key.sign(KeyTests.message, with: .rs256) == signature)
        #expect(key.verify(signature, of: KeyTests.message, with: .rs256) == .valid)
        #expect(key.verify(signature, of: [0], with: .rs256) == .invalid)
        let folder = FileManager.default.temporaryDirectory.appending(path: "understudy-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(signature).write(to: folder.appending(path: "signature"))
        try Data(KeyTests.message).write(to: folder.appending(path: "message"))
        try Data(key.publicPEM().utf8).write(to: folder.appending(path: "key.pem"))
        let place = folder.path()
        let result = try Shell.run(
            "openssl",
            ["dgst", "-sha256", "-verify", "\(place)/key.pem", "-signature", "\(place)/signature", "\(place)/message"])
        #expect(result.output.contains("Verified OK"))
        try Data(key.pem().utf8).write(to: folder.appending(path: "private.pem"))
        _ = try Shell.run(
            "openssl",
            ["dgst", "-sha256", "-sign", "\(place)/private.pem", "-out", "\(place)/theirs", "\(place)/message"])
        #expect(try Array(Data(contentsOf: folder.appending(path: "theirs"))) == signature)
    }

    @Test("many threads sign with one key, from its first signature on")
    func manyThreads() async throws {
        let key = try Key.generateRSA()
        let signatures = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<32 { group.addTask { try key.sign(KeyTests.message, with: .rs256) } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(signatures.count == 1)
        #expect(signatures.allSatisfy { key.verify($0, of: KeyTests.message, with: .rs256) == .valid })
    }

    @Test("a public key signs nothing")
    func publicKey() throws {
        let key = try Key(pem: Array(Key.generateRSA().publicPEM().utf8))
        #expect(throws: KeyError.self) { try key.sign(KeyTests.message, with: .rs256) }
    }

    @Test("an ES256 signature is 64 bytes that openssl verifies in DER, and the other way round")
    func es256() throws {
        let key = try Key.generateP256()
        let signature = try key.sign(KeyTests.message, with: .es256)
        #expect(signature.count == 64)
        let openssl = try OpenSSLTool()
        let pem = try key.publicPEM()
        let der = try openssl.der(ofRaw: signature)
        #expect(try openssl.isValid(der, of: KeyTests.message, publicPEM: pem))
        #expect(try !openssl.isValid(der, of: [0], publicPEM: pem))
        let other = try openssl.ellipticKey("P-256")
        let ours = try Key(pem: Array(other.publicPEM.utf8))
        let foreign = try openssl.signature(of: KeyTests.message, privatePEM: other.privatePEM)
        #expect(ours.verify(try openssl.raw(ofDER: foreign), of: KeyTests.message, with: .es256) == .valid)
        #expect(ours.verify(signature, of: KeyTests.message, with: .es256) == .invalid)
    }

    @Test("a DER signature is refused by its name")
    func der() throws {
        let openssl = try OpenSSLTool()
        let key = try openssl.ellipticKey("P-256")
        let ours = try Key(pem: Array(key.publicPEM.utf8))
        let signature = try openssl.signature(of: KeyTests.message, privatePEM: key.privatePEM)
        #expect(ours.verify(signature, of: KeyTests.message, with: .es256) == .derEncoded)
        #expect(ECDSASignature.raw(fromDER: signature) == (try openssl.raw(ofDER: signature)))
        #expect(ours.verify([1, 2, 3], of: KeyTests.message, with: .es256) == .wrongLength(found: 3, expected: 64))
        #expect(ours.verify([UInt8](repeating: 0, count: 64), of: KeyTests.message, with: .es256) == .invalid)
        #expect(ours.verify([UInt8](repeating: 255, count: 64), of: KeyTests.message, with: .es256) == .invalid)
        #expect(ours.verify([UInt8](repeating: 1, count: 256), of: KeyTests.message, with: .rs256) == .wrongKeyType)
    }

    @Test(
        "an ECDSA signature has the width of its curve, and one in DER is named as such",
        arguments: [
            (Algorithm.es384, "P-384", 96), (.es512, "P-521", 132),
        ])
    func widths(algorithm: Algorithm, curve: String, width: Int) throws {
        let openssl = try OpenSSLTool()
        let key = try openssl.ellipticKey(curve)
        let ours = try Key(pem: Array(key.privatePEM.utf8))
        for _ in 0..<8 { #expect(try ours.sign(KeyTests.message, with: algorithm).count == width) }
        let der = try ECDSASignature.der(fromRaw: ours.sign(KeyTests.message, with: algorithm), width: width / 2) ?? []
        #expect(ours.verify(der, of: KeyTests.message, with: algorithm) == .derEncoded)
        #expect(
            ours.verify([1, 2, 3], of: KeyTests.message, with: algorithm) == .wrongLength(found: 3, expected: width))
        #expect(ours.verify([UInt8](repeating: 0, count: width), of: KeyTests.message, with: algorithm) == .invalid)
        #expect(ours.verify([UInt8](repeating: 255, count: width), of: KeyTests.message, with: algorithm) == .invalid)
    }

    @Test(
        "keys are written as PEM that reads back",
        arguments: Algorithm.allCases.filter { $0 != .hs256 })
    func pem(algorithm: Algorithm) throws {
        let key = try Key.generate(for: algorithm)
        let again = try Key(pem: Array(key.pem().utf8))
        #expect(again.isPrivate)
        let publicHalf = try Key(pem: Array(key.publicPEM().utf8))
        #expect(!publicHalf.isPrivate)
        let signature = try again.sign(KeyTests.message, with: algorithm)
        #expect(publicHalf.verify(signature, of: KeyTests.message, with: algorithm) == .valid)
        #expect(throws: KeyError.self) { try publicHalf.sign(KeyTests.message, with: algorithm) }
        let fromJWK = try Key(jwk: key.jwk(keyID: "k", algorithm: algorithm))
        #expect(fromJWK.kind == key.kind)
        #expect(fromJWK.verify(signature, of: KeyTests.message, with: algorithm) == .valid)
    }

    @Test(
        "a PEM that is no key is refused with what it is",
        arguments: [
            ("", "no PEM block"), ("hello", "no PEM block"),
            ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", "\"EC PRIVATE KEY\""),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "\"CERTIFICATE\""),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "can't read"),
            ("-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n", "can't read"),
        ])
    func badPEM(text: String, reason: String) throws {
        let error = #expect(throws: KeyError.self) { try Key(pem: Array(text.utf8)) }
        #expect(error?.description.contains(reason) ?? false)
    }

    @Test("a key on another curve is refused")
    func otherCurves() throws {
        let pem = try OpenSSLTool().ellipticKey("secp256k1").publicPEM
        let error = #expect(throws: KeyError.self) { try Key(pem: Array(pem.utf8)) }
        #expect(error?.description.contains("only RSA, P-256") ?? false)
    }

    @Test(
        "a JWK that makes no key is refused",
        arguments: [
            "{}", #"{"kty":"RSA"}"#, #"{"kty":"RSA","n":"AQAB","e":"!"}"#,
            #"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#,
            #"{"kty":"EC","crv":"P-384","x":"AQ","y":"AQ"}"#, #"{"kty":"oct","k":"AQ"}"#, "[]", "7",
            #"{"kty":"RSA","n":"AA","e":"AQAB"}"#, #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
            #"{"kty":"OKP","crv":"Ed25519","x":"AQ"}"#, #"{"kty":"OKP","crv":"X25519","x":"\#(bytes(32))"}"#,
            #"{"kty":"RSA","n":"\#(bytes(256))","e":"\#(bytes(9))"}"#,
            #"{"kty":"RSA","n":"\#(bytes(1025))","e":"AQAB"}"#,
        ])
    func badJWK(text: String) throws {
        let jwk = try JSONValue(parsing: text)
        #expect(throws: KeyError.self) { try Key(jwk: jwk) }
    }
}
