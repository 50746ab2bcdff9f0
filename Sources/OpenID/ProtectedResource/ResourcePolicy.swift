import EmulatorCore
import JSON

/// The requirements of the protected resource beside an issuer.
struct ResourcePolicy: SchemaObject {
    let scopes: [String]
    let writeScope: String
    /// The ids of the issuers, in the metadata's order. If it is empty, the issuer itself is used.
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

    /// All scopes of the resource.
    var allScopes: [String] { scopes + (scopes.contains(writeScope) ? [] : [writeScope]) }
}
