import COpenSSL

/// The password hash functions that services use and OpenSSL offers.
package enum PasswordHashing {
    package enum Function: String, Codable, Sendable {
        case md5 = "MD5"
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"

        fileprivate var digest: OpaquePointer? {
            OpenSSL.prepare()
            return switch self {
            case .md5: EVP_md5()
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        }

        fileprivate var size: Int {
            switch self {
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    package static func digest(_ function: Function, _ input: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: function.size)
        _ = EVP_Digest(input, input.count, &output, nil, function.digest, nil)
        return output
    }

    package static func hmac(_ function: Function, key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: function.size)
        var length = UInt32(function.size)
        // OpenSSL doesn't accept a null pointer as a key.
        let bytes = key.isEmpty ? [0] : key
        _ = HMAC(function.digest, bytes, Int32(clamping: key.count), message, message.count, &output, &length)
        return output
    }

    /// Computes the password hash PBKDF2 (RFC 8018 §5.2). Returns `nil` if the parameters make no sense.
    package static func pbkdf2(
        _ function: Function, _ password: [UInt8], salt: [UInt8], rounds: Int, length: Int
    ) -> [UInt8]? {
        guard rounds > 0, (1...longest).contains(length), let rounds = Int32(exactly: rounds) else { return nil }
        var output = [UInt8](repeating: 0, count: length)
        let text = password.map { CChar(bitPattern: $0) }
        let done = PKCS5_PBKDF2_HMAC(
            text, Int32(clamping: text.count), salt, Int32(clamping: salt.count), rounds, function.digest,
            Int32(length), &output)
        return done == 1 ? output : nil
    }

    /// Computes the password hash scrypt (RFC 7914). Returns `nil` if the parameters make no sense or are too
    /// expensive: the product of `cost`, `blockSize` and `parallelization` may be at most 524,288. With
    /// `parallelization` 1, this takes 64 megabytes.
    package static func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: Int, blockSize: Int, parallelization: Int, length: Int
    ) -> [UInt8]? {
        guard cost > 0, blockSize > 0, parallelization > 0, (1...longest).contains(length) else { return nil }
        // The cost grows with the product of these.
        guard cost <= 1 << 20, blockSize <= 1 << 10, parallelization <= 1 << 10,
            cost * blockSize * parallelization <= 1 << 19
        else { return nil }
        OpenSSL.prepare()
        var output = [UInt8](repeating: 0, count: length)
        let text = password.map { CChar(bitPattern: $0) }
        let done = EVP_PBE_scrypt(
            text, text.count, salt, salt.count, UInt64(cost), UInt64(blockSize), UInt64(parallelization), 80 << 20,
            &output, length)
        return done == 1 ? output : nil
    }

    /// Encrypts a message with AES-256 in counter mode, with a counter that begins at zero.
    package static func aes256CTR(key: [UInt8], _ message: [UInt8]) -> [UInt8]? {
        guard key.count == 32, message.count <= longest else { return nil }
        OpenSSL.prepare()
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: message.count + 16)
        var length: Int32 = 0
        let counter = [UInt8](repeating: 0, count: 16)
        guard EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, key, counter) == 1,
            EVP_EncryptUpdate(context, &output, &length, message, Int32(message.count)) == 1
        else { return nil }
        return Array(output.prefix(Int(length)))
    }

    /// The greatest length of a computed password hash, and of a message to encrypt, in bytes. Real ones are shorter.
    private static let longest = 4_096
}
