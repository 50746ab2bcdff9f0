import EmulatorCore

extension OAuthGrant {
    /// The row types of a provider's grants, codes and tokens.
    package static var rows: [any Row.Type] {
        [Self.self, AuthorizationCode<Self>.self, Token<Self>.self, EndedCredential<Self>.self]
    }
}

/// The tables of a seed's authorization servers, beside those of their grants.
package enum AuthorizationServerTables {
    /// The row types of these tables.
    package static var rows: [any Row.Type] {
        [
            BrowserSession.self, Consent.self, DeviceAuthorization.self, PushedRequest.self, UsedAssertion.self,
            DynamicClient.self, ClientDocument.self, UsedProof.self, ProofNonceKey.self,
        ]
    }
}
