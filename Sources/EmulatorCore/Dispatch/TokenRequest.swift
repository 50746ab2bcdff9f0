import JOSE
import JSON

/// A request to the control API for an ID token without a sign-in.
package struct TokenRequest: Sendable {
    /// The client ID for which an ID token is requested; at Firebase, the project's ID.
    package let client: String
    /// The ID of the issuer of OpenID Connect that issues the token. `nil` means the first issuer that has the client.
    package let issuer: String?
    /// The ID of the person for whom an ID token is requested; at Firebase, also a user's local ID or e-mail address.
    /// `nil` means the person, or at Firebase the project's user, who was added first.
    package let account: String?
    package let nonce: String?
    package let scopes: [String]?

    package init(client: String, issuer: String?, account: String?, nonce: String?, scopes: [String]?) {
        self.client = client
        self.issuer = issuer
        self.account = account
        self.nonce = nonce
        self.scopes = scopes
    }
}

/// The content of an ID token, and the owner of the key that signs it.
package struct TokenDraft: Sendable {
    package let claims: JSONObject
    package let owner: KeyOwner
    /// The value of the token header's `typ`; `nil` for a header without `typ`.
    package let type: String?
    /// The algorithm that signs the token. `nil` means the first algorithm of `owner`, whose key signs the token.
    package let algorithm: Algorithm?
    /// The client secret, which is the key when the token is signed by HS256.
    package let secret: String?
    package let isSigned: Bool

    package init(
        claims: JSONObject, owner: KeyOwner, type: String?, algorithm: Algorithm? = nil, secret: String? = nil,
        isSigned: Bool = true
    ) {
        self.claims = claims
        self.owner = owner
        self.type = type
        self.algorithm = algorithm
        self.secret = secret
        self.isSigned = isSigned
    }
}

extension TokenRequest {
    /// Returns the account of the person for whom the ID token is requested.
    package func person(in exchange: Exchange) throws(ControlRefusal) -> Account {
        let found = exchange.world.read { tables in account.map { tables.account($0) } ?? tables.first(Account.self) }
        guard let found else {
            let message = account.map { exchange.noAccount($0) } ?? "there is no account"
            throw ControlRefusal(ControlAnswer.error(404, "noSuchAccount", message, path: "$.account"))
        }
        return found
    }

    package func noSuchClient(_ what: String, hint: String) -> ControlRefusal {
        let message = "no \(what) \(Diagnosis.quote(client)) is seeded\(hint)"
        return ControlRefusal(ControlAnswer.error(404, "noSuchClient", message, path: "$.client"))
    }
}
