import EmulatorCore
import JOSE
import JSON
import Time

/// A user's password in the form in which the Firebase emulator stores and exports it: `fakeHash:salt=…:password=…`. It
/// isn't hashed, as a reminder that real passwords don't belong in tests. Only an imported password can be a real hash.
struct Password: Codable, Equatable, Sendable {
    /// The base64 of the text REDACTED, which most answers have in place of a password's hash.
    static let redacted = "UkVEQUNURUQ="
    static let minimumLength = 6

    let hash: String
    let salt: String?
    let updatedAt: Instant
    /// Whether the password was imported and its hash is treated as a real one. A hash in the Firebase emulator's
    /// readable form is treated so only if it was imported by a request to Google's host.
    let isForeign: Bool
    /// The parameters of the algorithm that made the password's imported hash; `nil` if they are unknown, so that
    /// nobody can sign in with the password. A password that is stored in readable form has no such parameters either.
    let scheme: ImportedHash?

    init(_ text: String, salt: String, now: Instant) {
        hash = Password.hash(text, salt: salt)
        self.salt = salt
        updatedAt = now
        isForeign = false
        scheme = nil
    }

    /// Makes a password from an imported hash. If `takesFakes` is true, a hash in the Firebase emulator's readable form
    /// is read as such, not as a real hash.
    init(importedHash hash: String, salt: String?, now: Instant, takesFakes: Bool, scheme: ImportedHash? = nil) {
        self.hash = hash
        self.salt = salt
        updatedAt = now
        isForeign = !takesFakes || !hash.hasPrefix(Password.prefix)
        self.scheme = isForeign ? scheme : nil
    }

    /// Compares a text with the password.
    ///
    /// - Returns: The reason why the text isn't the password; `nil` if it is the password.
    func mismatch(_ text: String) -> String? {
        guard isForeign else {
            let own = Password.hash(text, salt: salt ?? "")
            return constantTimeEquals(Array(hash.utf8), Array(own.utf8)) ? nil : "the password is wrong"
        }
        guard let scheme, let hash = ImportedHash.bytes(hash) else {
            return "the parameters of the imported password hash aren't known: set a new password"
        }
        return scheme.mismatch(text, hash, salt: ImportedHash.bytes(salt ?? "") ?? [])
    }

    /// Returns the hash or the salt of a password as base64.
    func encoded(_ text: String) -> String { isForeign ? text : Base64.encode(Array(text.utf8)) }

    private static let prefix = "fakeHash:"

    private static func hash(_ text: String, salt: String) -> String { "\(prefix)salt=\(salt):password=\(text)" }

