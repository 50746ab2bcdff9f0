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

    private static func argon2(_ parameters: String, _ hash: String) -> Hash {
        Hash(
            options: #"{"hashAlgorithm":"ARGON2","argon2Parameters":{\#(parameters)}}"#, hash: hash,
            salt: base64(Array("salt-value-01".utf8)))
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
            let (rounds, twice) =
                function == .md5
                ? (1, Array(Hex.encode(PasswordHashing.digest(.md5, once + password)).utf8))
                : (2, PasswordHashing.digest(function, once))
            hashes.append(
                Hash(
                    options:
                        #"{"hashAlgorithm":"\#(name)","rounds":\#(rounds),"passwordHashOrder":"SALT_AND_PASSWORD"}"#,
                    hash: base64(twice), salt: base64(salt)))
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
            // Made with the Python packages bcrypt 5.0 and argon2-cffi 25.1.
            Hash(
                options: #"{"hashAlgorithm":"BCRYPT"}"#,
                hash:
                    "JDJhJDA1JGFiY2RlZmdoaWprbG1ub3BxcnN0dXVWdml6RmlJRktSSGY1T1FheS9obS43Z00wTkpnUDF1",
                salt: ""),
            Hash(
                options: #"{"hashAlgorithm":"BCRYPT"}"#,
                hash:
                    "JDJ5JDA1JGFiY2RlZmdoaWprbG1ub3BxcnN0dXVWdml6RmlJRktSSGY1T1FheS9obS43Z00wTkpnUDF1",
                salt: ""),
            argon2(
                #""hashType":"ARGON2_ID","iterations":2,"memoryCostKib":64,"parallelism":1,"hashLengthBytes":32"#,
                "nU1IYtgVX4h/4AUvAYaSPJfAdqFPZJY5AY4rX4wqXmg="),
            argon2(
                #""hashType":"ARGON2_I","iterations":1,"memoryCostKib":100,"parallelism":2,"version":"VERSION_13""#,
                "da2Fkgwg0o9xEmYDR3AKnQ=="),
            argon2(
                #""hashType":1,"iterations":3,"memoryCostKib":128,"parallelism":4,"hashLengthBytes":64"#,
                "Aprp2ghJVBFadCM8SYbgsNO3/60tHRjxHQ0jvb9D41asX7I4vb6v1vLqRuxqfhZ/BpS+cjhHip170SVwiTAx1Q=="),
            argon2(
                #""hashType":"ARGON2_ID","iterations":2,"memoryCostKib":72,"parallelism":1,"version":"VERSION_10""#,
                "Odpiz0UJ5Xh1B/77hR7TkVIBGXZXkq/Srxfs6pJqwUOruhLGfsCGa9apdqULPJg8DFrSc+4SbHtm8k1QwiEvhIM3xvu5aOFv"
                    + "AuXHxL6nEA9WDAKm+1Ar37zVzwQ3PLIMQImznA=="),
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

    @Test(
        "a hash that can't be computed, or that costs too much, matches nothing and says why",
        arguments: [
            (
                #"{"hashAlgorithm":"BCRYPT"}"#, "$2b$15$abcdefghijklmnopqrstuuVvizFiIFKRHf5OQay/hm.7gM0NJgP1u",
                "a cost of 4 to 14"
            ),
            (#"{"hashAlgorithm":"BCRYPT"}"#, "password123", "isn't $2a$, $2b$ or $2y$"),
            (
                #"{"hashAlgorithm":"BCRYPT"}"#, "$2b$05$abcdefghijklmnopqrs!uuVvizFiIFKRHf5OQay/hm.7gM0NJgP1u",
                "isn't $2a$"
            ),
            (
                #"{"hashAlgorithm":"ARGON2","argon2Parameters":{"hashType":"ARGON2_ID","iterations":1,"memoryCostKib":7,"parallelism":1}}"#,
                "12345678", "no hash can be computed with the parameters"
            ),
            // admin/import-hash/errors, step argon2-hash-length-3: it is taken.
            (
                #"{"hashAlgorithm":"ARGON2","argon2Parameters":{"hashType":2,"iterations":1,"memoryCostKib":8,"parallelism":1,"hashLengthBytes":3}}"#,
                "123", "no hash can be computed with the parameters"
            ),
            (
                #"{"hashAlgorithm":"PBKDF2_SHA256","rounds":120000}"#, String(repeating: "x", count: 4_096),
                "it would cost too much"
            ),
        ])
    func tooDear(options: String, hash: String, reason: String) throws {
        let options = try JSONSerialization.jsonObject(with: Data(options.utf8)) as? [String: Any] ?? [:]
        #expect(try upload(["passwordHash": Self.base64(Array(hash.utf8))], options).status == 200)
        let refusal = try production.signIn("u")
        #expect(refusal.message == "INVALID_LOGIN_CREDENTIALS")
        #expect(refusal.diagnosis.contains(reason))
    }

    @Test(
        "a snapshot whose hash has rounds that no import takes matches nothing, and crashes nothing",
        arguments: [-1, 1 << 50])
    func snapshot(rounds: Int) throws {
        #expect(try upload(["passwordHash": "aGFzaA=="], ["hashAlgorithm": "MD5", "rounds": 4_321]).status == 200)
        let client = production.fixture.client
        let snapshot = try client.get("\(FirebaseFixture.control)/snapshot").text
        #expect(snapshot.contains("4321"))
        let changed = snapshot.replacingOccurrences(of: "4321", with: String(rounds))
        #expect(
            try client.request("PUT", "\(FirebaseFixture.control)/snapshot", body: Array(changed.utf8)).status == 200)
        let refusal = try production.signIn("u")
        #expect(refusal.message == "INVALID_LOGIN_CREDENTIALS")
        #expect(refusal.diagnosis.contains("\(rounds) rounds"), "\(refusal)")
    }

    @Test("associated data of ARGON2 counts, and must be base64")
    func associatedData() throws {
        var parameters: [String: Any] = ["hashType": "ARGON2_D", "iterations": 1, "memoryCostKib": 8, "parallelism": 1]
        let argon2 = Argon2(kind: .d, memory: 8, passes: 1, associatedData: Array("app".utf8))
        let hash = try #require(argon2.hash(Array("password123".utf8), salt: Array("salty".utf8), length: 16))
        let user = ["passwordHash": Self.base64(hash), "salt": Self.base64(Array("salty".utf8))]
        for (data, status) in [("YXBw", 200), ("YXBx", 400)] {
            parameters["associatedData"] = data
            _ = try upload(user, ["hashAlgorithm": "ARGON2", "argon2Parameters": parameters])
            #expect(try production.signIn("u").status == status)
        }
        parameters["associatedData"] = "?"
        let answer = try upload(user, ["hashAlgorithm": "ARGON2", "argon2Parameters": parameters])
        #expect(answer.message.hasPrefix("Invalid value at 'argon2_parameters.associated_data' (TYPE_BYTES)"))
    }
}

