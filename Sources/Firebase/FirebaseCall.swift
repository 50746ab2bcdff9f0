import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

/// The answer of an API method. A refusal with status 200 has a diagnosis. An answer that may surprise a developer has
/// a note.
struct FirebaseAnswer: Sendable {
    var body: JSONObject
    var diagnosis: Diagnosis?
    var note: Note?
}

extension Exchange {
    /// Whether the request came to the daemon's own address, as SDKs in emulator mode send it, and not to a provider's
    /// host.
    var isInEmulatorMode: Bool { address.form == .prefix }
}

/// A call of a Firebase API method: the request with its project, its users, the caller's rights, and the fields of the
/// body.
struct FirebaseCall: Sendable {
    let exchange: Exchange
    let project: Project
    /// The set of users that the call is about: a project's own users, or those of a tenant.
    let pool: UserPool
    let isAdmin: Bool
    let fields: MessageFields
    /// The ID token in the request's body. It is decoded before the other fields, because its claims may name the
    /// tenant.
    let idToken: DecodedIDToken?
    /// The note for the answer if the request names a project, an API key or a tenant that probably is misspelled, but
    /// was accepted.
    var acceptanceNote: Note?

    /// Makes a call of an API method. The names of the fields in `body` must be in camel case.
    init(
        _ exchange: Exchange, project: Project, tenant: String? = nil, isAdmin: Bool = false, body: JSONObject,
        idToken: DecodedIDToken? = nil
    ) {
        self.exchange = exchange
        self.project = project
        pool = UserPool(project: project.id, tenant: tenant)
        self.isAdmin = isAdmin
        fields = MessageFields(named: body)
        self.idToken = idToken
    }

    /// The ID of the tenant whose users the call is about; `nil` if it is about the project's own users.
    var tenant: String? { pool.tenant }

    var mfa: MFA { project.mfa }

    /// Whether the request came to the daemon's own address, as SDKs in emulator mode send it. For such requests, the
    /// API's answers are mostly the Firebase emulator's where production's differ.
    var isInEmulatorMode: Bool { exchange.isInEmulatorMode }

    /// The prefix of a project's resource names. In production it contains the project's number, in emulator mode the
    /// project's ID. Production's prefix is known from the recordings `tenant/manage#create-minimal` and
    /// `provider-config/oidc#create` (https://github.com/t-k/fireemu, conformance).
    var resourceName: String { "projects/\(isInEmulatorMode ? project.id : project.number)" }

    /// The URL of the page to which links in e-mails lead if the project's configuration has no `callbackUri`.
    var actionPage: String {
        isInEmulatorMode
            ? "\(exchange.address.ownBase)/emulator/action"
            : "\(exchange.address.base(of: project.host))/__/auth/action"
    }

    /// Returns the request's JSON body with the names of its members in camel case. Google's API takes names with
    /// underscores, too.
    static func body(of exchange: Exchange) throws(FirebaseError) -> JSONObject {
        guard !exchange.request.body.isEmpty else { return JSONObject() }
        let value: JSONValue
        do { value = try JSONValue(parsing: exchange.request.body) } catch {
            throw FirebaseError(
                "Invalid JSON payload received. Unexpected token.",
                because: "the request body can't be parsed as JSON: \(error)")
        }
        guard case .object(let object) = value else {
            throw FirebaseError(
                "Invalid JSON payload received. Unknown name \"\": Root element must be a message.",
                because: "the request body is \(value.kindName), not a JSON object")
        }
        return JSONObject(object.members.map { (MessageFields.camelCase($0.key), $0.value) })
    }

    // MARK: - Tables

    /// Reads the tables of the request's test world. `body` must be quick, because it holds the test world's lock.
    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try exchange.world.read(body)
    }

    /// Changes the tables of the request's test world. `body` must be quick, because it holds the test world's lock.
    func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try exchange.world.update(body)
    }

    /// Changes the tables of the request's test world. If `body` throws, the tables stay unchanged.
    func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try exchange.world.update(body)
    }
}

// MARK: - The body's fields

extension FirebaseCall {
    func text(_ name: String) throws(FirebaseError) -> String? { try fields.text(name) }
    func given(_ name: String) throws(FirebaseError) -> String? { try fields.given(name) }
    /// Returns the Boolean in a field of the request's body. In production, a text such as "yes" counts as a Boolean,
    /// too (as in the recording `tenant/manage#create-bad-type`). In emulator mode, a text isn't accepted.
    func flag(_ name: String) throws(FirebaseError) -> Bool? {
        guard !isInEmulatorMode, let text = fields.value(name)?.lowercased() else { return try fields.flag(name) }
        if ["true", "t", "yes", "y", "1"].contains(text) { return true }
        if ["false", "f", "no", "n", "0"].contains(text) { return false }
        return try fields.flag(name)
    }
    /// Returns the text in a field that the request must have.
    ///
    /// - Throws: An error whose code is `MISSING_` and the field's name, such as `MISSING_LOCAL_ID`.
    func required(_ name: String) throws(FirebaseError) -> String {
        guard let text = try text(name) else { throw .missing(name) }
        return text
    }

    /// Returns `text` if it is an e-mail address.
    ///
    /// - Throws: An error with the code `code`.
    @discardableResult
    static func checked(email text: String, or code: String = "INVALID_EMAIL") throws(FirebaseError) -> String {
        guard TextRule.email.holds(text) else {
            throw FirebaseError(code, because: "\(Diagnosis.quote(text)) isn't an e-mail address")
        }
        return text
    }

