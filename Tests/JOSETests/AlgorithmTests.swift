import Crypto
import Foundation
import JSON
import JWTKit
import TestSupport
import Testing

@testable import JOSE

@Suite("Signature algorithms")
struct AlgorithmTests {
    static let message = Array("header.payload".utf8)

    private struct Anything: JWTPayload {
        let sub: String
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    @Test(
        "jwt-kit verifies each with the key set, and no other key's",
        arguments: [Algorithm.rs256, .ps256, .es256, .edDSA])
    func independent(algorithm: Algorithm) async throws {
        let key = try Key.generate(for: algorithm)
        let token = try JWS.mint(
            header: JSONObject([("alg", .string(algorithm.rawValue)), ("kid", "k")]),
            claims: JSONObject([("sub", "ada")]), key: key, algorithm: algorithm)
        func verify(with key: Key) async throws -> Anything {
            let set: JSONValue = ["keys": [key.jwk(keyID: "k", algorithm: algorithm)]]
            return try await JWTKeyCollection().add(jwksJSON: set.text).verify(token, as: Anything.self)
        }
        #expect(try await verify(with: key).sub == "ada")
        let other = try Key.generate(for: algorithm)
        await #expect(throws: JWTError.self) { try await verify(with: other) }
    }

    @Test("jwt-kit's HMAC is ours, and another secret's isn't")
    func hmac() async throws {
        let secret = "a client's secret of more than 32 bytes"
        let theirs = await JWTKeyCollection().add(hmac: .init(stringLiteral: secret), digestAlgorithm: .sha256)
        struct Claims: JWTPayload {
            let sub: String
            func verify(using algorithm: some JWTAlgorithm) {}
        }
        let token = try JWS(parsing: try await theirs.sign(Claims(sub: "ada")))
        let ours = try Key(secret: Array(secret.utf8))
        #expect(token.verify(with: ours, algorithm: .hs256) == .valid)
        #expect(token.verify(with: try Key(secret: Array("another".utf8)), algorithm: .hs256) == .invalid)
        let minted = try JWS.mint(
            header: JSONObject([("alg", "HS256")]), claims: JSONObject([("sub", "ada")]), key: ours, algorithm: .hs256)
        #expect(try await theirs.verify(minted, as: Claims.self).sub == "ada")
        #expect(throws: KeyError.self) { try Key(secret: []) }
        #expect(ours.jwk(keyID: "k", algorithm: .hs256)["k"] == nil)
    }

    @Test("openssl verifies PSS with a salt as long as the hash, and we refuse another salt")
    func pss() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "understudy-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String) -> String { folder.appending(path: name).path() }
        let key = try Key.generateRSA()
        try Data(AlgorithmTests.message).write(to: URL(filePath: file("message")))
        try Data(key.publicPEM().utf8).write(to: URL(filePath: file("public")))
        try Data(key.pem().utf8).write(to: URL(filePath: file("private")))
        try Data(key.sign(AlgorithmTests.message, with: .ps256)).write(to: URL(filePath: file("signature")))
        let padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt"]
        let verified = try Shell.run(
            "openssl",
            ["dgst", "-sha256"] + padding
                + ["rsa_pss_saltlen:32", "-verify", file("public"), "-signature", file("signature"), file("message")])
        #expect(verified.output.contains("Verified OK"))
        for (length, verdict) in [("32", Verdict.valid), ("20", .invalid)] {
            _ = try Shell.run(
                "openssl",
                ["dgst", "-sha256"] + padding
                    + ["rsa_pss_saltlen:\(length)", "-sign", file("private"), "-out", file("theirs"), file("message")])
            let theirs = try Array(Data(contentsOf: URL(filePath: file("theirs"))))
            #expect(key.verify(theirs, of: AlgorithmTests.message, with: .ps256) == verdict)
            #expect(key.verify(theirs, of: AlgorithmTests.message, with: .rs256) == .invalid)
        }
    }

