import JOSE
import Text
import Time

/// Verifies the signatures of a mail: <https://www.rfc-editor.org/rfc/rfc6376#section-6>.
package struct DKIMVerifier {
    private let keys: DKIMKeys
    private let now: Instant

    /// Who sends more gets no more work done: <https://www.rfc-editor.org/rfc/rfc6376#section-8.4>.
    private static let limit = 5

    init(keys: DKIMKeys, now: Instant) {
        self.keys = keys
        self.now = now
    }

    /// By the keys of a seed.
    package init(_ seed: Seed, at now: Instant) { self.init(keys: seed.dkim, now: now) }

    /// What is wrong with a key as a seed has it; `nil` for one that can be used.
    package static func fault(ofKey text: String) -> String? {
        guard let reader = try? KeyReader() else { return "out of memory" }
        do throws(DKIMTags.Fault) {
            _ = try DKIMKey(text, reader: reader)
            return nil
        } catch {
            return error.description
        }
    }

    /// What each signature came to, from the top of the header; none for a mail without any. Takes time in proportion to the mail.
    package func verify(_ raw: [UInt8]) -> [MailAuthentication] {
        let mail = CanonicalMail(raw)
        let signatures = mail.fields.filter { $0.name == "dkim-signature" }
        guard !signatures.isEmpty else { return [] }
        let authors = DKIMVerifier.authors(mail)
        var hashes = BodyHashes(mail)
        var results = signatures.prefix(DKIMVerifier.limit).map { field in
            let (tags, result) = verify(field, of: mail, &hashes)
            let domain = tags?["d"].map { $0.lowercased() }
            return MailAuthentication(
                method: "dkim", result: result.word, domain: domain.map { DKIMVerifier.shown($0) },
                selector: tags?["s"].map { DKIMVerifier.shown($0) },
                algorithm: tags?["a"].map { DKIMVerifier.shown($0) },
                isAligned: domain.map { domain in !authors.isEmpty && authors.allSatisfy { $0 == domain } } ?? false,
                reason: result.reason)
        }
        if signatures.count > DKIMVerifier.limit {
            let reason = "\(signatures.count) signatures: only the first \(DKIMVerifier.limit) are looked at"
            results.append(
                MailAuthentication(
                    method: "dkim", result: "policy", domain: nil, selector: nil, algorithm: nil, isAligned: false,
                    reason: reason))
        }
        return results
    }

    private enum Result {
        case pass
        /// The signature doesn't hold.
        case fail(String)
        /// It can't be judged here.
        case neutral(String)
        /// What it says makes no sense.
        case malformed(String)

        var word: String {
            switch self {
            case .pass: "pass"
            case .fail: "fail"
            case .neutral: "neutral"
            case .malformed: "permerror"
            }
        }

        var reason: String? {
            switch self {
            case .pass: nil
            case .fail(let reason), .neutral(let reason), .malformed(let reason): reason
            }
        }
    }

    private func verify(
        _ field: CanonicalMail.Field, of mail: CanonicalMail, _ hashes: inout BodyHashes
    ) -> (DKIMTags?, Result) {
        let tags: DKIMTags
        do { tags = try DKIMTags(String(decoding: field.value, as: UTF8.self).withoutEndlessMarks) } catch {
            return (nil, .malformed(error.description))
        }
        do { return (tags, verify(try DKIMSignature(tags), in: field, of: mail, &hashes)) } catch {
            return (tags, .malformed(error.description))
        }
    }

    private func verify(
        _ signature: DKIMSignature, in field: CanonicalMail.Field, of mail: CanonicalMail, _ hashes: inout BodyHashes
    ) -> Result {
        let name = DKIMVerifier.shown(DKIMKeys.name(signature.selector, signature.domain))
        guard let record = keys[signature.selector, signature.domain] else {
            return .neutral("the seed has no key \(name) at $.mail.dkim")
        }
        guard let key = record.key else { return .malformed("the key \(name) was withdrawn: its record's p is empty") }
        let algorithm: Algorithm = signature.method == .rsa ? .rs256 : .edDSA
        guard key.suits(algorithm) else {
            return .malformed("the key \(name) isn't for \(signature.method.rawValue)")
        }
        if record.isStrict, signature.agentDomain != signature.domain {
            return .malformed("the key \(name) isn't for domains below its own (t=s)")
        }
        if let expires = signature.expires, now >= expires { return .fail("the signature has expired (x)") }
        if let length = signature.length, length > hashes.length(signature.body) {
            return .fail("it signs more of the body (l) than the mail has")
        }
        guard hashes.hash(signature.body, length: signature.length) == signature.bodyHash else {
            return .fail("the body isn't the one that was signed (bh)")
        }
        let header = mail.header(signature, in: field)
        // Ed25519 signs the hash, where RSA hashes by itself: https://www.rfc-editor.org/rfc/rfc8463#section-3
        let signed = signature.method == .rsa ? header : Digest.sha256(header)
        guard key.verify(signature.signature, of: signed, with: algorithm) == .valid else {
            return .fail("the header isn't the one that was signed, or the key \(name) isn't the signer's")
        }
        return .pass
    }

    /// The domains of those whom the mail is from, in lower case; none where it says more of them than is read.
    private static func authors(_ mail: CanonicalMail) -> [String] {
        let fields = mail.fields.lazy.filter { $0.name == "from" }.prefix(100)
        let (mailboxes, isWhole) = AddressList.read(fields.map { String(decoding: $0.value, as: UTF8.self) })
        guard isWhole else { return [] }
        return mailboxes.map { mailbox in
            mailbox.address.utf8.split(separator: UInt8(ascii: "@")).last.map { String(Substring($0)).lowercased() }
                ?? ""
        }
    }

    private static func shown(_ text: String) -> String { String(text.prefix(255)) }
}

/// The hashes of a mail's body, each made once, however many signatures there are.
private struct BodyHashes {
    private struct Part: Hashable {
        let method: DKIMSignature.Canonicalization
        let length: Int?
    }

    private let mail: CanonicalMail
    private var bodies: [DKIMSignature.Canonicalization: [UInt8]] = [:]
    private var hashes: [Part: [UInt8]] = [:]

    init(_ mail: CanonicalMail) { self.mail = mail }

    mutating func length(_ method: DKIMSignature.Canonicalization) -> Int { body(method).count }

    mutating func hash(_ method: DKIMSignature.Canonicalization, length: Int?) -> [UInt8] {
        let part = Part(method: method, length: length)
        if let known = hashes[part] { return known }
        let whole = body(method)
        let hash = Digest.sha256(length.map { Array(whole.prefix($0)) } ?? whole)
        hashes[part] = hash
        return hash
    }

    private mutating func body(_ method: DKIMSignature.Canonicalization) -> [UInt8] {
        if let known = bodies[method] { return known }
        let body = mail.body(method)
        bodies[method] = body
        return body
    }
}

extension World {
    /// What the signatures of a mail come to, by the keys of the world's seed and the world's time; none for a mail without any. It
    /// takes time in proportion to the mail: not to be called under the world's lock.
    package func authenticate(_ content: ReceivedContent) -> [MailAuthentication] {
        DKIMVerifier(seed, at: read { $0.now }).verify(content.raw)
    }
}
