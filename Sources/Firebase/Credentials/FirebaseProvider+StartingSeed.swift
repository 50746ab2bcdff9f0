import EmulatorCore
import JOSE
import JSON

extension FirebaseProvider {
    private static let exampleProject = "demo-app"

    /// Returns the project's ID. `PROJECT_ID` and `project_id` are Firebase's only in its own files, which have other
    /// members, too. <https://firebase.google.com/docs/projects/learn-more#config-files-objects>
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
        let key = start.app["FIREBASE_API_KEY", "API_KEY", "apiKey", "current_key"] ?? "\(id)-api-key"
        let ownDomain = start.app["FIREBASE_AUTH_DOMAIN", "authDomain"].flatMap {
            $0.hasSuffix(".firebaseapp.com") || $0.hasSuffix(".web.app") ? nil : $0
        }
        var project = JSONObject([("id", .string(id)), ("apiKeys", [.string(key)])])
        if let ownDomain { project["authorizedDomains"] = ["localhost", .string(ownDomain)] }
        project["providers"] = providers(start)
        start.add(
            FirebaseSection.name, ["projects": [.object(project)]],
            "The project `\(id)` with the API key `\(key)` and its sign-in methods. Users are made as they sign in; "
                + "`--import` begins with those of an export.")
    }

    /// Returns every method that needs nothing else, and those whose provider is in the seed.
    private static func providers(_ start: StartingSeed) -> JSONValue {
        var methods = JSONObject([
            ("password", ["enabled": true]), ("emailLink", ["enabled": true]), ("anonymous", ["enabled": true]),
            ("phone", ["enabled": true, "testNumbers": ["+15555550100": "123456"]]),
        ])
        let clients = start.all("clients", of: "google", "clientID")
        if !clients.isEmpty {
            methods[GoogleSource.id] = ["clientIDs": .array(clients)]
        }
        if let client = start.first("oauthApps", of: "github", "clientID") {
            methods[GitHubSource.id] = ["clientID": client]
        }
        if let app = start.first("apps", of: "facebook", "appID") { methods[FacebookSource.id] = ["appID": app] }
        if let apple = apple(start) { methods[AppleSource.id] = apple }
        return .object(methods)
    }

    private static func apple(_ start: StartingSeed) -> JSONValue? {
        guard let team = start.first("teams", of: "apple", "id"),
            let app = start.first("teams", of: "apple", "apps")?.array?.first?["bundleID"],
            let service = start.first("teams", of: "apple", "services")?.array?.first?["id"],
            let key = start.first("teams", of: "apple", "keys")?.array?.first
        else { return nil }
        var settings = JSONObject([("bundleIDs", [app]), ("servicesID", service), ("teamID", team)])
        // Firebase signs client secrets itself, with the private key.
        if let keyID = key["id"], let file = key["privateKeyFile"] {
            settings["keyID"] = keyID
            settings["privateKeyFile"] = file
        }
        return .object(settings)
    }
}
