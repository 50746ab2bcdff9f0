import HTTPServer
import JOSE
import JSON
import Synchronization
import Time

/// A recorded exchange: a request, its answer, and details about both.
package final class RecordedExchange: Sendable {
    /// The response header that says why a request was refused.
    package static let diagnosisHeader = "Understudy-Diagnosis"
    /// The response header that says what is surprising in an answer.
    package static let noteHeader = "Understudy-Note"
    /// The response header that names the public source from which it is known that the provider answers in this way,
    /// or says why the answer was chosen without a source.
    package static let evidenceHeader = "Understudy-Evidence"

    /// The ID of a recorded request, such as `r12`, which the answer's header `Understudy-Request` also has.
    package let id: String
    /// The ID of the request during which the daemon sent this request to itself; `nil` for a client's request. For
    /// example, the stand-in for Firebase sends requests to the other providers.
    package let parent: String?
    /// The name of the test world that answered the request.
    package let world: String
    package let host: String?
    package let path: String
    /// The OAuth client to which the recorded request's credentials belong; `nil` if the provider doesn't know the
    /// client.
    let knownClient: String?
    package let request: Request
    package let response: Response
    /// The size of the request's body in bytes. Of a body larger than `Recording.bodyLimit`, only the beginning is
    /// recorded.
    package let requestBodySize: Int
    package let responseBodySize: Int
    /// The time when the request was answered, by the test world's clock.
    package let time: Instant
    /// The time when the request came, by the machine's clock, in microseconds since 1970.
    package let began: Int64
    /// The duration from the request to its answer, in microseconds.
    package let duration: Int64
    /// The fault that took effect on the request, in words. A fault is an error or a delay that a test or the seed has
    /// requested.
    package let fault: String?
    /// Details of a mail that was sent by SMTP; `nil` for other requests. A mail is recorded as a request with the
    /// method `SMTP`, whose path is the SMTP command that decided about the mail, and whose body is the SMTP
    /// conversation.
    package let mail: RecordedMail?
    /// The codes and tokens in the request and its answer. They show to which sign-in the request belongs, and are
    /// found on first use.
    package let traces = Traces()
    private let place = Atomic<Int>(0)

    package convenience init(
        id: String, parent: String?, world: String, host: String?, path: String, client: String?, request: Request,
        response: Response, time: Instant,
        began: Int64, duration: Int64, fault: String?, mail: RecordedMail? = nil
    ) {
        self.init(
            id: id, parent: parent, world: world, host: host, path: path, client: client, request: request,
            response: response, sizes: (request: request.body.count, response: response.body.count), time: time,
            began: began, duration: duration, fault: fault, mail: mail)
    }

    /// Makes a recorded exchange of a request and its answer. `sizes` are the sizes of the whole bodies, of which only
    /// the beginnings may be recorded.
    init(
        id: String, parent: String?, world: String, host: String?, path: String, client: String?, request: Request,
        response: Response, sizes: (request: Int, response: Int), time: Instant, began: Int64, duration: Int64,
        fault: String?, mail: RecordedMail?
    ) {
        self.mail = mail
        self.id = id
        self.parent = parent
        self.world = world
        self.host = host
        self.path = path
        knownClient = client
        requestBodySize = sizes.request
        responseBodySize = sizes.response
        var request = request
        var response = response
        RecordedExchange.cut(&request.body)
        RecordedExchange.cut(&response.body)
        self.request = request
        self.response = response
        self.time = time
        self.began = began
        self.duration = duration
        self.fault = fault
    }

    /// The number of the request in the sequence in which requests were recorded, in all test worlds and, if the
    /// recording is shared, by all daemons.
    package internal(set) var order: Int {
        get { place.load(ordering: .relaxed) }
        set { place.store(newValue, ordering: .relaxed) }
    }

    /// The time when the request was answered, by the machine's clock in microseconds since 1970, and a number by which
    /// requests that were answered in one microsecond are sorted.
    package var answered: (time: Int64, order: Int) { (began &+ duration, order) }

    /// The client whose credentials the request carries, or that the request names.
    package var client: String? { knownClient ?? traces.found(in: self).client }

    /// Whether only the beginning of the request's or the answer's body was recorded.
    package var isCut: Bool {
        requestBodySize > request.body.count || responseBodySize > response.body.count
    }

    var number: Int { RecordedExchange.number(of: id) ?? 0 }

    /// One line that says why the request was refused; `nil` if it wasn't refused.
    package var diagnosis: String? { response.header(RecordedExchange.diagnosisHeader) }

    /// One line that names the public source from which it is known that the provider gives this answer, or says why
    /// the answer was chosen without a source; `nil` for an answer that isn't a provider's.
    package var evidence: String? { response.header(RecordedExchange.evidenceHeader) }

    /// One line about something surprising in the answer; `nil` if nothing is surprising, or if the request was
    /// refused.
    package var note: String? { response.header(RecordedExchange.noteHeader) }

    /// Shortens a body that is larger than `Recording.bodyLimit`, without splitting a character.
    private static func cut(_ body: inout [UInt8]) {
        guard body.count > Recording.bodyLimit else { return }
        var end = Recording.bodyLimit
        // The bytes within a UTF-8 character are 10xxxxxx.
        while end > Recording.bodyLimit - 4, body[end] & 0xC0 == 0x80 { end -= 1 }
        body = Array(body.prefix(end))
    }

    /// The number of bytes of memory that a recorded request and its answer take, with their codes and tokens, and
    /// their entries in tables.
    var size: Int {
        var size = RecordedExchange.ownSize + request.body.capacity + response.body.capacity
        for text in [id, parent, world, host, path, knownClient, fault, request.method, request.path, request.query] {
            size += RecordedExchange.allocated(by: text)
        }
        // The lists are read one after the other, since joining them would copy every text.
        for headers in [request.headers, response.headers] {
            for (name, value) in headers {
                size += 32 + RecordedExchange.allocated(by: name) + RecordedExchange.allocated(by: value)
            }
        }
        for address in mail.map({ $0.recipients + $0.messages + [$0.sender ?? "", $0.user ?? ""] }) ?? [] {
            size += 16 + RecordedExchange.allocated(by: address)
        }
        return size
    }

    /// The memory that a recorded request and its answer take besides their texts and bodies, rounded up: 1 kB.
    private static let ownSize = 1 << 10

    /// Returns the number of bytes that are allocated for a text. A text of up to 15 bytes has no allocation.
    private static func allocated(by text: String?) -> Int {
        guard let count = text?.utf8.count, count > 15 else { return 0 }
        return count + 48
    }

    /// Returns the number in the ID of a recorded request, such as 12 for `r12`; `nil` for any other text.
    package static func number(of id: String) -> Int? { id.hasPrefix("r") ? Int(id.dropFirst()) : nil }
}

