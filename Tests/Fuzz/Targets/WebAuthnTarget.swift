import JOSE
import WebAuthn

extension FuzzTarget {
    private static let party = RelyingParty(id: "localhost") { $0 == "http://localhost" }
    private static let signer = Result { try Key.generateP256() }

    /// Reads the input as the data of an authenticator: as CBOR, authenticator data, an attestation and an assertion.
    static let webAuthn = FuzzTarget("webauthn") { bytes in
        var reader = CBORReader(bytes[...])
        if let item = try? reader.item() {
            // The bytes behind an item must not change how it is read.
            let read = bytes.count - reader.rest.count
            var longer = CBORReader((bytes[..<read] + [0xFF, 0x00])[...])
            guard let again = try? longer.item() else { throw Finding("an item depends on what follows it") }
            try require(again == item && Array(longer.rest) == [0xFF, 0x00], "an item depends on what follows it")
            try require((try? CBOR(parsing: Array(bytes[..<read]))) == item, "an item isn't its own bytes")
        }
        _ = try? AuthenticatorData(parsing: bytes)
        let created = try client("webauthn.create")
        if let made = try? Registration(created, attestationObject: bytes, challenge: "AAAA", at: party) {
            try require((1...1023).contains(made.credentialID.count) || made.credentialID.isEmpty, "an ID too long")
            try require((try? CredentialKey(parsing: made.publicKey)) != nil, "a key that can't be read again")
        }
        let members = try signer.get().publicMembers
        func number(_ name: String) -> [UInt8] {
            members.first { $0.0 == name }?.1.string.flatMap { Base64URL.decode($0) } ?? []
        }
        let key: [UInt8] =
            [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + number("x") + [0x22, 0x58, 0x20]
            + number("y")
        // The key was made at the start of this process, so no input can have a valid signature.
        let assertion = try? Assertion(
            client("webauthn.get"), authenticatorData: bytes, signature: bytes, challenge: "AAAA", publicKey: key,
            at: party)
        try require(assertion == nil, "a signature out of nothing")
        _ = try? ClientData(parsing: bytes)
    }

    private static func client(_ type: String) throws -> ClientData {
        try ClientData(parsing: Array(#"{"type":"\#(type)","challenge":"AAAA","origin":"http://localhost"}"#.utf8))
    }
}
