import HTTPServer
import JSON
import EmulatorCore
import Recordings
import Text

/// Masks the secrets in a recorded request and its response. A secret is found by the name of its field or header, and
/// masked wherever its value occurs.
package struct Mask: Sendable {
    private static let names: Set<String> = [
        "accesstoken", "actortoken", "appsecretproof", "assertion", "authorizationcode", "clientassertion",
        "clientsecret", "code", "codeverifier", "credential", "credentials", "devicecode", "fbexchangetoken", "idtoken",
        "idtokenhint", "identitytoken", "inputtoken", "iossecret", "logouttoken", "mfapendingcredential",
        "newpassword", "oauthaccesstoken", "oauthidtoken", "oauthtoken", "oauthtokensecret", "oldpassword", "oobcode",
        "password", "passwordhash", "pendingtoken", "privatekey", "rawpassword", "refreshtoken",
        "registrationaccesstoken", "salt", "secret", "sessioncookie", "sessionid", "sessioninfo", "sharedsecretkey",
        "signedrequest", "signerkey", "subjecttoken", "temporaryproof", "token", "usercode", "verificationcode",
    ]
    private static let headers: Set<String> = ["authorization", "proxy-authorization", "cookie", "set-cookie"]
    private static let shortest = 4
    /// The greatest number of secrets that are masked one by one in a request and its response. No sign-in has so many.
    /// If there are more, every text is masked as a whole.
    private static let limit = 100

    /// The number of levels at which values nested in other values are searched for secrets, such as a token in a URL
    /// in a form in a batch.
    private static let depthLimit = 4

    /// A secret in one of its encodings, with the mark that replaces it, such as `masked-32`.
    private struct Secret: Sendable {
        let text: String
        let mark: String
    }

    /// The secrets to mask, the longest first, because one may be part of another.
    private let secrets: [Secret]
    private let hidesAll: Bool

    package init(_ exchange: RecordedExchange) {
        var values: Set<String> = []
        for finding in exchange.requestFindings + exchange.responseFindings {
            Mask.collect(finding.name, finding.value, into: &values)
        }
        if let password = BasicCredentials.read(exchange.request)?.password { values.insert(password) }
        for header in exchange.request.headers + exchange.response.headers
        where Mask.headers.contains(header.name.lowercased()) { values.insert(header.value) }
        self.init(values)
    }

    /// Adds the value of a field to `values` if the field is secret. Also adds the secrets that are nested in the
    /// value: in a URL, a form or JSON, such as the calls of a batch.
    private static func collect(_ name: String, _ value: String, into values: inout Set<String>, depth: Int = 0) {
        guard value.utf8.count >= shortest, values.count <= limit else { return }
        if isSecret(name) { values.insert(value) }
        guard depth < depthLimit else { return }
        let bytes = Array(value.utf8)
        if bytes.holdsJSON {
            if let json = try? JSONValue(parsing: bytes, limits: .answer) {
                collect(name, json, into: &values, depth: depth + 1)
            }
            return
        }
        for pair in value.split(whereSeparator: { "?#&".contains($0) }) {
            guard let mark = pair.firstIndex(of: "="), let field = Form(parsing: pair).fields.first else { continue }
            collect(field.name, field.value, into: &values, depth: depth + 1)
            // Within another encoding, the value stays as it is encoded here.
            if isSecret(field.name) { values.insert(String(pair[mark...].dropFirst())) }
        }
    }

    private static func collect(_ name: String, _ json: JSONValue, into values: inout Set<String>, depth: Int) {
        switch json {
        case .string(let text): collect(name, text, into: &values, depth: depth)
        case .array(let items): for item in items { collect(name, item, into: &values, depth: depth) }
        case .object(let object):
            for member in object.members { collect(member.key, member.value, into: &values, depth: depth) }
        case .null, .bool, .integer, .number: break
        }
    }

    /// Whether a field with this name contains a secret.
    package static func isSecret(_ name: String) -> Bool {
        names.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
    }

    package init(_ values: Set<String>) {
        let values = values.filter { $0.utf8.count >= Mask.shortest }
        hidesAll = values.count > Mask.limit
        let all = (hidesAll ? [] : values).flatMap { value in
            let json = Mask.inJSON(value)
            let spellings: Set<String> = [
                value, PercentCoding.encode(Array(value.utf8)),
                String(Form(fields: [Form.Field(name: "", value: value)]).encoded.dropFirst()), json,
                HTML.escape(value),
                // Some languages write a slash in JSON as \/.
                json.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "\\/"),
                // An answer in a batch is JSON within JSON.
                Mask.inJSON(json),
                // A message in a page's attribute is JSON, then escaped as HTML.
                HTML.escape(json),
            ]
            return spellings.map { Secret(text: $0, mark: "masked-\(value.utf8.count)") }
        }
        secrets = all.sorted { $0.text.utf8.count > $1.text.utf8.count }
    }

    private static func inJSON(_ text: String) -> String { String(JSONValue.string(text).text.dropFirst().dropLast()) }

    /// Masks the secrets in a form, a query or a URL, where any character may be percent-encoded.
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

    /// Masks all known secrets in a text.
    package func apply(to text: String) -> String {
        guard !hidesAll else { return "masked-\(text.utf8.count)" }
        return secrets.reduce(text) { $0.replacing($1.text, with: $1.mark) }
    }
}
