import JOSE
import Time

/// What a field `DKIM-Signature` says: <https://www.rfc-editor.org/rfc/rfc6376#section-3.5>.
struct DKIMSignature {
    enum Method: String, CaseIterable {
        case rsa = "rsa-sha256"
        /// <https://www.rfc-editor.org/rfc/rfc8463>
        case ed25519 = "ed25519-sha256"
    }

    enum Canonicalization: String {
        case simple
        case relaxed
    }

    let method: Method
    let signature: [UInt8]
    let bodyHash: [UInt8]
    let header: Canonicalization
    let body: Canonicalization
    /// Who signs, in lower case.
    let domain: String
    let selector: String
    /// The names of the fields that are signed, in lower case. One that occurs more often than the mail has it says that there are no
    /// more of them.
    let fields: [String]
    /// Of whom in the domain: the domain behind the `@`, in lower case.
    let agentDomain: String
    /// How many bytes of the body are signed; `nil` for all.
    let length: Int?
    let expires: Instant?

    /// The names in `h` that are looked at. More of them would be more than any mail has fields.
    private static let fieldLimit = 2_000

    init(_ tags: DKIMTags) throws(DKIMTags.Fault) {
        guard try tags.required("v") == "1" else { throw fault("the tag \"v\" isn't 1") }
        let algorithm = try tags.required("a").lowercased()
        guard let method = Method(rawValue: algorithm) else {
            let reason = algorithm == "rsa-sha1" ? ": https://www.rfc-editor.org/rfc/rfc8301 forbids SHA-1" : ""
            throw fault("the algorithm \(Diagnosis.quote(algorithm)) isn't taken\(reason)")
        }
        self.method = method
        signature = try DKIMSignature.base64(tags, "b")
        bodyHash = try DKIMSignature.base64(tags, "bh")
        domain = try tags.required("d").lowercased()
        selector = try tags.required("s").lowercased()
        (header, body) = try DKIMSignature.canonicalization(tags["c"])
        fields = DKIMTags.list(try tags.required("h")).prefix(DKIMSignature.fieldLimit).map { $0.lowercased() }
        guard fields.contains("from") else { throw fault("the field From isn't signed") }
        agentDomain = try DKIMSignature.agentDomain(tags["i"], domain)
        if let method = tags["q"], !DKIMTags.list(method).contains("dns/txt") {
            throw fault("the key is to be had by \(Diagnosis.quote(method)), which isn't dns/txt")
        }
        length = try DKIMSignature.number(tags, "l")
        expires = try DKIMSignature.number(tags, "x").map { Instant(seconds: Int64($0)) ?? .last }
        if let signed = try DKIMSignature.number(tags, "t"), let expires = try DKIMSignature.number(tags, "x"),
            expires <= signed
        {
            throw fault("it expires (\"x\") before it was made (\"t\")")
        }
    }

    private static func canonicalization(
        _ text: String?
    ) throws(DKIMTags.Fault) -> (Canonicalization, Canonicalization) {
        guard let text else { return (.simple, .simple) }
        let parts = text.lowercased().utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Canonicalization(rawValue: String(decoding: $0, as: UTF8.self)) }
        guard (1...2).contains(parts.count), let header = parts[0], let body = parts.count == 2 ? parts[1] : .simple
        else { throw fault("the canonicalization \(Diagnosis.quote(text)) isn't known") }
        return (header, body)
    }

    private static func agentDomain(_ identifier: String?, _ domain: String) throws(DKIMTags.Fault) -> String {
        guard let identifier else { return domain }
        guard let mark = identifier.utf8.lastIndex(of: UInt8(ascii: "@")) else {
            throw fault("\"i\" is no address")
        }
        let agent = identifier[mark...].dropFirst().lowercased()
        guard agent == domain || agent.hasSuffix(".\(domain)") else {
            throw fault("\"i\" isn't of the domain \(Diagnosis.quote(domain))")
        }
        return agent
    }

    private static func number(_ tags: DKIMTags, _ name: String) throws(DKIMTags.Fault) -> Int? {
        guard let text = tags[name] else { return nil }
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text)
        else { throw fault("the tag \"\(name)\" is no number") }
        return number
    }

    private static func base64(_ tags: DKIMTags, _ name: String) throws(DKIMTags.Fault) -> [UInt8] {
        guard let bytes = DKIMKey.bytes(try tags.required(name)) else {
            throw fault("the tag \"\(name)\" isn't Base64")
        }
        return bytes
    }
}

/// A shorter spelling of what is thrown most often here.
private func fault(_ description: String) -> DKIMTags.Fault { DKIMTags.Fault(description: description) }
