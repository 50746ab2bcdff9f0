import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

/// A method's answer: a body, a diagnosis if it refuses something with status 200, and a note if something surprises in
/// it.
struct FirebaseAnswer: Sendable {
    var body: JSONObject
    var diagnosis: Diagnosis?
    var note: Note?
}

extension Exchange {
    /// Whether the request came to an emulator's address, as from SDKs in emulator mode.
    var isInEmulatorMode: Bool { address.form == .prefix }
}

/// A call of a method: its project and its body.
struct FirebaseCall: Sendable {
    let exchange: Exchange
    let project: Project
    /// The users that the call is about: the project's own, or a tenant's.
    let pool: UserPool
    /// Whether an administrator makes the call.
    let isAdmin: Bool
    let fields: MessageFields
    /// The body's `idToken`, decoded earlier to find the tenant.
    let idToken: DecodedIDToken?

    /// Makes a call. The names in `body` must be in camel case.
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

    /// The tenant whose users the call is about; `nil` for the project's own users.
    var tenant: String? { pool.tenant }

    var mfa: MFA { project.mfa }

    /// Whether the request came to an emulator's address, as from SDKs in emulator mode. Only there do we do what only
    /// the official emulator does.
    var isInEmulatorMode: Bool { exchange.isInEmulatorMode }

    /// The prefix of the names of the project's resources: with its number, as in production, or its ID, as in the
    /// official emulator. Recorded as `tenant/manage#create-minimal` and `provider-config/oidc#create`
    /// (https://github.com/t-k/fireemu, conformance).
    var resourceName: String { "projects/\(isInEmulatorMode ? project.id : project.number)" }

    /// The URL of the page to which links in e-mails lead.
    var actionPage: String {
        isInEmulatorMode
            ? "\(exchange.address.ownBase)/emulator/action"
            : "\(exchange.address.base(of: project.host))/__/auth/action"
    }

    /// Returns the body with names in camel case. Google's API takes camel case and underscores alike.
    static func body(of exchange: Exchange) throws(FirebaseError) -> JSONObject {
        guard !exchange.request.body.isEmpty else { return JSONObject() }
        let value: JSONValue
        do { value = try JSONValue(parsing: exchange.request.body) } catch {
            throw FirebaseError(
                "Invalid JSON payload received. Unexpected token.", because: "the body can't be read as JSON: \(error)")
        }
        guard case .object(let object) = value else {
            throw FirebaseError(
                "Invalid JSON payload received. Unknown name \"\": Root element must be a message.",
                because: "the body is \(value.kindName), not an object")
        }
        return JSONObject(object.members.map { (MessageFields.camelCase($0.key), $0.value) })
    }

    // MARK: - Tables

    /// Reads the world's tables. `body` must be quick.
    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try exchange.world.read(body)
    }

    /// Changes the world's tables. `body` must be quick: it holds the world's lock.
    func update<Result: Sendable>(_ body: (inout Transaction) -> Result) throws(StoreFailure) -> Result {
        try exchange.world.update(body)
    }

    /// Changes the world's tables, or leaves them as they were if `body` throws.
    func update<Result: Sendable>(_ body: (inout Transaction) throws -> Result) throws -> Result {
        try exchange.world.update(body)
    }
}

// MARK: - The body's fields

extension FirebaseCall {
    func text(_ name: String) throws(FirebaseError) -> String? { try fields.text(name) }
    func given(_ name: String) throws(FirebaseError) -> String? { try fields.given(name) }
    /// Returns a truth value. If the request named the real host, a text such as "yes" is taken, too, as in production:
    /// recorded as `tenant/manage#create-bad-type`. The official emulator takes no texts.
    func flag(_ name: String) throws(FirebaseError) -> Bool? {
        guard !isInEmulatorMode, let text = fields.value(name)?.lowercased() else { return try fields.flag(name) }
        if ["true", "t", "yes", "y", "1"].contains(text) { return true }
        if ["false", "f", "no", "n", "0"].contains(text) { return false }
        return try fields.flag(name)
    }
    /// Returns a text that the request must have.
    ///
    /// - Throws: `MISSING_` and the field's name, such as `MISSING_LOCAL_ID`.
    func required(_ name: String) throws(FirebaseError) -> String {
        guard let text = try text(name) else { throw .missing(name) }
        return text
    }

    /// Returns `text` if it is an e-mail address.
    ///
    /// - Throws: `INVALID_EMAIL`, or `code`.
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
    /// The path of the message in the request, with a dot, as refusals name it: `users[0].`.
    private let path: String

    /// Reads an object whose names are in camel case or have underscores: Google's API takes both.
    init(_ object: JSONObject, at path: String = "") {
        self.init(named: JSONObject(object.members.map { (MessageFields.camelCase($0.key), $0.value) }), at: path)
    }

    /// Reads an object whose names are in camel case already.
    init(named object: JSONObject, at path: String = "") {
        body = object
        self.path = path
    }

    /// Returns a field's name as refusals give it.
    func place(_ name: String) -> String { path + MessageFields.snakeCase(name) }

    /// Returns the text of a value. Google's API takes a number as a text, too.
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

    /// Returns a text; `nil` if the field is missing, null or empty, which is the same to Google's API.
    func text(_ name: String) throws(FirebaseError) -> String? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let text = MessageFields.text(of: value) else { throw .wrongType(place(name), "TYPE_STRING", value) }
        try TextLimits.check(text, name)
        return text.isEmpty ? nil : text
    }

    /// Returns a text, or an empty one if the field is empty: that clears a name, for example.
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

    /// Returns the name or the number of an enumeration's value.
    func value(_ name: String) -> String? {
        body[name].flatMap { value in value.string ?? value.integer.map(String.init) }
    }

    /// Returns the fields of a nested message.
    func nested(_ name: String) throws(FirebaseError) -> MessageFields? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let object = value.object else { throw .wrongType(place(name), "TYPE_MESSAGE", value) }
        return MessageFields(object, at: "\(place(name)).")
    }

    /// Refuses a message that has two members of a `oneof`, as Google's API frontend does. The refusal names the second
    /// of them. Recorded as `interactions#start-both-kinds`.
    func checkOneOf(_ name: String, _ members: [String]) throws(FirebaseError) {
        let given = body.keys.filter { members.contains($0) && has($0) }
        guard given.count > 1 else { return }
        throw .invalidField(
            given[1], "Invalid value (oneof), oneof field '\(name)' is already set. Cannot set '\(given[1])'",
            because: "the body has \(given.joined(separator: " and ")): send one of them")
    }

    /// Returns the elements of a list of messages.
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

    /// Returns a whole number, given as a number or a text.
    func integer(_ name: String) throws(FirebaseError) -> Int64? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw .wrongType(place(name), "TYPE_INT64", value)
        }
        return number
    }

    /// Returns a time, in the unit that `read` takes. The service's answer to a time that is out of range isn't
    /// documented.
    func instant(_ name: String, _ read: (Int64) -> Instant?) throws(FirebaseError) -> Instant? {
        guard let number = try integer(name) else { return nil }
        guard let instant = read(number) else {
            throw .wrongType(place(name), "TYPE_INT64", .integer(number))
        }
        return instant
    }
}