@Suite("JOSE: password hashes that OpenSSL lacks")
struct PasswordHashTests {
    @Test(
        "Argon2 makes the tags of RFC 9106 §5",
        arguments: [
            (Argon2.Kind.d, "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb"),
            (.i, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
            (.id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
        ])
    func argon2(kind: Argon2.Kind, tag: String) throws {
        func bytes(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }
        let argon2 = Argon2(kind: kind, memory: 32, passes: 3, lanes: 4, associatedData: bytes(4, 12))
        let hash = argon2.hash(bytes(1, 32), salt: bytes(2, 16), secret: bytes(3, 8), length: 32)
        #expect(hash.map { Hex.encode($0) } == tag)
    }

    @Test("Argon2 computes nothing that costs too much or makes no sense")
    func argon2Bounds() {
        func hash(memory: Int = 8, passes: Int = 1, lanes: Int = 1, length: Int = 4) -> [UInt8]? {
            Argon2(kind: .id, memory: memory, passes: passes, lanes: lanes).hash([], salt: [], length: length)
        }
        #expect(hash() != nil)
        #expect(hash(memory: 7) == nil)
        #expect(hash(memory: 32_769) == nil)
        #expect(hash(passes: 17) == nil)
        #expect(hash(memory: 136, lanes: 17) == nil)
        #expect(hash(length: 1_025) == nil)
    }

    @Test("bcrypt reads 72 bytes of a password")
    func bcrypt() throws {
        let hash = try #require(BCrypt("$2b$04$abcdefghijklmnopqrstuuekcEwyEfGQOSCF5oSNOnlI3bINjdVrC"))
        let password = String(repeating: "пароль", count: 6)
        #expect(hash.matches(Array(password.utf8)))
        #expect(hash.matches(Array("\(password) and more".utf8)))
        #expect(!hash.matches(Array(password.dropLast().utf8)))
    }
}
