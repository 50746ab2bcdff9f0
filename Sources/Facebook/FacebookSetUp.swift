import EmulatorCore
import JOSE
import JSON

// The guides, in Assets, repeat parts of docs/backend.md and docs/clients.md.

extension FacebookProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let app = place.seed[FacebookSection.self].seededClients.first?.id ?? "YOUR-APP-ID"
        let body: JSONValue = ["client": .string(app), "scopes": ["public_profile", "email"]]
        let url = "\(place.base)\(Endpoint.controlRoot)/facebook/authorizations"
        return SetUpGuide.read(Texts.guides, at: place, ["authorization": ShellWord.post(url, body)])
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
