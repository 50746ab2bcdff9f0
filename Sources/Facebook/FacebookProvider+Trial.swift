import EmulatorCore
import OAuth

extension FacebookProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        let graph = "/\(FacebookProvider.graphHost)/v19.0"
        return apps.all.filter { $0.redirectURIs.register(redirectURI) }.map { app in
            TrialSignIn(
                FacebookProvider.title, client: app.id, authorization: "/\(FacebookProvider.host)/v19.0/dialog/oauth",
                [("scope", "public_profile,email")], token: "\(graph)/oauth/access_token",
                person: "\(graph)/me?fields=id,name,email")
        }
    }
}
