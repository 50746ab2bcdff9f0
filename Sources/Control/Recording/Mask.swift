import HTTPServer
import JSON
import EmulatorCore
import Recordings

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
    /// The greatest number of secrets: more than any sign-in has. An exchange with more is shown without texts.
    private static let limit = 100

    /// A secret in one of its spellings, with its replacement.
    private struct Secret: Sendable {
        let bytes: [UInt8]
        let mark: [UInt8]
        /// The number of bytes that still match if the next byte doesn't, for each number that have matched (Knuth,
        /// Morris, Pratt). It makes the time of a search independent of the secret's length.
        private var borders: [Int]

        init(_ text: String, mark: String) {
            bytes = Array(text.utf8)
            self.mark = Array(mark.utf8)
            borders = [0, 0]
            for byte in bytes.dropFirst() { borders.append(matched(borders[borders.count - 1], then: byte)) }
        }

        /// Returns how many bytes match after this one, if `count` matched before it.
        private func matched(_ count: Int, then byte: UInt8) -> Int {
            var count = count
            while count > 0, bytes[count] != byte { count = borders[count] }
            return bytes[count] == byte ? count + 1 : 0
        }

        /// Returns the text with the mark in place of each occurrence.
        func masked(_ text: [UInt8]) -> [UInt8] {
            var (output, count) = ([UInt8](), 0)
            for byte in text {
                output.append(byte)
                count = matched(count, then: byte)
                guard count == bytes.count else { continue }
                output.replaceSubrange((output.count - count)..., with: mark)
                count = 0
            }
            return output
        }
    }

    /// The secrets, the longest first, since one may be part of another.
    private let secrets: [Secret]
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

    /// Whether a field with this name has a secret.
    package static func isSecret(_ name: String) -> Bool {
        names.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
    }

    package init(_ values: Set<String>) {
        let values = values.filter { $0.utf8.count >= Mask.shortest }
        hidesAll = values.count > Mask.limit
        let all = (hidesAll ? [] : values).flatMap { value in
            let spellings: Set<String> = [
                value, PercentCoding.encode(Array(value.utf8)),
                String(Form(fields: [Form.Field(name: "", value: value)]).encoded.dropFirst()),
                String(JSONValue.string(value).text.dropFirst().dropLast()), HTML.escape(value),
                // A message in a page's attribute is JSON, then escaped as HTML.
                HTML.escape(String(JSONValue.string(value).text.dropFirst().dropLast())),
            ]
            return spellings.map { Secret($0, mark: "masked-\(value.utf8.count)") }
        }
        secrets = all.sorted { $0.bytes.count > $1.bytes.count }
    }

    /// Masks a form, a query or a URL, in which any character may be percent-encoded.
    func apply(toEncoded text: String) -> String {
        var output: [Substring] = []
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            // The part before a URL's query stays as it is.
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

    /// Masks all secrets.
    package func apply(to text: String) -> String {
        guard !hidesAll else { return "masked-\(text.utf8.count)" }
        guard !secrets.isEmpty else { return text }
        return String(decoding: secrets.reduce(Array(text.utf8)) { $1.masked($0) }, as: UTF8.self)
    }
}
