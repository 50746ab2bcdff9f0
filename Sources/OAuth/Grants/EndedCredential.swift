import EmulatorCore

/// The reason why a code or token stopped working before its expiry, for diagnoses.
package struct EndedCredential<Grant: OAuthGrant>: Row {
    package static var table: Table<Self> { Grant.tables.ended }

    /// The code or token itself.
    package let key: String
    /// The reason as a clause, such as "the person removed the app".
    package let reason: String

    package init(_ text: String, because reason: String) {
        key = text
        self.reason = reason
    }
}

extension Exchange {
    /// Returns why a client's token doesn't work, as a clause for a diagnosis. With `client`, it must also be that
    /// client's.
    package func reason<Grant: OAuthGrant>(
        againstUsing text: String, _ kind: Token<Grant>.Kind, _ type: Grant.Type, of client: String? = nil
    ) -> String {
        let name = kind == .access ? "the access token" : "the refresh token"
        let known = world.read { tables -> String? in
            guard let token = tables.find(Token<Grant>.self, text) else {
                if tables.find(AuthorizationCode<Grant>.self, text) != nil {
                    return "\(name) is an authorization code: redeem it"
                }
                return tables.find(EndedCredential<Grant>.self, text)?.reason
            }
            if let client, token.client != client {
                return "\(name) was given to \(Diagnosis.quote(token.client)), not to \(Diagnosis.quote(client))"
            }
            return tables.reason(againstUsing: text, kind, type)
        }
        return known ?? reason(againstUnknown: text, called: name)
    }

    /// Returns why a client's code doesn't work here, as a clause for a diagnosis.
    package func reason<Grant: OAuthGrant>(againstUnknownCode text: String, _ type: Grant.Type) -> String {
        let known = world.read { tables -> String? in
            if let token = tables.find(Token<Grant>.self, text) {
                return "the code is \(token.kind == .access ? "an access" : "a refresh") token"
            }
            return tables.find(EndedCredential<Grant>.self, text)?.reason
        }
        return known ?? reason(againstUnknown: text, called: "the code")
    }

    /// Whether this world has never issued a code or token, or has forgotten it.
    package func knowsNothing<Grant: OAuthGrant>(of text: String, _ type: Grant.Type) -> Bool {
        world.read { tables in
            tables.find(Token<Grant>.self, text) == nil && tables.find(AuthorizationCode<Grant>.self, text) == nil
                && tables.find(EndedCredential<Grant>.self, text) == nil
        }
    }

    /// Returns the refusal of a code or token. If the world's tables don't have it, the diagnosis is completed from the
    /// exchange.
    package func explained<Grant: OAuthGrant>(
        _ refusal: OAuthRefusal, _ text: String, called name: String, _ type: Grant.Type
    ) -> OAuthRefusal {
        guard knowsNothing(of: text, type), refusal.name == "invalid_grant" else { return refusal }
        return OAuthRefusal(
            refusal.name, status: refusal.status, description: refusal.description,
            Diagnosis(reason(againstUnknown: text, called: name)))
    }
}
