import COpenSSL

/// Message digests of byte arrays and of the UTF-8 of text.
package enum Digest {
    package static func sha256(_ input: [UInt8]) -> [UInt8] { hash(OpenSSL.sha256, size: 32, input) }

    package static func sha256(_ text: String) -> [UInt8] { sha256(Array(text.utf8)) }

    package static func sha384(_ text: String) -> [UInt8] { hash(OpenSSL.sha384, size: 48, Array(text.utf8)) }

    package static func sha512(_ text: String) -> [UInt8] { hash(OpenSSL.sha512, size: 64, Array(text.utf8)) }

    private static func hash(_ digest: OpaquePointer?, size: Int, _ input: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: size)
        input.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                _ = EVP_Digest(input.baseAddress, input.count, output.baseAddress, nil, digest, nil)
            }
        }
        return output
    }

    /// Returns the HMAC-SHA256 of a message (RFC 2104).
    package static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        hmac(OpenSSL.sha256, size: 32, key: key, message)
    }

    /// Returns the HMAC-SHA1 of a message, for the codes of authenticator apps, and for webhooks whose old receivers
    /// verify it.
    package static func hmacSHA1(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        hmac(OpenSSL.sha1, size: 20, key: key, message)
    }

    private static func hmac(_ digest: OpaquePointer?, size: Int, key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: size)
        var length = UInt32(size)
        key.withUnsafeBufferPointer { key in
            message.withUnsafeBufferPointer { message in
                output.withUnsafeMutableBufferPointer { output in
                    _ = HMAC(
                        digest, key.baseAddress, Int32(key.count), message.baseAddress, message.count,
                        output.baseAddress, &length)
                }
            }
        }
        return output
    }
}

/// Compares two byte arrays in a time that depends only on their lengths, as secrets must be compared.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
