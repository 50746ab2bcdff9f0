import Foundation
import TestSupport
import Testing
import Understudy

@Suite("understudy seed init")
struct SeedInitTests {
    /// A directory with an app's configuration, and the seed that `seed init` made of it.
    private final class Start {
        let folder = FileManager.default.temporaryDirectory.appending(path: "start-\(UUID())")
        let result: Shell.Result

        var seed: String { folder.appending(path: "seed").path() }

        init(
            _ name: String?, _ text: String, _ options: [String] = [], beside others: [String: String] = [:]
        ) throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, text) in others {
                try text.write(toFile: folder.appending(path: name).path(), atomically: true, encoding: .utf8)
            }
            let file = folder.appending(path: name ?? "none").path()
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let from = name == nil ? [] : ["--from", file]
            result = try Shell.run(
                Tool.path, ["seed", "init"] + from + options + [folder.appending(path: "seed").path()])
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func read(_ file: String) throws -> String { try String(contentsOfFile: "\(seed)/\(file)", encoding: .utf8) }

        func mode(_ file: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: "\(seed)/\(file)")[.posixPermissions] as? Int
        }

        /// Starts a daemon with the seed.
        func daemon() throws -> TestServer {
            let check = try Tool.run("seed", "check", seed)
            #expect(check.status == 0, "\(check.errors)")
            return try TestServer.start(seeds: [.path(seed)])
        }
    }

    private static let plist = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        \t<!-- <key>CLIENT_ID</key><string>no</string> -->
        \t<key>CLIENT_ID</key>
        \t<string>123-abc.apps.googleusercontent.com</string>
        \t<key>REVERSED_CLIENT_ID</key>
        \t<string>com.googleusercontent.apps.123-abc</string>
        \t<key>API_KEY</key>
        \t<string>AIza&amp;Key</string>
        \t<key>GCM_SENDER_ID</key>
        \t<string>123</string>
        \t<key>PLIST_VERSION</key>
        \t<string>1</string>
        \t<key>BUNDLE_ID</key>
        \t<string>com.shop.app</string>
        \t<key>NESTED</key>
        \t<dict><key>PROJECT_ID</key><string>no</string></dict>
        \t<key>PROJECT_ID</key>
        \t<string>shop-1a2b</string>
        \t<key>IS_ADS_ENABLED</key>
        \t<false></false>
        </dict>
        </plist>
        """

    @Test("without a file, an example that signs in at Apple with the key beside it")
    func example() throws {
        let start = try Start(nil, "")
        #expect(start.result.status == 0, "\(start.result.errors)")
        let server = try start.daemon()
        defer { server.stop() }
        let http = TestClient(port: server.port)
        let code = try http.post(
            "/_understudy/v1/apple/authorizations", json: ["client": "com.example.app", "account": "grace"]
        )["authorizationCode"]
        let secret = try Tool.run("client-secret", "--seed", start.seed, "com.example.app").output
        let answer = try http.post(
            "/appleid.apple.com/auth/token",
            form: [
                "grant_type": "authorization_code", "client_id": "com.example.app", "code": code ?? "",
                "client_secret": secret.trimmingCharacters(in: .newlines),
            ])
        #expect(answer.status == 200, "\(answer)")
        for (path, client, callback) in [
            ("/accounts.google.com/o/oauth2/v2/auth", "example-understudy.apps.googleusercontent.com", "google"),
            ("/appleid.apple.com/auth/authorize", "com.example.app.web", "apple"),
            ("/www.facebook.com/dialog/oauth", "1234567890", "facebook"), ("/oidc/corp/authorize", "web", "oidc"),
        ] {
            let query = [
                "client_id": client, "redirect_uri": "http://localhost:4321/api/auth/callback/\(callback)",
                "response_type": "code", "scope": callback == "apple" ? "" : "openid",
            ]
            let page = try http.get("\(path)?\(TestClient.encode(query))", headers: ["Accept": "text/html"])
            #expect(page.status == 200, "\(page)")
        }
        #expect(try start.mode("keys/AuthKey_TESTKEY001.p8") == 0o600)
        #expect(try start.read("schema.json") == Repository.read("seed-data/schema.json"))
        let guide = try start.read("README.md")
        for section in ["accounts", "apple", "github", "google", "facebook", "openid", "firebase"] {
            #expect(guide.contains("| `\(section)` |"))
        }
    }

    @Test("GoogleService-Info.plist: the project, its key, the app and Google's client")
    func propertyList() throws {
        let start = try Start("GoogleService-Info.plist", SeedInitTests.plist)
        #expect(start.result.status == 0, "\(start.result.errors)")
        let server = try start.daemon()
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let native = try client.post(
            "/_understudy/v1/google/authorizations",
            json: ["client": "123-abc.apps.googleusercontent.com", "account": "ada"])
        let token = try #require(native["idToken"], "\(native)")
        let signIn = try client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=AIza%26Key",
            json: ["postBody": "id_token=\(token)&providerId=google.com", "requestUri": "http://localhost"])
        #expect(signIn["email"] == "ada@example.com", "\(signIn)")
        let apple = try client.post("/_understudy/v1/apple/authorizations", json: ["client": "com.shop.app"])
        #expect(apple["identityToken"] != nil, "\(apple)")
        // An iOS app's client has no secret. Its redirect schemes are the reversed client ID and the bundle ID.
        for uri in ["com.googleusercontent.apps.123-abc:/oauth2callback", "com.shop.app:/oauth2callback"] {
            let query = [
                "client_id": "123-abc.apps.googleusercontent.com", "redirect_uri": uri, "response_type": "code",
                "scope": "openid",
            ]
            let page = try client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(query))")
            #expect(page.status == 200, "\(page)")
        }
        let code = try client.post(
            "/oauth2.googleapis.com/token",
            form: [
                "client_id": "123-abc.apps.googleusercontent.com", "grant_type": "authorization_code", "code": "c0de",
            ])
        #expect(code["error"] == "invalid_grant", "\(code)")
        #expect(try !start.read("seed.json").contains("google-secret-for-tests"))
    }

    // https://developers.google.com/android/guides/google-services-plugin,
    // https://developers.google.com/identity/protocols/oauth2/native-app#creatingcred
    @Test(
        "each of Google's clients has its type, a backend's before its apps'",
        arguments: [
            (
                "google-services.json",
                #"{"client":[{"client_info":{"android_client_info":{"package_name":"com.shop.droid"}},"oauth_client":["#
                    + #"{"client_id":"9-a.apps.googleusercontent.com","client_type":1,"android_info":"#
                    + #"{"package_name":"com.shop.droid","certificate_hash":"00"}},"#
                    + #"{"client_id":"9-z.apps.googleusercontent.com","client_type":3}],"services":{"appinvite_service":"#
                    + #"{"other_platform_oauth_client":[{"client_id":"9-z.apps.googleusercontent.com","client_type":3},"#
                    + #"{"client_id":"9-i.apps.googleusercontent.com","client_type":2,"ios_info":{"bundle_id":"com.shop.app"}}"#
                    + #"]}}}]}"#,
                ["9-z web", "9-a android com.shop.droid", "9-i ios com.shop.app"]
            ),
            (
                "client_secret.json",
                #"{"installed":{"client_id":"7-y.apps.googleusercontent.com","client_secret":"GOCSPX-1","#
                    + #""redirect_uris":["http://localhost"]}}"#, ["7-y desktop"]
            ),
            (
                "client_secret.json",
                #"{"web":{"client_id":"7-y.apps.googleusercontent.com","client_secret":"GOCSPX-1"}}"#, ["7-y web"]
            ),
        ])
    func clientTypes(name: String, text: String, expected: [String]) throws {
        let start = try Start(name, text)
        #expect(start.result.status == 0, "\(start.result.errors)")
        let seed = try JSONSerialization.jsonObject(with: Data(start.read("seed.json").utf8)) as? [String: Any]
        let clients = (seed?["google"] as? [String: Any])?["clients"] as? [[String: Any]] ?? []
        let found = clients.map { client in
            [
                (client["clientID"] as? String)?.replacingOccurrences(of: ".apps.googleusercontent.com", with: ""),
                client["type"] as? String ?? "web", client["appID"] as? String,
            ].compactMap { $0 }.joined(separator: " ")
        }
        #expect(found == expected, "\(clients)")
        for client in clients { #expect((client["type"] == nil) == (client["redirectURIs"] != nil), "\(client)") }
        if name == "client_secret.json" { #expect(try start.read("secrets.json").contains("GOCSPX-1")) }
        try start.daemon().stop()
    }

    @Test("a web app's configuration, an Android app's, and a client's from Google's console")
    func documents() throws {
        let web = try Start(
            "firebaseConfig.json",
            #"{"apiKey":"k1","authDomain":"auth.shop.example","projectId":"shop","messagingSenderId":"42"}"#)
        #expect(web.result.status == 0, "\(web.result.errors)")
        let seed = try web.read("seed.json")
        for text in ["\"k1\"", "auth.shop.example", "https://shop.firebaseapp.com/__/auth/handler", "42-understudy."] {
            #expect(seed.contains(text))
        }
        try web.daemon().stop()
        let android = try Start(
            "google-services.json",
            #"{"project_info":{"project_id":"shop"},"client":[{"client_info":{"mobilesdk_app_id":"1:2:android:3"},"#
                + #""oauth_client":[{"client_id":"9-z.apps.googleusercontent.com","client_type":3}],"#
                + #""api_key":[{"current_key":"k2"}]}]}"#)
        #expect(try android.read("seed.json").contains("\"9-z.apps.googleusercontent.com\""))
        #expect(try android.read("seed.json").contains("\"k2\""))
        try android.daemon().stop()
        let console = try Start(
            "client_secret.json",
            #"{"web":{"client_id":"7-y.apps.googleusercontent.com","project_id":"shop","client_secret":"GOCSPX-1","#
                + #""redirect_uris":["http://localhost:5000/back"]}}"#)
        #expect(try console.read("secrets.json").contains("GOCSPX-1"))
        #expect(try console.read("seed.json").contains("http://localhost:5000/back"))
        #expect(try !console.read("seed.json").contains("firebase"))
        try console.daemon().stop()
    }

    @Test(".env: the app's clients and secrets, which are kept apart, and of its key the public half alone")
    func environmentFile() throws {
        let key = try Repository.read("seed-data/keys/AuthKey_ABC123DEFG.p8")
        let start = try Start(
            ".env",
            """
            # comment
            export AUTH_GITHUB_ID=Ov23liShop
            AUTH_GITHUB_SECRET="gh-secret" # another
            NEXT_PUBLIC_GOOGLE_CLIENT_ID='shop.apps.googleusercontent.com'
            GOOGLE_CLIENT_SECRET=
            GOOGLE_REDIRECT_URI=http://localhost:5000/google
            FACEBOOK_APP_ID=99 # x
            OIDC_ISSUER=https://login.shop.example
            OIDC_CLIENT_ID=shop
            APPLE_TEAM_ID=SHOPTEAM01
            APPLE_KEY_ID=SHOPKEY001
            APPLE_CLIENT_ID=com.shop.web
            APPLE_PRIVATE_KEY="\(key.replacingOccurrences(of: "\n", with: "\\n"))"
            """)
        #expect(start.result.status == 0, "\(start.result.errors)")
        #expect(start.result.errors.contains("WARNING"))
        let seed = try start.read("seed.json")
        #expect(!seed.contains("gh-secret"))
        #expect(!seed.contains("firebase"))
        #expect(try start.read("secrets.json").contains("gh-secret"))
        #expect(try start.mode("secrets.json") == 0o600)
        #expect(try start.read(".gitignore") == "secrets.json\n")
        #expect(!FileManager.default.fileExists(atPath: "\(start.seed)/keys/AuthKey_SHOPKEY001.p8"))
        let server = try start.daemon()
        defer { server.stop() }
        let client = TestClient(port: server.port)
        func error(_ path: String, _ form: [String: String]) throws -> String? {
            let code = ["grant_type": "authorization_code", "code": "c0de"]
            return try client.request(
                "POST", path,
                headers: ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"],
                body: Array(TestClient.encode(form.merging(code) { $1 }).utf8))["error"]
        }
        let github = ["client_id": "Ov23liShop", "client_secret": "gh-secret"]
        #expect(try error("/github.com/login/oauth/access_token", github) == "bad_verification_code")
        let google = ["client_id": "shop.apps.googleusercontent.com", "client_secret": "google-secret-for-tests"]
        #expect(
            try error(
                "/oauth2.googleapis.com/token", google.merging(["redirect_uri": "http://localhost:5000/google"]) { $1 })
                == "invalid_grant")
        let secret = try AppleFixture.secret(
            for: "com.shop.web", team: "SHOPTEAM01", keyID: "SHOPKEY001", key: "ABC123DEFG")
        let apple = ["client_id": "com.shop.web", "client_secret": secret]
        #expect(try error("/appleid.apple.com/auth/token", apple) == "invalid_grant")
        let login =
            "/www.facebook.com/dialog/oauth?client_id=99&redirect_uri=https://x.example"
        #expect(try client.get(login).diagnosis.contains("redirect_uri"))
        #expect(try client.get("/oidc/corp/.well-known/openid-configuration").status == 200)
    }

    @Test(".env: a redirect URI in it is the only one, and pages of any port may ask Google for a credential")
    func namedRedirectURI() throws {
        let start = try Start(
            ".env", "GOOGLE_CLIENT_ID=a.apps.googleusercontent.com\nGOOGLE_REDIRECT_URI=https://shop.example/google\n")
        let seed = try start.read("seed.json")
        #expect(seed.contains("https://shop.example/google"))
        #expect(!seed.contains("/callback"))
        #expect(seed.contains(#""http://localhost:*""#))
        #expect(seed.contains(#""https://shop.example""#))
        #expect(!start.result.errors.contains("WARNING"))
    }

    @Test(".env: Apple's key in a file is read, and a key that can't be had is told")
    func appleKeyFile() throws {
        let key = try Repository.read("seed-data/keys/AuthKey_ABC123DEFG.p8")
        let names = "APPLE_TEAM_ID=SHOPTEAM01\nAPPLE_KEY_ID=SHOPKEY001\nAPPLE_CLIENT_ID=com.shop.web\n"
        let path = names + "APPLE_PRIVATE_KEY_PATH=./AuthKey.p8\n"
        let found = try Start(".env", path, beside: ["AuthKey.p8": key])
        #expect(!found.result.errors.contains("WARNING"))
        #expect(!FileManager.default.fileExists(atPath: "\(found.seed)/keys/AuthKey_SHOPKEY001.p8"))
        let text = key.replacingOccurrences(of: "\n", with: "\\n")
        let given = try Start(".env", names + "APPLE_PRIVATE_KEY=\"\(text)\"\n")
        #expect(
            try found.read("keys/AuthKey_SHOPKEY001.pub.pem") == given.read("keys/AuthKey_SHOPKEY001.pub.pem"))

        let missing = try Start(".env", path)
        #expect(missing.result.status == 0)
        #expect(missing.result.errors.contains("AuthKey.p8 can't be read"))
        #expect(missing.result.errors.contains("give keys/AuthKey_SHOPKEY001.p8 to your app"))

        let secret = try AppleFixture.secret(
            for: "com.shop.web", team: "SHOPTEAM01", keyID: "SHOPKEY002", key: "ABC123DEFG")
        let signed = try Start(".env", "AUTH_APPLE_ID=com.shop.web\nAUTH_APPLE_SECRET=\(secret)\n")
        #expect(signed.result.errors.contains("give keys/AuthKey_SHOPKEY002.p8 to your app"))
        #expect(try signed.read("seed.json").contains("SHOPTEAM01"))
    }

    @Test("nothing is overwritten unless it is asked for")
    func present() throws {
        let start = try Start(nil, "")
        let file = "\(start.seed)/seed.json"
        try "mine".write(toFile: file, atomically: true, encoding: .utf8)
        let again = try Tool.run("seed", "init", start.seed)
        #expect(again.status == 1)
        #expect(again.errors.contains("no file is written: \(file), \(start.seed)/schema.json"))
        #expect(try start.read("seed.json") == "mine")
        #expect(try Tool.run("seed", "init", "--force", start.seed).status == 0)
        try start.daemon().stop()
    }

    @Test("several files make one seed: a phone's client beside the backend's")
    func severalFiles() throws {
        let phone = try Start("GoogleService-Info.plist", SeedInitTests.plist)
        let file = phone.folder.appending(path: ".env").path()
        try "GOOGLE_CLIENT_ID=web.apps.googleusercontent.com\nGOOGLE_CLIENT_SECRET=s1\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let both = try Start("GoogleService-Info.plist", SeedInitTests.plist, ["--from", file])
        #expect(both.result.status == 0, "\(both.result.errors)")
        let server = try both.daemon()
        defer { server.stop() }
        let client = TestClient(port: server.port)
        for id in ["123-abc.apps.googleusercontent.com", "web.apps.googleusercontent.com"] {
            let native = try client.post(
                "/_understudy/v1/google/authorizations", json: ["client": id, "account": "ada"])
            let token = try #require(native["idToken"], "\(native)")
            let signIn = try client.post(
                "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=AIza%26Key",
                json: ["postBody": "id_token=\(token)&providerId=google.com", "requestUri": "http://localhost"])
            #expect(signIn["email"] == "ada@example.com", "\(signIn)")
        }
    }

    @Test("a .gitignore keeps its lines, and another app's secrets don't become part of a seed")
    func leftovers() throws {
        let start = try Start(".env", "AUTH_GITHUB_ID=Ov23liShop\nAUTH_GITHUB_SECRET=s1\n")
        try "node_modules\nsecrets.json".write(
            toFile: "\(start.seed)/.gitignore", atomically: true, encoding: .utf8)
        let file = start.folder.appending(path: ".env").path()
        let again = try Tool.run("seed", "init", "--force", "--from", file, start.seed)
        #expect(again.status == 0, "\(again.errors)")
        #expect(try start.read(".gitignore") == "node_modules\nsecrets.json")
        try "node_modules".write(toFile: "\(start.seed)/.gitignore", atomically: true, encoding: .utf8)
        #expect(try Tool.run("seed", "init", "--force", "--from", file, start.seed).status == 0)
        #expect(try start.read(".gitignore") == "node_modules\nsecrets.json\n")
        let other = try Tool.run("seed", "init", "--force", start.seed)
        #expect(other.status == 1)
        #expect(other.errors.contains("secrets.json belongs to another app"))
    }

    @Test(
        "says what is wrong with a file, and where",
        arguments: [
            (".env", "A=1\nwhat is this\n", "line 2: expected NAME=value"),
            (".env", "A=1\n\nB=\"x\ny", "line 3: the quotation isn't closed"),
            (".env", "PORT=3000\nDEBUG=1", "has no entry for a provider's client, such as GOOGLE_CLIENT_ID"),
            (".env", "", "it is empty"),
            (".env", "APPLE_TEAM_ID=short", "$.apple.teams[0].id: found a string (\"short\"), expected ten"),
            (".env", String(repeating: "A=1\n", count: 300_000), "it has more than 1 MB"),
            ("x.plist", "bplist00\u{1}", "plutil -convert xml1"),
            ("x.js", "const firebaseConfig = {\n  apiKey: \"k\"\n};", "write the object alone, as JSON"),
            ("x.plist", "<plist>\n<dict>\n<key>A", "line 3: <key> isn't closed by </key>"),
            ("x.plist", "<plist>\n<dict>\n", "line 3: the file ends within a dict or array"),
            ("x.plist", "<html></html>", "the file isn't a property list"),
            ("x.plist", "<plist>\n<dict", "line 2: the tag isn't closed"),
            (
                "x.plist", String(repeating: "<plist><dict>", count: 70_000),
                "line 1: the file ends within a dict or array"
            ),
            ("x.json", "{\"apiKey\": ", "not JSON"), ("x.json", "{}", "it is empty"),
            ("x.json", String(repeating: "[", count: 100_000), "not JSON"),
        ])
    func faults(name: String, text: String, words: String) throws {
        let start = try Start(name, text)
        #expect(start.result.status == 1)
        #expect(start.result.errors.contains(words), "\(start.result.errors)")
        #expect(!FileManager.default.fileExists(atPath: start.seed))
    }

    @Test("a file that can't be read, and a directory that can't be made")
    func places() throws {
        let start = try Start(nil, "")
        let binary = start.folder.appending(path: "x.plist")
        try Data("bplist00".utf8 + [0xD1, 1, 2]).write(to: binary)
        #expect(try Tool.run("seed", "init", "--from", binary.path(), "/nonexistent").errors.contains("plutil"))
        let missing = try Tool.run("seed", "init", "--from", "/nonexistent/.env", "/nonexistent")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("/nonexistent/.env can't be read: No such file"))
        let blocked = try Tool.run("seed", "init", "/dev/null/seed")
        #expect(blocked.status == 1)
        #expect(blocked.errors.contains("/dev/null"))
    }
}
