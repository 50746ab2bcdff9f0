import EmulatorCore
import JOSE
import JSON

// The guides, in Assets, repeat parts of docs/backend.md and docs/clients.md.

extension GoogleProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let client = place.seed[GoogleSection.self].seededClients.first?.id ?? "YOUR.apps.googleusercontent.com"
        return SetUpGuide.read(Texts.setup, at: place, ["client": client])
    }
}

extension GoogleProvider {
    package static func trace(in app: AppConfiguration) -> AppTrace {
        client(of: app).id == nil ? .nothing : .client
    }

    /// Returns the Google client that an app's configuration names. The ID is read from environment variables, from
    /// `CLIENT_ID` in `GoogleService-Info.plist`, or from `client_id` in `google-services.json` or in a file that
    /// Google's console has made.
    private static func client(of app: AppConfiguration) -> AppConfiguration.Client {
        let named = app.client("GOOGLE")
        return AppConfiguration.Client(
            id: named.id ?? unnamedIDs(of: app).first, secret: named.secret ?? app["client_secret"],
            redirectURI: named.redirectURI ?? app["redirect_uris"])
    }

    private static func unnamedIDs(of app: AppConfiguration) -> [String] {
        app.all("CLIENT_ID", "client_id").filter { $0.hasSuffix(".apps.googleusercontent.com") }
    }

    /// Adds an app's Google clients to a new seed. In a web app's configuration, `messagingSenderId` is the project
    /// number, with which client IDs begin. <https://firebase.google.com/docs/projects/learn-more#config-files-objects>
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(GoogleSection.name) else { return }
        let number = start.app["messagingSenderId", "FIREBASE_MESSAGING_SENDER_ID", "GCM_SENDER_ID"]
        let words = StartingSeed.ClientWords(
            section: GoogleSection.name, noun: "client",
            exampleID: "\(number ?? "example")-understudy.apps.googleusercontent.com",
            testSecret: "google-secret-for-tests")
        let client = client(of: start.app)
        let others = unnamedIDs(of: start.app).filter { $0 != client.id }.map {
            AppConfiguration.Client(id: $0, secret: nil, redirectURI: nil)
        }
        let clients = ([client] + others).map { ($0, app: $0.id.flatMap { appClient($0, in: start.app) }) }
        // A backend's client is the audience of its apps' ID tokens, and comes first.
        for (client, app) in clients.filter({ $0.app == nil }) + clients.filter({ $0.app != nil }) {
            start.addClient(
                words, client,
                paths: [
                    "/api/auth/callback/google", "/auth/callback/google", "/auth/google/callback",
                    "/auth/google_oauth2/callback", "/accounts/google/login/callback/", "/login/oauth2/code/google",
                ], webMembers: [("javaScriptOrigins", origins(client.redirectURI))], app: app)
        }
    }

    /// Returns the origins of a web client's pages: any port of this machine, and the origin of the client's redirect
    /// URI in the app's configuration.
    private static func origins(_ redirectURI: String?) -> JSONValue {
        let parts = redirectURI?.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false) ?? []
        let own = parts.count > 2 && parts[0] == "https:" ? [JSONValue.string("https://\(parts[2])")] : []
        return .array(["http://localhost:*"] + own)
    }

    /// Returns the type of a Google client, which an app's configuration shows in one of three ways; `nil` for a web
    /// client. An iOS app's property list has the reversed client ID. The `client_type` in `google-services.json` is 1
    /// for an Android app and 2 for an iOS app (<https://developers.google.com/android/guides/google-services-plugin>).
    /// A desktop app's file from Google's console has the member `installed`
    /// (<https://developers.google.com/identity/protocols/oauth2/native-app#creatingcred>).
    private static func appClient(_ id: String, in app: AppConfiguration) -> StartingSeed.AppClient? {
        func client(_ type: GoogleClient.Kind, _ appID: String? = nil) -> StartingSeed.AppClient {
            let appID = appID.map { [("appID", JSONValue.string($0))] } ?? []
            return StartingSeed.AppClient([("type", .string(type.rawValue))] + appID, hasSecret: type.hasSecret)
        }
        if app.all("REVERSED_CLIENT_ID").contains(GoogleClient.reversed(id)) { return client(.ios, app["BUNDLE_ID"]) }
        for (name, object) in app.objects(where: "client_id", is: id) {
            if name == "installed" { return client(.desktop) }
            switch object["client_type"]?.integer {
            case 1: return client(.android, object["android_info"]?["package_name"]?.string)
            case 2: return client(.ios, object["ios_info"]?["bundle_id"]?.string)
            default: break
            }
        }
        return nil
    }
}
