import EmulatorCore
import OAuth

extension GitHubProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        settings.apps.filter { !$0.isSuspended && $0.callbacks.map(\.text).register(redirectURI) }.map { app in
            TrialSignIn(
                GitHubProvider.title, client: app.clientID, authorization: "/github.com/login/oauth/authorize",
                app.isGitHubApp ? [] : [("scope", "read:user user:email")],
                token: "/github.com/login/oauth/access_token", person: "/api.github.com/user")
        }
    }
}
