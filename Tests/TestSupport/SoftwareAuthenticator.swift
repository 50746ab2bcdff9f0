import Foundation
import JOSE
import WebAuthn

/// An authenticator with a single credential that asks no person.
package final class SoftwareAuthenticator {
    package enum Attestation: Sendable {
        case none
        /// The attestation is signed by the credential itself.
        case packedSelf
        /// The attestation claims to be signed by the credential, but another key has signed it.
        case packedForged
        case other(String)
    }

    package let id: [UInt8]
    package var relyingParty = "localhost"
    package var origin = "http://localhost:3000"
    /// The flags: a person was present (1) and verified (4).
    package var flags: UInt8 = 0x05
    package var signCount: UInt32 = 1
    package var attestation = Attestation.none
    package var type: String?
    private let key: Key
    private let algorithm: Algorithm

    package init(_ algorithm: Algorithm = .es256) throws {
        self.algorithm = algorithm
        key = try algorithm == .es256 ? Key.generateP256() : Key.generateRSA()
        id = (0..<24).map { _ in UInt8.random(in: 0...255) }
    }

    package var credentialID: String { Base64URL.encode(id) }

    /// The public key in COSE.
    private var cose: CBOR {
        func number(_ name: String) -> CBOR {
            let text = key.publicMembers.first { $0.0 == name }?.1.string ?? ""
            return .bytes(Base64URL.decode(text) ?? [])
        }
        return algorithm == .es256
            ? .map([
                .integer(1): .integer(2), .integer(3): .integer(-7), .integer(-1): .integer(1),
                .integer(-2): number("x"), .integer(-3): number("y"),
            ])
            : .map([
                .integer(1): .integer(3), .integer(3): .integer(-257), .integer(-1): number("n"),
                .integer(-2): number("e"),
            ])
    }

    private func clientData(_ type: String, _ challenge: String) throws -> [UInt8] {
        let encoded = Base64URL.encode(Base64.decode(challenge) ?? [])
        return Array(
            try JSONSerialization.data(withJSONObject: [
                "type": self.type ?? type, "challenge": encoded, "origin": origin, "crossOrigin": false,
            ]))
    }

    private func authenticatorData(hasCredential: Bool) -> [UInt8] {
        var data = Digest.sha256(relyingParty) + [flags | (hasCredential ? 0x40 : 0)]
        data += withUnsafeBytes(of: signCount.bigEndian, Array.init)
        guard hasCredential else { return data }
        return data + [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + cose.encoded
    }

    private func signature(_ message: [UInt8], _ key: Key) throws -> [UInt8] {
        let raw = try key.sign(message, with: algorithm)
        return algorithm == .es256 ? ECDSASignature.der(fromRaw: raw) ?? [] : raw
    }

    /// Returns the client's message after `navigator.credentials.create`. The challenge is in base64.
    package func registration(_ challenge: String) throws -> [String: Any] {
        let clientData = try clientData("webauthn.create", challenge)
        let data = authenticatorData(hasCredential: true)
        let message = data + Digest.sha256(clientData)
        let number = CBOR.integer(algorithm == .es256 ? -7 : -257)
        let (format, statement): (String, CBOR) =
            switch attestation {
            case .none: ("none", .map([:]))
            case .packedSelf:
                ("packed", .map([.text("alg"): number, .text("sig"): .bytes(try signature(message, key))]))
            case .packedForged:
                (
                    "packed",
                    .map([
                        .text("alg"): number,
                        .text("sig"): .bytes(
                            try signature(message, algorithm == .es256 ? Key.generateP256() : Key.generateRSA())),
                    ])
                )
            case .other(let name): (name, .map([:]))
            }
        let object = CBOR.map([
            .text("fmt"): .text(format), .text("attStmt"): statement, .text("authData"): .bytes(data),
        ])
        return [
            "id": credentialID, "rawId": credentialID, "type": "public-key",
            "response": [
                "clientDataJSON": Base64URL.encode(clientData), "attestationObject": Base64URL.encode(object.encoded),
            ],
        ]
    }

    /// Returns the client's message after `navigator.credentials.get`.
    package func assertion(_ challenge: String, userHandle: String? = nil) throws -> [String: Any] {
        let clientData = try clientData("webauthn.get", challenge)
        let data = authenticatorData(hasCredential: false)
        var response = [
            "clientDataJSON": Base64URL.encode(clientData), "authenticatorData": Base64URL.encode(data),
            "signature": Base64URL.encode(try signature(data + Digest.sha256(clientData), key)),
        ]
        response["userHandle"] = userHandle.map { Base64URL.encode(Array($0.utf8)) }
        return ["id": credentialID, "rawId": credentialID, "type": "public-key", "response": response]
    }
}

extension CBOR {
    /// The encoding of RFC 8949, with lengths as short as possible.
    package var encoded: [UInt8] {
        switch self {
        case .integer(let value) where value >= 0: CBOR.head(0, UInt64(value))
        case .integer(let value): CBOR.head(1, UInt64(-1 - value))
        case .bytes(let bytes): CBOR.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): CBOR.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let items): CBOR.head(4, UInt64(items.count)) + items.flatMap(\.encoded)
        case .map(let members):
            CBOR.head(5, UInt64(members.count))
                + members.map { $0.key.encoded + $0.value.encoded }.sorted { $0.lexicographicallyPrecedes($1) }.joined()
        case .bool(let flag): [flag ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    private static func head(_ kind: UInt8, _ argument: UInt64) -> [UInt8] {
        let bytes = withUnsafeBytes(of: argument.bigEndian, Array.init)
        return switch argument {
        case ..<24: [kind << 5 | UInt8(argument)]
        case ..<0x100: [kind << 5 | 24] + bytes.suffix(1)
        case ..<0x1_0000: [kind << 5 | 25] + bytes.suffix(2)
        case ..<0x1_0000_0000: [kind << 5 | 26] + bytes.suffix(4)
        default: [kind << 5 | 27] + bytes
        }
    }
}