    @Test("an EdDSA signature is the one of RFC 8037's appendix A, and swift-crypto verifies ours")
    func edDSA() throws {
        let key = try Key(jwk: ["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"])
        let token = try JWS(
            parsing: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
                .replacing("RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc", with: "e30") + ".AA")
        // The appendix signs a text that isn't a set of claims, so its parts are put together here.
        let input = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
        let signature = try #require(
            Base64URL.decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"))
        #expect(key.verify(signature, of: input, with: .edDSA) == .valid)
        #expect(token.verify(with: key, algorithm: .edDSA) == .wrongLength(found: 1, expected: 64))
        let own = try Key.generateEd25519()
        let x = try #require(own.jwk(keyID: "k", algorithm: .edDSA)["x"]?.string.flatMap { Base64URL.decode($0) })
        let theirs = try Curve25519.Signing.PublicKey(rawRepresentation: x)
        #expect(theirs.isValidSignature(Data(try own.sign(input, with: .edDSA)), for: Data(input)))
    }

    @Test("a key signs and verifies with its own kind's algorithms only")
    func kinds() throws {
        let message = AlgorithmTests.message
        for made in Algorithm.allCases {
            let key = try Key.generate(for: made)
            for algorithm in Algorithm.allCases where !key.suits(algorithm) {
                #expect(throws: KeyError.self) { try key.sign(message, with: algorithm) }
                #expect(key.verify([UInt8](repeating: 1, count: 64), of: message, with: algorithm) == .wrongKeyType)
            }
            let signature = try key.sign(message, with: made)
            #expect(key.verify(signature, of: message, with: made) == .valid)
            #expect(key.verify(signature, of: message + [0], with: made) == .invalid)
        }
    }

    @Test("at_hash is the left half of the hash in the algorithm's name, of SHA-512 for EdDSA")
    func leftHalf() {
        let text = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        for algorithm in Algorithm.allCases where algorithm != .edDSA {
            #expect(algorithm.leftHalf(of: text) == "77QmUPtjPfzWtF2AnpK9RQ")
        }
        let half = Data(SHA512.hash(data: Data(text.utf8)).prefix(32))
        #expect(Base64URL.decode(Algorithm.edDSA.leftHalf(of: text)).map { Data($0) } == half)
    }

    // MARK: - Key sets

    private func token(_ key: Key, _ algorithm: Algorithm, kid: String?) throws -> JWS {
        var header = JSONObject([("alg", .string(algorithm.rawValue))])
        header["kid"] = kid.map { .string($0) }
        return try JWS(parsing: try JWS.mint(header: header, claims: JSONObject(), key: key, algorithm: algorithm))
    }

    @Test("a key set tells a wrong algorithm, an unknown key and a wrong signature apart")
    func keySet() throws {
        let (rsa, ec) = (try Key.generateRSA(), try Key.generateP256())
        let set = KeySet([
            "keys": [
                ["kty": "oct", "k": "AQ"], rsa.jwk(keyID: "r", algorithm: .rs256),
                ec.jwk(keyID: "e", algorithm: .es256),
            ]
        ])
        #expect(set.fault(of: try token(rsa, .rs256, kid: "r"), allowing: [.rs256]) == nil)
        #expect(set.fault(of: try token(ec, .es256, kid: nil), allowing: [.rs256, .es256]) == nil)
        #expect(set.fault(of: try token(ec, .es256, kid: "e"), allowing: [.rs256]) == .algorithm)
        #expect(set.fault(of: try token(rsa, .rs256, kid: "x"), allowing: [.rs256]) == .unknownKey)
        // The set says that the key is for RS256.
        #expect(set.fault(of: try token(rsa, .ps256, kid: "r"), allowing: [.ps256]) == .signature(.wrongKeyType))
        #expect(
            set.fault(of: try token(try .generateP256(), .es256, kid: "e"), allowing: [.es256]) == .signature(.invalid))
        #expect(KeySet(["keys": "none"]).isEmpty)
    }

    @Test("no more of a key set is read than sets in use hold")
    func manyKeys() throws {
        let key = try Key.generateP256()
        let other: JSONValue = try Key.generateP256().jwk(keyID: "other", algorithm: .es256)
        let set = KeySet([
            "keys": .array(
                Array(repeating: other, count: KeySet.limit) + [key.jwk(keyID: "k", algorithm: .es256)])
        ])
        #expect(set.fault(of: try token(key, .es256, kid: "k"), allowing: [.es256]) == .unknownKey)
    }
}
