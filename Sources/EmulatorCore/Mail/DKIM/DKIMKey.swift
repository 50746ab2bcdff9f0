import JOSE
import JSON

/// The public key of somebody who signs mail. In the world it stands in the DNS, at `SELECTOR._domainkey.DOMAIN`; here the seed has it.
/// <https://www.rfc-editor.org/rfc/rfc6376#section-3.6.1>
struct DKIMKey: Sendable {
    /// `nil` for one that its owner has withdrawn.
    let key: Key?
    /// Whether signatures may speak for the domain itself only, not for those below it.
    let isStrict: Bool

    /// Reads a record of the DNS (`v=DKIM1; k=rsa; p=…`), the value of its tag `p` alone, or a public key as PEM.
    init(_ text: String, reader: KeyReader) throws(DKIMTags.Fault) {
        if text.contains("-----BEGIN ") {
            do { key = try Key(pem: Array(text.utf8), reader: reader) } catch { throw fault(error.description) }
            isStrict = false
            try checkKind(.any)
            return
        }
        let isRecord = text.contains(";") || DKIMKey.bytes(text) == nil
        let tags = try DKIMTags(isRecord ? text : "p=\(text)")
        if let version = tags["v"], version != "DKIM1" || tags.first != "v" {
            throw fault("the record doesn't begin with v=DKIM1")
        }
        guard let written = tags["p"] else { throw fault("the record has no key: the tag \"p\" is missing") }
        if let hashes = tags["h"], !DKIMTags.list(hashes).contains("sha256") {
            throw fault("the key is only for hashes that aren't taken: \(Diagnosis.quote(hashes))")
        }
        if let services = tags["s"], Set(DKIMTags.list(services)).isDisjoint(with: ["*", "email"]) {
            throw fault("the key isn't for mail: \(Diagnosis.quote(services))")
        }
        isStrict = tags["t"].map { DKIMTags.list($0).contains("s") } ?? false
        let kind = tags["k"].map { $0.lowercased() }
        guard kind == nil || kind == "rsa" || kind == "ed25519" else {
            throw fault("keys of type \(Diagnosis.quote(kind ?? "")) aren't taken: rsa and ed25519 are")
        }
        guard let bytes = DKIMKey.bytes(written) else { throw fault("the tag \"p\" isn't Base64") }
        // An Ed25519 key stands there as its 32 bytes, which no RSA key has.
        let isEd25519 = kind == "ed25519" || (kind == nil && bytes.count == 32)
        key = bytes.isEmpty ? nil : try isEd25519 ? DKIMKey.ed25519(bytes) : DKIMKey.rsa(bytes, reader)
        try checkKind(isEd25519 ? .ed25519 : .rsa)
    }

    private enum Expected {
        case rsa
        case ed25519
        case any
    }

    private func checkKind(_ expected: Expected) throws(DKIMTags.Fault) {
        guard let key else { return }
        switch key.kind {
        // https://www.rfc-editor.org/rfc/rfc8301#section-3.2 asks for at least 1,024 bits. No key makes a verification expensive.
        case .rsa(let bits) where expected != .ed25519:
            if !(1_024...8_192).contains(bits) { throw fault("an RSA key of \(bits) bits: 1,024 to 8,192 are taken") }
        case .ed25519 where expected != .rsa: break
        default: throw fault("the key isn't of the record's type: RSA and Ed25519 keys are taken")
        }
    }

    private static func ed25519(_ bytes: [UInt8]) throws(DKIMTags.Fault) -> Key {
        do {
            return try Key(jwk: ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(bytes))])
        } catch {
            throw fault("an Ed25519 key has 32 bytes, not \(bytes.count)")
        }
    }

    /// From `SubjectPublicKeyInfo`, as everybody publishes it, or the `RSAPublicKey` in it, as the specification says.
    private static func rsa(_ bytes: [UInt8], _ reader: KeyReader) throws(DKIMTags.Fault) -> Key {
        guard bytes.count <= 2_048 else { throw fault("the key is longer than any RSA key that is taken") }
        for encoded in [bytes, DER.publicKeyInfo(rsa: bytes)] {
            let pem = "-----BEGIN PUBLIC KEY-----\n\(Base64.encode(encoded))\n-----END PUBLIC KEY-----\n"
            if let key = try? Key(pem: Array(pem.utf8), reader: reader) { return key }
        }
        throw fault("the tag \"p\" is no public key")
    }

    /// Base64, in which white space doesn't count.
    static func bytes(_ text: String) -> [UInt8]? {
        Base64.decode(String(decoding: text.utf8.filter { !DKIMTags.isBlank($0) }, as: UTF8.self))
    }
}

/// <https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.1>, <https://www.rfc-editor.org/rfc/rfc5280#section-4.1.2.7>
private enum DER {
    private static let rsaEncryption: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    /// `key` is at most 2,048 bytes long.
    static func publicKeyInfo(rsa key: [UInt8]) -> [UInt8] {
        element(0x30, rsaEncryption + element(0x03, [0x00] + key))
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count
        guard length >= 0x80 else { return [tag, UInt8(length)] + content }
        return [tag, 0x82, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)] + content
    }
}

private func fault(_ description: String) -> DKIMTags.Fault { DKIMTags.Fault(description: description) }

/// The keys that a seed has for verifying mail.
struct DKIMKeys: Sendable {
    private let keys: [String: DKIMKey]
    /// For which domains there are keys, in lower case.
    let domains: Set<String>

    /// What can't be read is left out: a seed that has been checked has no such keys.
    init(_ seeded: [MailSettings.SigningKey]) {
        domains = Set(seeded.map { $0.domain.lowercased() })
        guard !seeded.isEmpty, let reader = try? KeyReader() else {
            keys = [:]
            return
        }
        let named = seeded.compactMap { key -> (String, DKIMKey)? in
            (try? DKIMKey(key.publicKey, reader: reader)).map { (DKIMKeys.name(key.selector, key.domain), $0) }
        }
        keys = Dictionary(named) { _, later in later }
    }

    /// Where a key stands in the DNS.
    static func name(_ selector: String, _ domain: String) -> String {
        "\(selector)._domainkey.\(domain)".lowercased()
    }

    subscript(selector: String, domain: String) -> DKIMKey? { keys[DKIMKeys.name(selector, domain)] }
}
