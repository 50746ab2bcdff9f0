import EmulatorCore
import JOSE

extension GoogleProvider {
    package static func trace(in app: AppConfiguration) -> AppTrace {
        client(of: app).id == nil ? .nothing : .client
    }

    /// Besides variables: `GoogleService-Info.plist` has `CLIENT_ID`; `google-services.json`, and what Google's console gives to
    /// download for a client, have `client_id`.
    private static func client(of app: AppConfiguration) -> AppConfiguration.Client {
        let named = app.client("GOOGLE")
        return AppConfiguration.Client(
            id: named.id ?? unnamedIDs(of: app).first, secret: named.secret ?? app["client_secret"],
            redirectURI: named.redirectURI ?? app["redirect_uris"])
    }

    private static func unnamedIDs(of app: AppConfiguration) -> [String] {
        app.all("CLIENT_ID", "client_id").filter { $0.hasSuffix(".apps.googleusercontent.com") }
    }

    /// A web app's `messagingSenderId` is the number with which its project's client IDs begin.
    /// <https://firebase.google.com/docs/projects/learn-more#config-files-objects>
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(GoogleSection.name) else { return }
        let number = start.app["messagingSenderId", "FIREBASE_MESSAGING_SENDER_ID", "GCM_SENDER_ID"]
        let words = StartingSeed.ClientWords(
            section: GoogleSection.name, noun: "client",
            exampleID: "\(number ?? "example")-understudy.apps.googleusercontent.com",
            testSecret: "google-secret-for-tests")
        let client = client(of: start.app)
        start.addClient(
            words, client,
            paths: [
                "/api/auth/callback/google", "/auth/callback/google", "/auth/google/callback",
                "/auth/google_oauth2/callback", "/accounts/google/login/callback/", "/login/oauth2/code/google",
            ])
        // A phone's beside its backend's, which is the audience of its ID tokens.
        for other in unnamedIDs(of: start.app) where other != client.id { start.addAnotherClient(words, other) }
    }
}
