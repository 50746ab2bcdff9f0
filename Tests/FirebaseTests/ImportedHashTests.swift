import Foundation
import JOSE
import TestSupport
import Testing

/// Imports with hashes. The refusals are recorded: https://github.com/t-k/fireemu,
/// conformance/auth-account-production.json, programs `admin/import-hash/…`. The hashes are computed here, or are from
/// their specifications.
@Suite("Firebase: imported hashes of passwords")
struct ImportedHashTests {
    private let production: Production

    init() throws { production = try Production() }

    private func upload(_ user: [String: String], _ options: [String: Any]) throws -> Answer {
        let known = ["localId": "u", "email": "u@example.org"]
        return try production.admin(
            "/accounts:batchCreate", options.merging(["users": [known.merging(user) { $1 }]]) { $1 })
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private struct Hash: Sendable {
        let options: String
        let hash: String
        let salt: String
        var password = "password123"
    }

    private static let hashes: [Hash] = {
        let (key, salt, password) = (Array("secret-key".utf8), Array("salty".utf8), Array("password123".utf8))
        var hashes: [Hash] = []
        for function in [PasswordHashing.Function.md5, .sha1, .sha256, .sha512] {
            let name = function.rawValue
            for (order, input) in [("SALT_AND_PASSWORD", salt + password), ("PASSWORD_AND_SALT", password + salt)] {
                hashes.append(
                    Hash(
                        options:
                            #"{"hashAlgorithm":"HMAC_\#(name)","signerKey":"\#(base64(key))","passwordHashOrder":"\#(order)"}"#,
                        hash: base64(PasswordHashing.hmac(function, key: key, input)), salt: base64(salt)))
            }
            let once = PasswordHashing.digest(function, salt + password)
            hashes.append(
                Hash(
                    options: #"{"hashAlgorithm":"\#(name)","rounds":2,"passwordHashOrder":"SALT_AND_PASSWORD"}"#,
                    hash: base64(PasswordHashing.digest(function, once)), salt: base64(salt)))
        }
        hashes += [
            // https://github.com/firebase/scrypt, "Sample parameters"
            Hash(
                options: """
                    {"hashAlgorithm":"SCRYPT","rounds":8,"memoryCost":14,"saltSeparator":"Bw==","signerKey":\
                    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="}
                    """,
                hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
                salt: "42xEC+ixf3L2lw==", password: "user1password"),
            // RFC 7914 §12: scrypt of "pleaseletmein"
            Hash(
                options:
                    #"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":16384,"blockSize":8,"parallelization":1,"dkLen":64}"#,
                hash: "cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw==",
                salt: base64(Array("SodiumChloride".utf8)), password: "pleaseletmein"),
            // RFC 6070: PBKDF2 with 4,096 rounds
            Hash(
                options: #"{"hashAlgorithm":"PBKDF_SHA1","rounds":4096}"#,
                hash: "SwB5AbdlSJq+rUnZJvch0GWkKcE=", salt: base64(Array("salt".utf8)), password: "password"),
        ]
        return hashes
    }()

    @Test("a password whose hash was imported signs in, and no other", arguments: hashes)
    private func signsIn(_ hash: Hash) throws {
        let options = try JSONSerialization.jsonObject(with: Data(hash.options.utf8)) as? [String: Any] ?? [:]
        #expect(try upload(["passwordHash": hash.hash, "salt": hash.salt], options).names == ["kind"])
        #expect(try production.signIn("u", hash.password).status == 200, "\(hash.options)")
        #expect(try production.signIn("u", hash.password + "x").message == "INVALID_LOGIN_CREDENTIALS")
        let user = try production.user("u")
        #expect(user["passwordHash"] as? String == "UkVEQUNURUQ=")
        #expect(user["salt"] == nil)
    }

    @Test(
        "parameters are judged, those that aren't there, too",
        arguments: [
            (#"{}"#, ""), (#"{"hashAlgorithm":"NOT_AN_ALGORITHM"}"#, "INVALID_HASH_ALGORITHM"),
            (#"{"hashAlgorithm":"HMAC_SHA256"}"#, "EMPTY_HASH_KEY"), (#"{"hashAlgorithm":"HMAC_SHA512"}"#, ""),
            (#"{"hashAlgorithm":"PBKDF_SHA1"}"#, "INVALID_HASH_ROUNDS"),
            (#"{"hashAlgorithm":"PBKDF_SHA1","rounds":120001}"#, "INVALID_HASH_ROUNDS"),
            (#"{"hashAlgorithm":"SHA256","rounds":8193}"#, "INVALID_HASH_ROUNDS"),
            (#"{"hashAlgorithm":"MD5","rounds":8193}"#, "INVALID_HASH_ROUNDS"), (#"{"hashAlgorithm":"MD5"}"#, ""),
            (#"{"hashAlgorithm":"SCRYPT","rounds":8,"memoryCost":14}"#, ""),
            (#"{"hashAlgorithm":"SCRYPT","rounds":8,"memoryCost":15}"#, "INVALID_HASH_MEMORY_COSTS"),
            (#"{"hashAlgorithm":"SCRYPT","rounds":9,"memoryCost":14}"#, "INVALID_HASH_ROUNDS"),
            (
                #"{"hashAlgorithm":"STANDARD_SCRYPT","parallelization":1,"blockSize":8,"dkLen":32}"#,
                "INVALID_HASH_PARAMETER"
            ), (#"{"hashAlgorithm":"ARGON2"}"#, "INVALID_ARGON2_MEMORY_COST"),
            (
                #"{"hashAlgorithm":"ARGON2","argon2Parameters":{"memoryCostKib":1024,"iterations":17}}"#,
                "INVALID_ARGON2_ITERATIONS"
            ),
            (
                #"{"hashAlgorithm":"ARGON2","argon2Parameters":{"memoryCostKib":1024,"iterations":2}}"#,
                "INVALID_ARGON2_PARALLELISM"
            ),
            (
                #"{"hashAlgorithm":"ARGON2","argon2Parameters":{"memoryCostKib":1,"iterations":2,"parallelism":1}}"#,
                "INVALID_ARGON2_HASH_TYPE"
            ),
        ])
    func parameters(options: String, wanted: String) throws {
        let options = try JSONSerialization.jsonObject(with: Data(options.utf8)) as? [String: Any] ?? [:]
        #expect(try upload(["passwordHash": "aGFzaA==", "salt": "c2FsdA=="], options).message == wanted)
        #expect(try production.user("u").isEmpty == !wanted.isEmpty)
    }

    @Test("HMAC_SHA512 without a key is taken, and then production fails; numbers that nobody means match nothing")
    func broken() throws {
        // admin/import-hash/errors, step sign-in-hmac-sha512-without-key
        _ = try upload(["passwordHash": "aGFzaA=="], ["hashAlgorithm": "HMAC_SHA512"])
        let answer = try production.signIn("u")
        #expect(answer.status == 500)
        #expect(answer.message == "Internal error encountered.")
        let huge: [String: Any] = [
            "hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1 << 30, "blockSize": 1 << 30, "parallelization": 1 << 30,
            "dkLen": 64,
        ]
        _ = try upload(["passwordHash": "aGFzaA=="], huge)
        #expect(try production.signIn("u").message == "INVALID_LOGIN_CREDENTIALS")
    }
}
