import HTTPServer
import JOSE
import JSON
import EmulatorCore
import Time

/// A method's answer: a body, a diagnosis if it refuses something with status 200, and a note if something surprises in
/// it.
struct FirebaseAnswer: Sendable {
    var body: JSONObject
    var diagnosis: Diagnosis?
    var note: Note?
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
    var isInEmulatorMode: Bool { exchange.address.form == .prefix }

    /// The prefix of the names of the project's resources: with its number, as in production, or its ID, as in the
    /// official emulator. Recorded as `tenant/manage#create-minimal` and `provider-config/oidc#create`
    /// (https://github.com/t-k/fireemu, conformance).
    var resourceName: String { "projects/\(isInEmulatorMode ? project.id : project.number)" }

    /// The URL of the page to which links in e-mails lead.
    var actionPage: String {
        exchange.address.form == .prefix
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
