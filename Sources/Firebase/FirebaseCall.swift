import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Time

/// What a method answers: a body, and a diagnosis where the body isn't what the client wants.
struct FirebaseAnswer: Sendable {
    var body: JSONObject
    var diagnosis: Diagnosis?
}

/// One call of a method: its project and its body.
struct FirebaseCall: Sendable {
    let exchange: Exchange
    let project: Project
    /// The users who are meant: the project's own, or a tenant's.
    let pool: UserPool
    /// Whether an administrator calls.
    let isAdmin: Bool
    private let body: JSONObject

    init(_ exchange: Exchange, project: Project, tenant: String? = nil, isAdmin: Bool = false, body: JSONObject) {
        self.exchange = exchange
        self.project = project
        pool = UserPool(project: project.id, tenant: tenant)
        self.isAdmin = isAdmin
        self.body = body
    }

    /// The tenant whose users are meant; `nil` for the project's own.
    var tenant: String? { pool.tenant }

    var mfa: MFA { project.mfa }

    /// Whether it came by an emulator's address, as from SDKs in emulator mode. What only the official emulator does is done
    /// there, and nowhere else.
    var isInEmulatorMode: Bool { exchange.address.form == .prefix }

    /// Where links in e-mails lead.
    var actionPage: String {
        exchange.address.form == .prefix
            ? "\(exchange.address.ownBase)/emulator/action"
            : "\(exchange.address.base(of: project.host))/__/auth/action"
    }

    /// Names come in camel case or with underscores; both mean the same to Google's API.
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
        return JSONObject(object.members.map { (camelCase($0.key), $0.value) })
    }

    static func camelCase(_ name: String) -> String {
        guard name.contains("_") else { return name }
        let words = name.split(separator: "_")
        return words.enumerated().map { place, word in
            place == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
    }

    private static func snakeCase(_ name: String) -> String {
        name.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
    }

    /// `nil` when the field is missing, null or empty, which is the same to Google's API.
    func text(_ name: String) throws(FirebaseError) -> String? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_STRING", value)
        }
        try TextLimits.check(text, name)
        return text.isEmpty ? nil : text
    }

    /// The same, but an empty text is a value of its own: it clears a name.
    func given(_ name: String) throws(FirebaseError) -> String? {
        body[name]?.string == "" ? "" : try text(name)
    }

    func flag(_ name: String) throws(FirebaseError) -> Bool? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_BOOL", value) }
        return flag
    }

    func texts(_ name: String) throws(FirebaseError) -> [String] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let list = value.array else { throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_STRING", value) }
        var texts: [String] = []
        for item in list {
            guard let text = item.string else { throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_STRING", item) }
            try TextLimits.check(text, name)
            texts.append(text)
        }
        return texts
    }

    func map(_ name: String) throws(FirebaseError) -> [(key: String, value: JSONValue)] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let object = value.object else { throw .wrongType(FirebaseCall.snakeCase(name), "Map", value) }
        return object.members
    }

    /// An enumeration's value, by name or number.
    func value(_ name: String) -> String? {
        body[name].flatMap { value in value.string ?? value.integer.map(String.init) }
    }

    // MARK: - Tables

    /// Looks at the world's tables. Nothing slow belongs in here.
    func read<Result: Sendable, Failure: Error>(
        _ body: (borrowing Snapshot) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try exchange.world.read(body)
    }

    /// Changes the world's tables: all that `body` does, or nothing when it throws. Nothing slow belongs in here.
    func update<Result: Sendable, Failure: Error>(
        _ body: (inout Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try exchange.world.update(body)
    }

    /// The fields of a nested object, as a call of its own.
    func nested(_ name: String) throws(FirebaseError) -> FirebaseCall? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let object = value.object else { throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_MESSAGE", value) }
        let inner = JSONObject(object.members.map { (FirebaseCall.camelCase($0.key), $0.value) })
        return FirebaseCall(exchange, project: project, tenant: tenant, isAdmin: isAdmin, body: inner)
    }

    /// The elements of a list of objects, each as a call of its own.
    func list(_ name: String) throws(FirebaseError) -> [FirebaseCall] {
        guard let value = body[name], !value.isNull else { return [] }
        guard let items = value.array else { throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_MESSAGE", value) }
        return items.map { item in
            let members = item.object?.members ?? []
            let inner = JSONObject(members.map { (FirebaseCall.camelCase($0.key), $0.value) })
            return FirebaseCall(exchange, project: project, tenant: tenant, isAdmin: isAdmin, body: inner)
        }
    }

    func has(_ name: String) -> Bool { body[name].map { !$0.isNull } ?? false }

    func isNull(_ name: String) -> Bool { body[name]?.isNull ?? false }

    /// A whole number, written as one or as a text.
    func integer(_ name: String) throws(FirebaseError) -> Int64? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_INT64", value)
        }
        return number
    }

    /// A time, in the unit that `read` takes. What the service says to one that no calendar has isn't documented.
    func instant(_ name: String, _ read: (Int64) -> Instant?) throws(FirebaseError) -> Instant? {
        guard let number = try integer(name) else { return nil }
        guard let instant = read(number) else {
            throw .wrongType(FirebaseCall.snakeCase(name), "TYPE_INT64", .integer(number))
        }
        return instant
    }
}
