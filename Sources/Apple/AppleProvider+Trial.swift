import EmulatorCore
import OAuth

extension AppleProvider: OffersTrials {
    package func trials(returningTo redirectURI: String) -> [TrialSignIn] {
        let host = AppleProvider.host
        return settings.teams.flatMap(\.services).filter { $0.returnURLs.register(redirectURI) }.map { service in
            // Apple gives names and addresses by a form post only.
            TrialSignIn(
                AppleProvider.title, client: service.id, authorization: "/\(host)/auth/authorize",
                [("response_mode", "form_post"), ("scope", "name email")], token: "/\(host)/auth/token")
        }
    }
}
