import EmulatorCore
import OAuth

extension GoogleProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        clients.all.filter { $0.type == .web && $0.redirectURIs.register(redirectURI) }.map { client in
            TrialSignIn(
                GoogleProvider.title, client: client.id,
                authorization: "/\(GoogleProvider.host)\(GoogleProvider.authorizePath)",
                [("scope", "openid email profile")], token: "/\(GoogleProvider.tokenHost)/token")
        }
    }
}
