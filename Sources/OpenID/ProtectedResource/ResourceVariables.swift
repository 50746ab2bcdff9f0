import EmulatorCore

extension OpenIDProvider: ProtectsResources {
    package var resourceIDs: [String] { issuers.map(\.id) }

    package func variables(ofResource id: String, daemon url: String) -> [(name: String, value: String)] {
        guard let issuer = issuers.first(where: { $0.id == id }) else { return [] }
        return [
            (name: "MCP_SERVER_URL", value: url + ProtectedResource.path(of: issuer)),
            (name: "MCP_ISSUER_URL", value: url + issuer.alias.prefix),
        ]
    }
}
