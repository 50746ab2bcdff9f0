import EmulatorCore

extension OAuthGrant {
    /// The types of the rows of a provider's grants, codes and tokens.
    package static var rows: [any Row.Type] {
        [Self.self, AuthorizationCode<Self>.self, Token<Self>.self, EndedCredential<Self>.self]
    }
}

/// The tables of an authorization server of a seed, beside those of its grants.
package enum AuthorizationServerTables {
    /// The types of their rows.
    package static var rows: [any Row.Type] {
        [
            BrowserSession.self, Consent.self, DeviceAuthorization.self, PushedRequest.self, UsedAssertion.self,
            DynamicClient.self, ClientDocument.self, UsedProof.self, ProofNonceKey.self,
        ]
    }
}
