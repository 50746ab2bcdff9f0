import JSON

/// A JSON Web Signature in compact form (RFC 7515 §7.1), decoded but not verified.
package struct JWS: Sendable {
    package let header: JSONObject
    package let claims: JSONObject
    /// The bytes over which the signature of the token is computed.
    package let signingInput: [UInt8]
    package let signature: [UInt8]

    /// The greatest length of an accepted token in bytes: 16 KiB, several times the length of any provider's tokens.
    package static let maximumLength = 16_384

    /// The reason why a text isn't a JWS, as part of an error message.
    package struct Malformed: Error, CustomStringConvertible, Sendable {
        package let description: String
    }

    package init(parsing text: String) throws(Malformed) {
        guard text.utf8.count <= JWS.maximumLength else {
            throw Malformed(description: "it is \(text.utf8.count) bytes long; \(JWS.maximumLength) are read at most")
        }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Malformed(
                description: "it has \(parts.count) dot-separated part\(parts.count == 1 ? "" : "s"), not 3")
        }
        header = try JWS.decodeObject(parts[0], name: "header")
        // RFC 7515 section 4.1.11: a token with a critical extension that the reader doesn't know must be refused. We
        // know none.
        guard header["crit"] == nil else {
            throw Malformed(description: "its header has crit, and no extension is known here: leave crit out")
        }
        claims = try JWS.decodeObject(parts[1], name: "payload")
        guard let signature = Base64URL.decode(parts[2]) else {
            throw Malformed(description: "its signature isn't base64url without padding")
        }
        self.signature = signature
        signingInput = Array(bytes[..<parts[1].endIndex])
    }

    private static func decodeObject(_ part: ArraySlice<UInt8>, name: String) throws(Malformed) -> JSONObject {
        guard let bytes = Base64URL.decode(part) else {
            throw Malformed(description: "its \(name) isn't base64url without padding")
        }
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes) } catch {
            throw Malformed(description: "its \(name) isn't JSON")
        }
        guard case .object(let object) = value else {
            throw Malformed(description: "its \(name) is \(value.kindName), not a JSON object")
        }
        return object
    }

    package var algorithm: String? { header["alg"]?.string }
    package var keyID: String? { header["kid"]?.string }

    package func verify(with key: Key, algorithm: Algorithm) -> Verdict {
        key.verify(signature, of: signingInput, with: algorithm)
    }

    /// Makes a token by signing `claims`. `header` is written unchanged, and must have the `kid`, `alg` and `typ`.
    package static func mint(
        header: JSONObject, claims: JSONObject, key: Key, algorithm: Algorithm
    ) throws(KeyError) -> String {
        var input = signingInput(header, claims)
        let signature = try key.sign(input, with: algorithm)
        input.append(UInt8(ascii: "."))
        input += Base64URL.encode(signature).utf8
        return String(decoding: input, as: UTF8.self)
    }

    /// Returns an unsigned token: its signature is empty, so the text ends with the second dot.
    package static func unsigned(header: JSONObject, claims: JSONObject) -> String {
        String(decoding: signingInput(header, claims), as: UTF8.self) + "."
    }

    private static func signingInput(_ header: JSONObject, _ claims: JSONObject) -> [UInt8] {
        var input = Array(Base64URL.encode(JSONValue.object(header).serialized()).utf8)
        input.append(UInt8(ascii: "."))
        input += Base64URL.encode(JSONValue.object(claims).serialized()).utf8
        return input
    }
}
