import HTTPServer
import JSON
import EmulatorCore

/// Masks the secrets of an exchange. Each secret is found by the name of its field, and masked wherever its value occurs.
package struct Mask: Sendable {
    private static let names: Set<String> = [
        "accesstoken", "appsecretproof", "assertion", "authorizationcode", "clientassertion", "clientsecret", "code",
        "codeverifier", "credentials", "devicecode", "fbexchangetoken", "idtoken", "identitytoken", "inputtoken",
        "mfapendingcredential", "newpassword", "oauthaccesstoken", "oauthidtoken", "oobcode", "password",
        "passwordhash",
        "pendingtoken", "privatekey", "refreshtoken", "salt", "secret", "sessioncookie", "sessioninfo", "signerkey",
        "subjecttoken", "actortoken",
        "sharedsecretkey",
        "temporaryproof", "token", "verificationcode",
    ]
    private static let headers: Set<String> = ["authorization", "proxy-authorization", "cookie", "set-cookie"]
    private static let shortest = 4
    /// More secrets than any sign-in has. An exchange with more of them is shown without texts.
    private static let limit = 100

    private struct Secret: Sendable {
        let bytes: [UInt8]
        let mark: [UInt8]
        let hash: UInt64

        init(_ text: String, mark: String) {
            bytes = Array(text.utf8)
            self.mark = Array(mark.utf8)
            hash = PartHashes(bytes).hash(of: bytes.indices)
        }
    }

    /// The secrets by their first four bytes, each with its replacement. The longest stands first, since one may be part of
    /// another.
    private var secrets: [UInt32: [Secret]] = [:]
    /// Which pairs of bytes a secret begins with, so that most positions in a text need no further look.
    private var beginnings: [Bool] = []
    private let hidesAll: Bool

    package init(_ exchange: RecordedExchange) {
        var values: Set<String> = []
        for finding in exchange.requestFindings + exchange.responseFindings
        where finding.value.utf8.count >= Mask.shortest {
            if Mask.isSecret(finding.name) { values.insert(finding.value) }
        }
        for header in exchange.request.headers + exchange.response.headers
        where header.value.utf8.count >= Mask.shortest && Mask.headers.contains(header.name.lowercased()) {
            values.insert(header.value)
        }
        self.init(values)
    }

    /// Whether a field of this name holds a secret.
    static func isSecret(_ name: String) -> Bool {
        names.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
    }

    package init(_ values: Set<String>) {
        let values = values.filter { $0.utf8.count >= Mask.shortest }
        hidesAll = values.count > Mask.limit
        guard !hidesAll, !values.isEmpty else { return }
        var all: [(value: String, mark: String)] = []
        for value in values {
            let mark = "masked-\(value.utf8.count)"
            let spellings: Set<String> = [
                value, PercentCoding.encode(Array(value.utf8)),
                String(Form(fields: [Form.Field(name: "", value: value)]).encoded.dropFirst()),
                String(JSONValue.string(value).text.dropFirst().dropLast()), HTML.escape(value),
                // The message in a page's attribute is JSON that was then escaped as HTML.
                HTML.escape(String(JSONValue.string(value).text.dropFirst().dropLast())),
            ]
            all += spellings.map { (value: $0, mark: mark) }
        }
        beginnings = [Bool](repeating: false, count: 1 << 16)
        for secret in all.sorted(by: { $0.value.utf8.count > $1.value.utf8.count }) {
            let secret = Secret(secret.value, mark: secret.mark)
            beginnings[Int(secret.bytes[0]) << 8 | Int(secret.bytes[1])] = true
            secrets[Mask.word(secret.bytes, at: 0), default: []].append(secret)
        }
    }

    private static func word(_ bytes: [UInt8], at place: Int) -> UInt32 {
        bytes[place..<place + shortest].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Masks a form, a query or a URL, in which any character may be percent-encoded.
    func apply(toEncoded text: String) -> String {
        var output: [Substring] = []
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            // What stands before a URL's query stays as it is.
            guard let mark = pair.firstIndex(of: "=") else {
                output.append(pair)
                continue
            }
            let value = pair[mark...].dropFirst()
            let decoded = String(
                decoding: PercentCoding.decode(Array(value.utf8)[...], plusIsSpace: true), as: UTF8.self)
            let masked = apply(to: decoded)
            let encoded = masked == decoded ? value : Substring(PercentCoding.encode(Array(masked.utf8)))
            output.append(pair[...mark] + encoded)
        }
        return apply(to: output.joined(separator: "&"))
    }

    /// Masks all secrets in one pass over the text. What it takes doesn't grow with the secrets' length.
    package func apply(to text: String) -> String {
        guard !hidesAll else { return "masked-\(text.utf8.count)" }
        guard !secrets.isEmpty else { return text }
        let bytes = Array(text.utf8)
        // Made when a secret's beginning is found.
        lazy var hashes = PartHashes(bytes)
        var output: [UInt8] = []
        var copied = 0
        var place = 0
        while place + Mask.shortest <= bytes.count {
            guard beginnings[Int(bytes[place]) << 8 | Int(bytes[place + 1])],
                let found = secrets[Mask.word(bytes, at: place)]?.first(where: { secret in
                    let end = place + secret.bytes.count
                    return end <= bytes.count && hashes.hash(of: place..<end) == secret.hash
                        && bytes[place..<end].elementsEqual(secret.bytes)
                })
            else {
                place += 1
                continue
            }
            output += bytes[copied..<place]
            output += found.mark
            place += found.bytes.count
            copied = place
        }
        guard copied > 0 else { return text }
        return String(decoding: output + bytes[copied...], as: UTF8.self)
    }
}

/// Tells in constant time, but for collisions, whether two parts of texts are the same, by Rabin and Karp.
private struct PartHashes {
    /// A Mersenne prime.
    private static let modulus: UInt64 = (1 << 61) - 1
    private static let base = UInt64.random(in: (1 << 32)..<modulus)

    /// Of the first bytes, however many.
    private var hashes: [UInt64] = [0]
    private var powers: [UInt64] = [1]

    init(_ bytes: [UInt8]) {
        hashes.reserveCapacity(bytes.count + 1)
        powers.reserveCapacity(bytes.count + 1)
        for (place, byte) in bytes.enumerated() {
            // A byte that is zero counts, too.
            hashes.append(PartHashes.sum(PartHashes.product(hashes[place], PartHashes.base), UInt64(byte) + 1))
            powers.append(PartHashes.product(powers[place], PartHashes.base))
        }
    }

    func hash(of range: Range<Int>) -> UInt64 {
        let before = PartHashes.product(hashes[range.lowerBound], powers[range.count])
        return PartHashes.sum(hashes[range.upperBound], PartHashes.modulus - before)
    }

    private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let sum = left + right
        return sum >= modulus ? sum - modulus : sum
    }

    private static func product(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        return sum(low & modulus, high << 3 | low >> 61)
    }
}
