import EmulatorCore
import JOSE
import JSON
import Recordings

// The guides, in Assets, follow docs/firebase.md and docs/clients.md. An SDK in emulator mode takes a host and a port, but no
// path. The header X-Client-Version says which SDK sent a request: "Chrome/JsCore/11.0.0/FirebaseCore-web",
// "iOS/FirebaseSDK/11.0.0/FirebaseCore-iOS", "Android/Fallback/X22001001/FirebaseCore-Android", "Node/Admin/13.0.0".

extension FirebaseProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let (address, project) = (place.hostAndPort, projects.defaultProject)
        let apiKey = project.map { $0.apiKeys.first ?? $0.id }
        return SetUpGuide.read(
            Texts.setup, at: place,
            [
                "host": address?.host ?? "localhost", "port": address?.port ?? "PORT",
                "noPort": address == nil ? "" : nil, "project": project?.id, "noProject": project == nil ? "" : nil,
                "apiKey": apiKey, "authDomain": project?.host, "anyProject": project?.id ?? "demo-app",
                "anyKey": apiKey ?? "demo-app",
            ], arrivals: FirebaseProvider.arrivals)
    }

    private static let arrivals: [String: SetUpGuide.Arrival] = [
        "firebase-web": { sdk(of: $0).contains("/JsCore/") },
        "firebase-ios": { sdk(of: $0).hasPrefix("iOS/") || $0.request.header("X-Ios-Bundle-Identifier") != nil },
        "firebase-android": { sdk(of: $0).hasPrefix("Android/") || $0.request.header("X-Android-Package") != nil },
        // This SDK is a layer above the others, and its requests can't be told from theirs.
        "firebase-flutter": { exchange in
            ["iOS/", "Android/", "/JsCore/"].contains { sdk(of: exchange).contains($0) }
        },
        "firebase-admin": { exchange in
            sdk(of: exchange).contains("/Admin/")
                || isToolkit(exchange) && exchange.request.header("Authorization") == "Bearer owner"
        },
        "firebase-rest": { isToolkit($0) && sdk(of: $0).isEmpty },
    ]

    private static func sdk(of exchange: RecordedExchange) -> String {
        isToolkit(exchange) ? exchange.request.header("X-Client-Version") ?? "" : ""
    }

    private static func isToolkit(_ exchange: RecordedExchange) -> Bool {
        [host, tokenHost].contains(exchange.host)
            || exchange.host == legacyHost && exchange.path.hasPrefix("\(legacyPrefix)/")
    }
}

extension FirebaseProvider {
    private static let exampleProject = "demo-app"

    /// Returns the ID of the Firebase project in an app's configuration files. The names `PROJECT_ID` and `project_id`
    /// count only in Firebase's own files, which are recognized by their other members.
    /// <https://firebase.google.com/docs/projects/learn-more#config-files-objects>
    private static func project(of app: AppConfiguration) -> String? {
        let isOwnList = app["GCM_SENDER_ID", "GOOGLE_APP_ID"] != nil
        return app["FIREBASE_PROJECT_ID", "FIREBASE_PROJECT", "projectId"]
            ?? (isOwnList ? app["PROJECT_ID"] : nil) ?? (app["mobilesdk_app_id"] == nil ? nil : app["project_id"])
    }

    package static func trace(in app: AppConfiguration) -> AppTrace {
        project(of: app).map { .project(redirectURIs: ["https://\($0).firebaseapp.com\(handlerPath)"]) } ?? .nothing
    }

    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        let id = project(of: start.app) ?? exampleProject
        guard start.includes(FirebaseSection.name, ifNamed: true) else { return }
        let found = start.app.all("FIREBASE_API_KEY", "API_KEY", "apiKey", "current_key")
        let keys = found.isEmpty ? ["\(id)-api-key"] : Set(found).sorted()
        let ownDomain = start.app["FIREBASE_AUTH_DOMAIN", "authDomain"].flatMap {
            $0.hasSuffix(".firebaseapp.com") || $0.hasSuffix(".web.app") ? nil : $0
        }
        var project = JSONObject([("id", .string(id)), ("apiKeys", .array(keys.map { .string($0) }))])
        if let ownDomain { project["authorizedDomains"] = ["localhost", .string(ownDomain)] }
        project["providers"] = providers(start)
        start.add(
            FirebaseSection.name, ["projects": [.object(project)]],
            "The project `\(id)` with the API key `\(keys.joined(separator: "`, `"))` and its sign-in methods. Users are made as they sign in; "
                + "the phone number +15555550100 gets no text message, since its code is always 123456; "
                + "`--import` begins with those of an export.")
    }

    /// Returns the sign-in methods for the project of a new seed: passwords, links in e-mails, anonymous users, phone
    /// numbers, and the identity providers for which the seed has a client, except OpenID providers.
    private static func providers(_ start: StartingSeed) -> JSONValue {
        var methods = JSONObject([
            "password": ["enabled": true] as JSONValue, "emailLink": ["enabled": true] as JSONValue,
            "anonymous": ["enabled": true] as JSONValue,
            "phone": ["enabled": true, "testNumbers": ["+15555550100": "123456"]] as JSONValue,
        ])
        let clients = start.all("clients", of: "google", "clientID")
        if !clients.isEmpty {
            methods[GoogleSource.id] = ["clientIDs": .array(clients)]
        }
        if let client = start.first("oauthApps", of: "github", "clientID") {
            methods[GitHubSource.id] = ["clientID": client]
        }
        if let app = start.first("apps", of: "facebook", "appID") { methods[FacebookSource.id] = ["appID": app] }
        if let client = start.first("clients", of: "microsoft", "clientID") {
            methods[MicrosoftSource.id] = ["clientID": client]
        }
        if let apple = apple(start) { methods[AppleSource.id] = apple }
        return .object(methods)
    }

    private static func apple(_ start: StartingSeed) -> JSONValue? {
        guard let team = start.first("teams", of: "apple", "id"),
            let app = start.first("teams", of: "apple", "apps")?.array?.first?["bundleID"],
            let service = start.first("teams", of: "apple", "services")?.array?.first?["id"],
            let key = start.first("teams", of: "apple", "keys")?.array?.first
        else { return nil }
        var settings = JSONObject(["bundleIDs": [app], "servicesID": service, "teamID": team])
        // Firebase signs client secrets itself, with the private key.
        if let keyID = key["id"], let file = key["privateKeyFile"] {
            settings["keyID"] = keyID
            settings["privateKeyFile"] = file
        }
        return .object(settings)
    }
}
