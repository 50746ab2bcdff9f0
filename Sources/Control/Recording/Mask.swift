import HTTPServer
import JOSE
import Stage

/// Takes secrets out of what the recording shows: each is found where it has a name, and put out wherever it occurs.
struct Mask: Sendable {
    private static let names: Set<String> = [
        "accesstoken", "appsecretproof", "authorizationcode", "clientassertion", "clientsecret", "code",
        "codeverifier", "devicecode", "fbexchangetoken", "idtoken", "identitytoken", "inputtoken",
        "mfapendingcredential", "newpassword", "oauthaccesstoken", "oauthidtoken", "oobcode", "password",
        "passwordhash",
        "pendingtoken", "privatekey", "refreshtoken", "salt", "secret", "sessioncookie", "sessioninfo",
        "sharedsecretkey",
        "temporaryproof", "token", "verificationcode",
    ]
    private static let headers: Set<String> = ["authorization", "cookie", "set-cookie"]
    private static let shortest = 4

    /// The secrets, each with what stands in its place; the longest first, since one may be part of another.
    private let secrets: [(value: String, mark: String)]

    init(_ exchange: RecordedExchange) {
        var values: Set<String> = []
        for finding in exchange.requestFindings + exchange.responseFindings
        where finding.value.utf8.count >= Mask.shortest {
            let name = finding.name.lowercased().filter { $0 != "_" && $0 != "-" }
            if Mask.names.contains(name) { values.insert(finding.value) }
        }
        for header in exchange.request.headers + exchange.response.headers
        where Mask.headers.contains(header.name.lowercased()) {
            values.insert(header.value)
        }
        var secrets: [(value: String, mark: String)] = []
        for value in values {
            let mark = "masked-\(value.utf8.count)"
            let spellings: Set<String> = [
                value, PercentCoding.encode(Array(value.utf8)),
                String(Form(fields: [Form.Field(name: "", value: value)]).encoded.dropFirst()),
                String(JSONValue.string(value).text.dropFirst().dropLast()), HTML.escape(value),
                // A message in a page's attribute is JSON first and HTML then.
                HTML.escape(String(JSONValue.string(value).text.dropFirst().dropLast())),
            ]
            secrets += spellings.map { (value: $0, mark: mark) }
        }
        self.secrets = secrets.sorted { $0.value.utf8.count > $1.value.utf8.count }
    }

    /// The same in a form, a query or a URL, whose writer may have encoded any character.
    func apply(toEncoded text: String) -> String {
        var output: [Substring] = []
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            // In a URL, what stands before the query keeps its form.
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

    func apply(to text: String) -> String {
        secrets.reduce(text) { text, secret in
            guard text.contains(secret.value) else { return text }
            return text.split(separator: secret.value, omittingEmptySubsequences: false).joined(
                separator: secret.mark)
        }
    }
}
