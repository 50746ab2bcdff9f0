import EmulatorCore
import JOSE
import JSON
import Recordings

// The guides follow docs/firebase.md and docs/clients.md. An SDK in emulator mode takes a host and a port, but no path.
// The header X-Client-Version says which SDK sent a request: "Chrome/JsCore/11.0.0/FirebaseCore-web",
// "iOS/FirebaseSDK/11.0.0/FirebaseCore-iOS", "Android/Fallback/X22001001/FirebaseCore-Android", "Node/Admin/13.0.0".

extension FirebaseProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        [web(place), apple(place), android(place), flutter(place), admin(place), rest(place)]
    }

    /// Returns the step with the code that `code` makes from host and port, or steps to get an address that has both.
    private func emulator(
        _ place: SetUpPlace, _ text: String, _ code: (_ host: String, _ port: String) -> String
    ) -> [SetUpGuide.Step] {
        if let (host, port) = place.hostAndPort { return [SetUpGuide.Step(text, code(host, port))] }
        let order: JSONValue = ["name": .string("WORLD"), "listen": 0]
        return [
            SetUpGuide.Step(
                "The SDK sends everything to a host and a port, and this world is named in the path. Give it a port of its own, "
                    + "on the page Worlds or by this call with the world's name in it, and come back:",
                "curl \(ShellWord.quoted("\(place.base)\(Endpoint.controlRoot)/worlds")) -d \(ShellWord.quoted(order.text))"
            ),
            SetUpGuide.Step(text, code("localhost", "PORT")),
        ]
    }

    /// Returns the step with the configuration for an app that has none of its own.
    private func keys(_ place: SetUpPlace) -> SetUpGuide.Step {
        guard let project = projects.defaultProject else {
            return SetUpGuide.Step(
                "No project is seeded: one whose ID begins with demo- comes into being when an SDK names it, with the ID as its API key."
            )
        }
        return SetUpGuide.Step(
            "The app's own configuration works as it stands: an API key that no seed holds is taken as the default project's. "
                + "Without one, take these:",
            values: [
                (name: "projectId", value: project.id), (name: "apiKey", value: project.apiKeys.first ?? project.id),
                (name: "authDomain", value: project.host),
            ])
    }

    private func web(_ place: SetUpPlace) -> SetUpGuide {
        SetUpGuide(
            id: "firebase-web", title: "Firebase, web", about: "For the JavaScript SDK in a browser.",
            steps: emulator(place, "Before anything else is done with auth:") { host, port in
                "connectAuthEmulator(auth, \"http://\(host):\(port)\");"
            } + [
                SetUpGuide.Step(
                    "For pop-ups and redirects, the SDK loads a script of Google's. Give the page this stand-in before the SDK, "
                        + "while you develop:",
                    "<script src=\"\(place.base)/_understudy/gapi.js\"></script>"), keys(place),
            ], document: "firebase.md"
        ) { FirebaseProvider.sdk(of: $0).contains("/JsCore/") }
    }

    private func apple(_ place: SetUpPlace) -> SetUpGuide {
        SetUpGuide(
            id: "firebase-ios", title: "Firebase, Apple platforms",
            about: "For the Swift SDK on iOS, macOS and their like.",
            steps: emulator(place, "After FirebaseApp.configure():") { host, port in
                "Auth.auth().useEmulator(withHost: \"\(host)\", port: \(port))"
            } + [
                SetUpGuide.Step(
                    "On a device, localhost is the device itself: start the daemon with --host 0.0.0.0 and give the Mac's address."
                ), keys(place),
            ], document: "ios.md"
        ) { FirebaseProvider.sdk(of: $0).hasPrefix("iOS/") || $0.request.header("X-Ios-Bundle-Identifier") != nil }
    }

    private func android(_ place: SetUpPlace) -> SetUpGuide {
        let port = place.hostAndPort?.port ?? "PORT"
        return SetUpGuide(
            id: "firebase-android", title: "Firebase, Android",
            about: "For the Android SDK, on an emulator or a device.",
            steps: emulator(place, "Android's emulator reaches this machine at 10.0.2.2:") { _, port in
                "FirebaseAuth.getInstance().useEmulator(\"10.0.2.2\", \(port))"
            } + [
                SetUpGuide.Step(
                    "For a device on a cable, adb leads a port of it to this machine; the host is then localhost.",
                    "adb reverse tcp:\(port) tcp:\(port)"),
                keys(place),
            ], document: "firebase.md"
        ) { FirebaseProvider.sdk(of: $0).hasPrefix("Android/") || $0.request.header("X-Android-Package") != nil }
    }

    private func flutter(_ place: SetUpPlace) -> SetUpGuide {
        SetUpGuide(
            id: "firebase-flutter", title: "Firebase, Flutter", about: "For firebase_auth, on any platform.",
            steps: emulator(place, "After Firebase.initializeApp():") { host, port in
                "await FirebaseAuth.instance.useAuthEmulator(\"\(host)\", \(port));"
            } + [keys(place)], document: "firebase.md"
        ) { exchange in
            // This SDK is a layer above the others, and its requests can't be told from theirs.
            ["iOS/", "Android/", "/JsCore/"].contains { FirebaseProvider.sdk(of: exchange).contains($0) }
        }
    }

    private func admin(_ place: SetUpPlace) -> SetUpGuide {
        SetUpGuide(
            id: "firebase-admin", title: "Firebase, Admin SDKs",
            about: "For backends in Node.js, Python, Go, Java and other languages.",
            steps: emulator(place, "In the backend's environment:") { host, port in
                "export FIREBASE_AUTH_EMULATOR_HOST=\(host):\(port)"
            } + [
                SetUpGuide.Step(
                    "The SDK needs a project's ID, and with an emulator no credentials.",
                    "export GOOGLE_CLOUD_PROJECT=\(projects.defaultProject?.id ?? "demo-app")")
            ], document: "firebase.md"
        ) { exchange in
            FirebaseProvider.sdk(of: exchange).contains("/Admin/")
                || FirebaseProvider.isToolkit(exchange) && exchange.request.header("Authorization") == "Bearer owner"
        }
    }

    private func rest(_ place: SetUpPlace) -> SetUpGuide {
        let key = projects.defaultProject.map { $0.apiKeys.first ?? $0.id } ?? "demo-app"
        let url = place.url(FirebaseProvider.host, "/v1/accounts:signUp?key=\(key)")
        let body: JSONValue = ["returnSecureToken": true]
        return SetUpGuide(
            id: "firebase-rest", title: "Firebase, REST", about: "For programs that call Identity Toolkit themselves.",
            steps: [
                SetUpGuide.Step(
                    "Replace https:// by the address here and a slash:",
                    values: [
                        (name: "Identity Toolkit", value: place.url(FirebaseProvider.host)),
                        (name: "Secure Token", value: place.url(FirebaseProvider.tokenHost)),
                    ]),
                SetUpGuide.Step(
                    "Try it: this signs an anonymous user up.",
                    "curl \(ShellWord.quoted(url)) -H 'Content-Type: application/json' -d \(ShellWord.quoted(body.text))"
                ),
            ], document: "firebase.md"
        ) { FirebaseProvider.isToolkit($0) && FirebaseProvider.sdk(of: $0).isEmpty }
    }

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
        var project = JSONObject(["id": id, "apiKeys": [key]])
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
