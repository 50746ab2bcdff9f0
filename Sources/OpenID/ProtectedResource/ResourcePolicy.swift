import EmulatorCore
import JSON

/// What the protected resource beside an issuer asks of access tokens.
struct ResourcePolicy: SchemaObject {
    let scopes: [String]
    let writeScope: String
    /// Issuers by their ids, in the order in which metadata has them; the issuer itself where there are none.
    let authorizationServers: [String]

    init(_ fields: inout Fields) {
        scopes = fields(
            "scopes", .set(of: .text(.nonEmpty)), default: ["mcp:read"], "The scopes that every request needs.")
        writeScope = fields(
            "writeScope", .text(.nonEmpty), default: "mcp:write", "The further scope that the tool `write_note` needs.")
        authorizationServers = fields(
            "authorizationServers", .set(of: .text(.identifier)), default: [],
            "The issuers, by id, whose tokens it takes; this one by default. Metadata lists them in this order.")
    }

    /// All scopes that it knows.
    var allScopes: [String] { scopes + (scopes.contains(writeScope) ? [] : [writeScope]) }
}