/// Details of a mail that was sent by SMTP, in addition to the recorded conversation.
package struct RecordedMail: Sendable, Equatable {
    /// The sender in the SMTP envelope, empty for a bounce; `nil` if the client sent none.
    package let sender: String?
    package let recipients: [String]
    /// The user name with which the SMTP client authenticated itself (AUTH).
    package let user: String?
    package let isSecure: Bool
    /// The IDs of the mail's copies in the test world's inbox.
    package let messages: [String]

    package init(sender: String?, recipients: [String], user: String?, isSecure: Bool, messages: [String]) {
        self.sender = sender
        self.recipients = recipients
        self.user = user
        self.isSecure = isSecure
        self.messages = messages
    }
}

/// Details of the sign-in to which a recorded request belongs: short values of the fields of the request and its
/// answer, by which people recognize the sign-in.
package struct ExchangeNotes: Sendable {
    /// The user whom an ID token or an answer names.
    package struct Subject: Sendable {
        package let subject: String?
        package let email: String?
    }

    /// The fields of the recorded request that are kept as details of the sign-in, each with its first value. Their
    /// names are in lower case without `_` and `-`.
    package fileprivate(set) var request: [String: String] = [:]
    /// The names of the codes and tokens in the answer, in lower case without `_` and `-`, in the sequence in which
    /// they are found.
    package fileprivate(set) var given: [String] = []
    /// Whether the request has a field with a secret that only the client's server knows, such as `client_secret`.
    package fileprivate(set) var hasClientSecret = false
    /// The error in the recorded answer: OAuth's `error`, or the name, code or message if `error` is an object.
    package fileprivate(set) var error: String?
    /// The user who signs in: the user of an ID token in the answer. Without such a token, it is the user of an ID
    /// token in the request. Without any ID token, it is the user whom other fields of the answer name.
    package fileprivate(set) var subject: Subject?
    /// Whether an ID token in the recorded answer has the claim `nonce`.
    package fileprivate(set) var hasNonce = false
    /// The first opaque codes and tokens in a recorded request and its answer, at most two. The provider may know the
    /// user to whom they belong.
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
    /// The names of all fields whose values are kept as details of a sign-in.
    static let names = fields.union(secrets).union(answers).union(tokens).union(grants).union(opaque)
    /// The greatest length, in bytes, of a recorded field value that is kept as a detail of the sign-in.
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
        if name == "token", addIdentity(finding.value) { return }
        if subject == nil, ["email", "localid", "login"].contains(name),
            finding.value.utf8.count <= ExchangeNotes.longest
        {
            subject = Subject(
                subject: name == "email" ? nil : finding.value, email: name == "email" ? finding.value : nil)
        }
        add(name, finding.value, isAnswer: true)
    }

    /// Reads an ID token from the answer's field `token`, which FedCM's answers have. Returns `false` if the value
    /// isn't an ID token.
    private mutating func addIdentity(_ value: String) -> Bool {
        guard value.hasPrefix("eyJ"), let token = try? JWS(parsing: value), token.claims["aud"] != nil else {
            return false
        }
        if !given.contains("idtoken") { given.append("idtoken") }
        add("idtoken", value, isAnswer: true)
        return true
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
    /// The details of the sign-in to which the recorded request belongs. They are found on first use, which takes a
    /// while, so don't use this on a server's worker threads.
    package var notes: ExchangeNotes { traces.found(in: self).notes }
}
