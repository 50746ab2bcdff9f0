import EmulatorCore
import JOSE

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