    func texts(_ name: String) throws(FirebaseError) -> [String] { try fields.texts(name) }
    func map(_ name: String) throws(FirebaseError) -> [(key: String, value: JSONValue)] { try fields.map(name) }
    func value(_ name: String) -> String? { fields.value(name) }
    func has(_ name: String) -> Bool { fields.has(name) }
    func integer(_ name: String) throws(FirebaseError) -> Int64? { try fields.integer(name) }
    func place(_ name: String) -> String { fields.place(name) }
    func nested(_ name: String) throws(FirebaseError) -> MessageFields? { try fields.nested(name) }
    func list(_ name: String) throws(FirebaseError) -> [MessageFields] { try fields.list(name) }

    func instant(_ name: String, _ read: (Int64) -> Instant?) throws(FirebaseError) -> Instant? {
        try fields.instant(name, read)
    }
}

/// The fields of a message in protobuf's JSON form, read as Google's API does: a number may be written as a text, and
/// null counts as missing. <https://protobuf.dev/programming-guides/json/>
struct MessageFields: Sendable {
    private let body: JSONObject
    /// The path of a nested message in the request, with a dot at its end, such as `users[0].`. Error texts put it
    /// before the names of fields.
    private let path: String

    /// Reads the fields of a JSON object. As in Google's API, the fields' names may be in camel case or have
    /// underscores.
    init(_ object: JSONObject, at path: String = "") {
        self.init(named: JSONObject(object.members.map { (MessageFields.camelCase($0.key), $0.value) }), at: path)
    }

    /// Reads the fields of a JSON object. The fields' names must be in camel case already.
    init(named object: JSONObject, at path: String = "") {
        body = object
        self.path = path
    }

    /// Returns the name of a field as error texts have it: with its path and with underscores.
    func place(_ name: String) -> String { path + MessageFields.snakeCase(name) }

    /// Returns the text of a JSON value. A number counts as a text, as in Google's API.
    static func text(of value: JSONValue) -> String? {
        switch value {
        case .integer, .number: value.text
        default: value.string
        }
    }

    static func camelCase(_ name: String) -> String {
        guard name.contains("_") else { return name }
        let words = name.split(separator: "_")
        return words.enumerated().map { place, word in
            place == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
    }

    static func snakeCase(_ name: String) -> String {
        name.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
    }

    /// Returns the text in a field; `nil` if the field is missing, null or empty.
    func text(_ name: String) throws(FirebaseError) -> String? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let text = MessageFields.text(of: value) else { throw .wrongType(place(name), "TYPE_STRING", value) }
        try TextLimits.check(text, name)
        return text.isEmpty ? nil : text
    }

    /// Returns the text in a field; an empty text if the field is empty, and `nil` if it is missing or null. An empty
    /// field can mean that a value is to be cleared, such as the user's name.
    func given(_ name: String) throws(FirebaseError) -> String? {
        body[name]?.string == "" ? "" : try text(name)
    }

    func flag(_ name: String) throws(FirebaseError) -> Bool? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw .wrongType(place(name), "TYPE_BOOL", value) }
        return flag
    }

    func texts(_ name: String) throws(FirebaseError) -> [String] {
        guard let value = body[name], !value.isNull else { return [] }
        var texts: [String] = []
        // A single text counts as a list of one.
        for item in value.array ?? [value] {
            guard let text = MessageFields.text(of: item) else { throw .wrongType(place(name), "TYPE_STRING", item) }
            try TextLimits.check(text, name)
            texts.append(text)
        }
        return texts
    }

    func map(_ name: String) throws(FirebaseError) -> [(key: String, value: JSONValue)] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let object = value.object else { throw .wrongType(place(name), "Map", value) }
        return object.members
    }

    /// Returns the value of an enumeration in a field: its name, or its number as a text.
    func value(_ name: String) -> String? {
        body[name].flatMap { value in value.string ?? value.integer.map(String.init) }
    }

    func nested(_ name: String) throws(FirebaseError) -> MessageFields? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let object = value.object else { throw .wrongType(place(name), "TYPE_MESSAGE", value) }
        return MessageFields(object, at: "\(place(name)).")
    }

    /// Refuses a request that has two members of a protobuf `oneof`. The error names the second member, as production's
    /// does (as in the recording `interactions#start-both-kinds`).
    func checkOneOf(_ name: String, _ members: [String]) throws(FirebaseError) {
        let given = body.keys.filter { members.contains($0) && has($0) }
        guard given.count > 1 else { return }
        throw .invalidField(
            given[1], "Invalid value (oneof), oneof field '\(name)' is already set. Cannot set '\(given[1])'",
            because: "the body has \(given.joined(separator: " and ")): send only one of these fields")
    }

    func list(_ name: String) throws(FirebaseError) -> [MessageFields] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let items = value.array else { throw .wrongType(place(name), "TYPE_MESSAGE", value) }
        return items.enumerated().map { index, item in
            MessageFields(item.object ?? JSONObject(), at: "\(place(name))[\(index)].")
        }
    }

    var names: [String] { body.keys }
    var members: JSONObject { body }

    func has(_ name: String) -> Bool { body[name].map { !$0.isNull } ?? false }

    func isNull(_ name: String) -> Bool { body[name]?.isNull ?? false }

    /// Returns the whole number in a field. The request may write the number as a text.
    func integer(_ name: String) throws(FirebaseError) -> Int64? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw .wrongType(place(name), "TYPE_INT64", value)
        }
        return number
    }

    /// Returns the time in a field. The field is a number, which `read` converts into a time. Production's error for a
    /// time out of range isn't documented.
    func instant(_ name: String, _ read: (Int64) -> Instant?) throws(FirebaseError) -> Instant? {
        guard let number = try integer(name) else { return nil }
        guard let instant = read(number) else {
            throw .wrongType(place(name), "TYPE_INT64", .integer(number))
        }
        return instant
    }
}