    static func randomSalt(_ random: inout Randomness) -> String {
        "fakeSalt"
            + random.text(20, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension FirebaseCall {
    /// Returns a password in the form in which it is stored, with a new random salt.
    func hashed(_ password: String) throws -> Password {
        let (salt, now) = try update { tables in (Password.randomSalt(&tables.random), tables.now) }
        return Password(password, salt: salt, now: now)
    }
}

// The hashing of imported users' passwords: parameters of accounts:batchCreate.
// https://firebase.google.com/docs/auth/admin/import-users#import_users_with_hashed_passwords
//
// Quirks: parameters are refused as recorded; HMAC_SHA512 and SCRYPT without a key are accepted. If the order of salt
// and password isn't given, both orders are tried, since it isn't documented. A hash of MD5 may be in hexadecimal
// (https://github.com/t-k/fireemu, conformance/src/auth-account/hash-vectors.py). A verification costs no more than 64
// megabytes and about a second: a hash that would cost more matches no password. Production's limits for BCRYPT aren't
// documented.

struct ImportedHash: Codable, Equatable, Sendable {
    enum Algorithm: String, Codable, Sendable {
        case hmacSHA512 = "HMAC_SHA512"
        case hmacSHA256 = "HMAC_SHA256"
        case hmacSHA1 = "HMAC_SHA1"
        case hmacMD5 = "HMAC_MD5"
        case md5 = "MD5"
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
        case pbkdfSHA1 = "PBKDF_SHA1"
        case pbkdf2SHA256 = "PBKDF2_SHA256"
        case scrypt = "SCRYPT"
        case standardScrypt = "STANDARD_SCRYPT"
        case bcrypt = "BCRYPT"
        case argon2 = "ARGON2"

        /// The digest function with which the password hashing algorithm works; `nil` for an algorithm without one.
        var function: PasswordHashing.Function? {
            switch self {
            case .hmacSHA512, .sha512: .sha512
            case .hmacSHA256, .sha256, .pbkdf2SHA256: .sha256
            case .hmacSHA1, .sha1, .pbkdfSHA1: .sha1
            case .hmacMD5, .md5: .md5
            case .scrypt, .standardScrypt, .bcrypt, .argon2: nil
            }
        }
    }

    let algorithm: Algorithm
    private let key: [UInt8]
    private let separator: [UInt8]
    private let rounds: Int
    private let memoryCost: Int
    private let blockSize: Int
    private let parallelization: Int
    private let order: String
    private let argon2: Argon2?
    /// The length of an ARGON2 hash in bytes, as the import gives it; `nil` if each hash has its own length.
    private let argon2Length: Int?

    /// Reads the parameters of imported password hashes from the request; `nil` if it names no algorithm.
    init?(_ call: FirebaseCall) throws(FirebaseError) {
        guard let name = try call.text("hashAlgorithm") else { return nil }
        guard let algorithm = Algorithm(rawValue: name) else {
            throw FirebaseError(
                "INVALID_HASH_ALGORITHM",
                because: "\(Diagnosis.quote(name)) isn't one of Firebase's password hash algorithms")
        }
        self.algorithm = algorithm
        key = try ImportedHash.bytes(call.text("signerKey") ?? "") ?? []
        separator = try ImportedHash.bytes(call.text("saltSeparator") ?? "") ?? []
        rounds = Int(clamping: try call.integer("rounds") ?? 0)
        let (memory, cost) = (try call.integer("memoryCost") ?? 0, try call.integer("cpuMemCost") ?? 0)
        memoryCost = Int(clamping: algorithm == .standardScrypt ? cost : memory)
        blockSize = Int(clamping: try call.integer("blockSize") ?? 0)
        parallelization = Int(clamping: try call.integer("parallelization") ?? 0)
        order = call.value("passwordHashOrder") ?? ""
        if algorithm == .argon2 {
            let fields = try call.nested("argon2Parameters") ?? MessageFields(JSONObject())
            argon2 = try ImportedHash.argon2(fields)
            let length = Int(clamping: try fields.integer("hashLengthBytes") ?? 0)
            argon2Length = length == 0 ? nil : length
        } else {
            (argon2, argon2Length) = (nil, nil)
        }
        try check(call)
    }

    private static let argon2Kinds: [String: Argon2.Kind] = [
        "ARGON2_D": .d, "ARGON2_ID": .id, "ARGON2_I": .i, "1": .d, "2": .id, "3": .i,
    ]

    /// Reads the parameters of imported ARGON2 hashes:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/Argon2Parameters>
    private static func argon2(_ fields: MessageFields) throws(FirebaseError) -> Argon2 {
        func number(_ name: String, in range: ClosedRange<Int>, _ code: String) throws(FirebaseError) -> Int {
            let number = Int(clamping: try fields.integer(name) ?? 0)
            guard range.contains(number) else {
                throw FirebaseError(
                    "INVALID_ARGON2_\(code)",
                    because: "\(name) must be from \(range.lowerBound) to \(range.upperBound), not \(number)")
            }
            return number
        }
        let memory = try number("memoryCostKib", in: 1...32_768, "MEMORY_COST")
        let passes = try number("iterations", in: 1...16, "ITERATIONS")
        let lanes = try number("parallelism", in: 1...16, "PARALLELISM")
        guard let kind = argon2Kinds[fields.value("hashType") ?? ""] else {
            throw FirebaseError("INVALID_ARGON2_HASH_TYPE", because: "hashType must be ARGON2_D, ARGON2_ID or ARGON2_I")
        }
        let data = try fields.text("associatedData") ?? ""
        guard let associatedData = bytes(data) else {
            throw .wrongType(
                fields.place("associatedData"), "TYPE_BYTES", .string(data), because: "Base64 decoding failed for")
        }
        return Argon2(
            kind: kind, memory: memory, passes: passes, lanes: lanes, associatedData: associatedData,
            isFirstVersion: ["VERSION_10", "1"].contains(fields.value("version") ?? ""))
    }

    private func check(_ call: FirebaseCall) throws(FirebaseError) {
        func expect(_ number: Int, in range: ClosedRange<Int>, _ code: String, _ name: String) throws(FirebaseError) {
            guard !range.contains(number) else { return }
            throw FirebaseError(
                code,
                because:
                    "\(name) is \(number): \(algorithm.rawValue) allows numbers from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        switch algorithm {
        case .hmacSHA256, .hmacSHA1, .hmacMD5:
            guard !key.isEmpty else {
                throw FirebaseError(
                    "EMPTY_HASH_KEY", because: "the hash algorithm \(algorithm.rawValue) needs signerKey, in base64")
            }
        case .md5, .sha1, .sha256, .sha512, .pbkdfSHA1, .pbkdf2SHA256:
            try expect(rounds, in: allowedRounds, "INVALID_HASH_ROUNDS", "rounds")
        case .scrypt:
            try expect(memoryCost, in: 1...14, "INVALID_HASH_MEMORY_COSTS", "memoryCost")
            try expect(rounds, in: allowedRounds, "INVALID_HASH_ROUNDS", "rounds")
        case .standardScrypt:
            let length = Int(clamping: try call.integer("dkLen") ?? 0)
            for (name, number) in [
                ("cpuMemCost", memoryCost), ("blockSize", blockSize), ("parallelization", parallelization),
                ("dkLen", length),
            ] { try expect(number, in: 1...Int(Int32.max), "INVALID_HASH_PARAMETER", name) }
        case .hmacSHA512, .bcrypt, .argon2: break
        }
    }

    /// The numbers of hashing rounds that production accepts in an import. Algorithms without rounds accept any number.
    private var allowedRounds: ClosedRange<Int> {
        switch algorithm {
        case .md5: 0...8_192
        case .sha1, .sha256, .sha512: 1...8_192
        case .pbkdfSHA1, .pbkdf2SHA256: 1...120_000
        case .scrypt: 1...8
        default: Int.min...Int.max
        }
    }

    /// Whether production answers every sign-in with an internal error because of these hashing parameters. It does so
    /// for HMAC_SHA512 without a key.
    var isBroken: Bool { algorithm == .hmacSHA512 && key.isEmpty }

    /// Compares a text with an imported hash of a password.
    ///
    /// - Returns: The reason why the text isn't the password; `nil` if it is the password.
    func mismatch(_ text: String, _ hash: [UInt8], salt: [UInt8]) -> String? {
        // An import has been checked, but a snapshot may hold any number.
        guard allowedRounds.contains(rounds) else {
            return
                "the hash has \(rounds) rounds, and \(algorithm.rawValue) takes \(allowedRounds.lowerBound) to \(allowedRounds.upperBound)"
        }
        let password = Array(text.utf8)
        if algorithm == .bcrypt {
            guard let stored = BCrypt(String(decoding: hash, as: UTF8.self)) else {
                return "the imported hash isn't $2a$, $2b$ or $2y$ with a cost of 4 to \(BCrypt.greatestCost) in base64"
            }
            return stored.matches(password) ? nil : "the password is wrong"
        }
        let hashes = hashes(password, salt, length: hash.count)
        guard !hashes.isEmpty else {
            return "no hash can be computed with the parameters of the import, or it would cost too much"
        }
        return hashes.contains { constantTimeEquals($0, hash) } ? nil : "the password is wrong"
    }

    /// Returns the hashes of a password that count as correct. There are several if the order of salt and password is
    /// unknown, for example.
    private func hashes(_ password: [UInt8], _ salt: [UInt8], length: Int) -> [[UInt8]] {
        switch algorithm {
        case .scrypt:
            // This is Firebase's own scrypt: the derived key encrypts the signer's key.
            // https://github.com/firebase/scrypt
            let derived = PasswordHashing.scrypt(
                password, salt: salt + separator, cost: 1 << memoryCost, blockSize: rounds, parallelization: 1,
                length: 32)
            return derived.flatMap { PasswordHashing.aes256CTR(key: $0, key) }.map { [$0] } ?? []
        case .standardScrypt:
            return PasswordHashing.scrypt(
                password, salt: salt, cost: memoryCost, blockSize: blockSize, parallelization: parallelization,
                length: length
            ).map { [$0] } ?? []
        case .argon2:
            return argon2?.hash(password, salt: salt, length: argon2Length ?? length).map { [$0] } ?? []
        case .bcrypt: return []
        case .pbkdfSHA1, .pbkdf2SHA256:
            // Each block of the hash costs all rounds: this is half a second.
            guard rounds * ((length + 19) / 20) <= 500_000 else { return [] }
            let hash = algorithm.function.flatMap {
                PasswordHashing.pbkdf2($0, password, salt: salt, rounds: rounds, length: length)
            }
            return hash.map { [$0] } ?? []
        case .hmacSHA512, .hmacSHA256, .hmacSHA1, .hmacMD5:
            guard let function = algorithm.function else { return [] }
            return inputs(password, salt).map { PasswordHashing.hmac(function, key: key, $0) }
        case .md5:
            return inputs(password, salt).flatMap { input in
                var hash = PasswordHashing.digest(.md5, input)
                for _ in 0..<rounds { hash = PasswordHashing.digest(.md5, hash + password) }
                return [Array(Hex.encode(hash).utf8), hash]
            }
        case .sha1, .sha256, .sha512:
            guard let function = algorithm.function else { return [] }
            return inputs(password, salt).map { input in
                var hash = PasswordHashing.digest(function, input)
                for _ in 1..<max(rounds, 1) { hash = PasswordHashing.digest(function, hash) }
                return hash
            }
        }
    }

    private func inputs(_ password: [UInt8], _ salt: [UInt8]) -> [[UInt8]] {
        switch order {
        case "SALT_AND_PASSWORD", "1": [salt + password]
        case "PASSWORD_AND_SALT", "2": [password + salt]
        default: [salt + password, password + salt]
        }
    }

    /// Decodes base64 in the standard or the URL-safe alphabet.
    static func bytes(_ text: String) -> [UInt8]? {
        Base64.decode(text.replacing("-", with: "+").replacing("_", with: "/"))
    }
}
