import JOSE
import JSON

/// Details of the sign-in that an exchange belongs to: short values of its fields, by which people recognize it. They
/// are found together with its codes and tokens.
package struct ExchangeNotes: Sendable {
    /// The person for whom an ID token is.
    package struct Subject: Sendable {
        package let subject: String?
        package let email: String?
    }

    /// The fields of the request, the first value of each, by their names in small letters without `_` and `-`.
    package fileprivate(set) var request: [String: String] = [:]
    /// The names of the codes and tokens in the answer, in the same form, in the order in which they are found.
    package fileprivate(set) var given: [String] = []
    /// Whether the request's form has a secret that only the client's server knows.
    package fileprivate(set) var hasClientSecret = false
    /// The error in the answer: OAuth's `error`, or the name or message in an object of that name.
    package fileprivate(set) var error: String?
    /// The person, from an ID token of the answer, or else of the request, or else from the answer's own fields.
    package fileprivate(set) var subject: Subject?
    /// Whether an ID token of the answer has a nonce.
    package fileprivate(set) var hasNonce = false
    /// The opaque codes and tokens, for which the provider may know the person.
    package fileprivate(set) var credentials: [String] = []

    private static let fields: Set<String> = [
        "granttype", "responsemode", "redirecturi", "account", "providerid",
    ]
    private static let secrets: Set<String> = ["clientsecret", "clientassertion"]
    private static let answers: Set<String> = ["error", "email", "localid", "login"]
    private static let tokens: Set<String> = [
        "idtoken", "identitytoken", "authenticationtoken", "credential",
    ]
    private static let grants: Set<String> = [
        "code", "authorizationcode", "accesstoken", "refreshtoken", "idtoken", "identitytoken", "authenticationtoken",
        "devicecode", "usercode", "sessioncookie", "oobcode", "mfapendingcredential", "credential",
    ]
    private static let opaque: Set<String> = [
        "code", "authorizationcode", "accesstoken", "refreshtoken", "devicecode", "token",
    ]
    /// The names of all form fields and members of which an exchange's notes keep something.
    static let names = fields.union(secrets).union(answers).union(tokens).union(grants).union(opaque)
    /// The length of the longest value that is kept. A name isn't longer.
    private static let longest = 256
    private static let credentialLimit = 2

    mutating func addRequest(_ name: String, _ finding: Finding) {
        if ExchangeNotes.fields.contains(name), request[name] == nil, finding.value.utf8.count <= ExchangeNotes.longest
        {
            request[name] = finding.value
        }
        if ExchangeNotes.secrets.contains(name), !finding.value.isEmpty { hasClientSecret = true }
        add(name, finding.value, isAnswer: false)
    }

    mutating func addResponse(_ name: String, _ finding: Finding) {
        if name == "error", error == nil, finding.value.utf8.count <= ExchangeNotes.longest { error = finding.value }
        // The form of a page repeats values of the request.
        if ExchangeNotes.grants.contains(name), !finding.value.isEmpty, !given.contains(name) { given.append(name) }
        if subject == nil, ["email", "localid", "login"].contains(name),
            finding.value.utf8.count <= ExchangeNotes.longest
        {
            subject = Subject(
                subject: name == "email" ? nil : finding.value, email: name == "email" ? finding.value : nil)
        }
        add(name, finding.value, isAnswer: true)
    }

    private mutating func add(_ name: String, _ value: String, isAnswer: Bool) {
        if ExchangeNotes.tokens.contains(name), value.hasPrefix("eyJ"), let token = try? JWS(parsing: value) {
            if isAnswer, token.claims["nonce"] != nil { hasNonce = true }
            if isAnswer || subject == nil {
                subject = Subject(
                    subject: ExchangeNotes.short(token.claims["sub"]), email: ExchangeNotes.short(token.claims["email"])
                )
            }
        } else if ExchangeNotes.opaque.contains(name), credentials.count < ExchangeNotes.credentialLimit,
            (8...ExchangeNotes.longest).contains(value.utf8.count), !credentials.contains(value)
        {
            credentials.append(value)
        }
    }

    private static func short(_ value: JSONValue?) -> String? {
        value?.string.flatMap { $0.utf8.count <= longest ? $0 : nil }
    }
}

extension RecordedExchange {
    /// The details of the exchange's sign-in. They are found on first use, which takes a while, so this isn't for
    /// worker threads.
    package var notes: ExchangeNotes { traces.found(in: self).notes }
}
