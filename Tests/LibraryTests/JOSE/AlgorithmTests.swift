import Foundation
import JSON
import TestSupport
import Testing

@testable import JOSE

@Suite("Signature algorithms")
struct AlgorithmTests {
    static let message = Array("header.payload".utf8)

    @Test(
        "PyJWT verifies each with the key set, and no other key's", .pyJWT,
        arguments: Algorithm.allCases.filter { $0 != .hs256 })
    func independent(algorithm: Algorithm) throws {
        let key = try Key.generate(for: algorithm)
        let token = try JWS.mint(
            header: JSONObject([("alg", .string(algorithm.rawValue)), ("kid", "k")]),
            claims: JSONObject([("sub", "ada")]), key: key, algorithm: algorithm)
        func check(with key: Key) throws -> TokenVerifier.Check {
            let set: JSONValue = ["keys": [key.jwk(keyID: "k", algorithm: algorithm)]]
            return try TokenVerifier.Check(
                token, keys: set.text, algorithms: [algorithm.rawValue], requires: ["sub"])
        }
        let verdicts = try TokenVerifier.verify([check(with: key), check(with: try Key.generate(for: algorithm))])
        #expect(verdicts[0].claims?["sub"] as? String == "ada", "\(verdicts[0])")
        #expect(verdicts[1].refusal == "InvalidSignatureError", "\(verdicts[1])")
    }

    @Test("PyJWT's HMAC is ours, and another secret's isn't", .pyJWT)
    func hmac() throws {
        let secret = "a client's secret of more than 32 bytes"
        let theirs = ["kty": "oct", "k": Base64URL.encode(Array(secret.utf8)), "alg": "HS256"]
        let another = ["kty": "oct", "k": Base64URL.encode(Array("another".utf8)), "alg": "HS256"]
        let token = try JWS(parsing: try TokenVerifier.mint(["sub": "ada"], key: theirs, algorithm: "HS256"))
        let ours = try Key(secret: Array(secret.utf8))
        #expect(token.verify(with: ours, algorithm: .hs256) == .valid)
        #expect(token.verify(with: try Key(secret: Array("another".utf8)), algorithm: .hs256) == .invalid)
        let minted = try JWS.mint(
            header: JSONObject([("alg", "HS256")]), claims: JSONObject([("sub", "ada")]), key: ours, algorithm: .hs256)
        let verdicts = try TokenVerifier.verify(
            [theirs, another].map {
                let set = try JSONSerialization.data(withJSONObject: ["keys": [$0]])
                return try TokenVerifier.Check(
                    minted, keys: String(decoding: set, as: UTF8.self), algorithms: ["HS256"], requires: ["sub"])
            })
        #expect(verdicts[0].claims?["sub"] as? String == "ada", "\(verdicts[0])")
        #expect(verdicts[1].refusal == "InvalidSignatureError", "\(verdicts[1])")
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

    @Test("an EdDSA signature is the one of RFC 8037's appendix A")
    func edDSA() throws {
        let key = try Key(jwk: ["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"])
        let token = try JWS(
            parsing: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
                .replacing("RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc", with: "e30") + ".AA")
        // The appendix signs a text that isn't a set of claims, so its parts are decoded here.
        let input = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
        let signature = try #require(
            Base64URL.decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"))
        #expect(key.verify(signature, of: input, with: .edDSA) == .valid)
        #expect(token.verify(with: key, algorithm: .edDSA) == .wrongLength(found: 1, expected: 64))
    }

    @Test("openssl verifies an EdDSA signature of ours", .enabled(if: Machine.isLinux, "macOS's openssl can't"))
    func ownEdDSA() throws {
        let own = try Key.generateEd25519()
        let x = try #require(own.jwk(keyID: "k", algorithm: .edDSA)["x"]?.string.flatMap { Base64URL.decode($0) })
        // These bytes precede the 32 bytes of a public key in DER: RFC 8410.
        let prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
        let openssl = try OpenSSLTool()
        let key = try openssl.file("public.der", prefix + x)
        let signature = try openssl.file("signature", own.sign(AlgorithmTests.message, with: .edDSA))
        func verdict(of message: [UInt8]) throws -> String {
            try Shell.run(
                "openssl",
                [
                    "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin", "-in",
                    openssl.file("message", message), "-sigfile", signature,
                ]
            ).output
        }
        #expect(try verdict(of: AlgorithmTests.message).contains("Verified Successfully"))
        #expect(try verdict(of: AlgorithmTests.message + [0]).contains("Verification Failure"))
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

    @Test(
        "at_hash is the left half of the hash in the algorithm's name, of SHA-512 for EdDSA",
        arguments: Algorithm.allCases)
    func leftHalf(algorithm: Algorithm) throws {
        let text = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let name = algorithm == .edDSA ? "512" : String(algorithm.rawValue.suffix(3))
        let digest = try Shell.run("openssl", ["dgst", "-sha\(name)", "-r"], input: text).output.prefix { $0 != " " }
        let ours = try #require(Base64URL.decode(algorithm.leftHalf(of: text)))
        #expect(ours.map { String(format: "%02x", $0) }.joined() == digest.prefix(digest.count / 2))
        if algorithm == .rs256 { #expect(algorithm.leftHalf(of: text) == "77QmUPtjPfzWtF2AnpK9RQ") }
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
