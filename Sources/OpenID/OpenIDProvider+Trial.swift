import EmulatorCore
import OAuth

extension OpenIDProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        issuers.flatMap { issuer in
            issuer.clients.filter { $0.redirectURIs.register(redirectURI) }.compactMap { issuer.trial(of: $0) }
        }
    }
}

extension Issuer {
    /// `nil` for a client that proves itself by a key, which only it has.
    fileprivate func trial(of client: ClientMetadata) -> TrialSignIn? {
        let methods = client.credentials.methods
        let authentication: TrialSignIn.Authentication
        if methods.contains(.clientSecretBasic) {
            authentication = .basic
        } else if methods.contains(.clientSecretPost) {
            authentication = .form
        } else if methods.contains(.none) {
            authentication = .none
        } else {
            return nil
        }
        let rule = client.pkce ?? policy.pkce
        func address(_ endpoint: String) -> String {
            let path = EndpointPaths.resolve(endpoint, below: self.path)
            return alias.rest(of: path, at: host).map { alias.prefix + $0 } ?? "/\(host)\(path)"
        }
        return TrialSignIn(
            name, client: client.clientID, authorization: address(policy.paths.authorization),
            [("scope", "openid email profile")], token: address(policy.paths.token), authentication: authentication,
            needsPKCE: rule == .required || rule == .public && authentication == .none)
    }
}
