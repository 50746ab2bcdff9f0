import EmulatorCore
import JOSE
import JSON

// The guides, in Assets, repeat parts of docs/backend.md and docs/clients.md.

extension FacebookProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let client = place.seed[FacebookSection.self].seededClients.first?.id ?? "YOUR-APP-ID"
        return SetUpGuide.read(Texts.setup, at: place, ["client": client])
    }
}

extension FacebookProvider {
    package static func trace(in app: AppConfiguration) -> AppTrace {
        app.client("FACEBOOK", noun: "APP").id == nil ? .nothing : .client
    }

    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(FacebookSection.name) else { return }
        start.addClient(
            .init(
                section: FacebookSection.name, noun: "app", exampleID: "1234567890",
                testSecret: "facebook-secret-for-tests"),
            start.app.client("FACEBOOK", noun: "APP"),
            paths: [
                "/api/auth/callback/facebook", "/auth/callback/facebook", "/auth/facebook/callback",
                "/accounts/facebook/login/callback/", "/login/oauth2/code/facebook",
            ])
    }
}
