import EmulatorCore
import JOSE
import JSON

// The guides, in Assets, repeat parts of docs/ios.md, docs/web.md, docs/backend.md and docs/clients.md.

extension AppleProvider {
    package func setUpGuides(at place: SetUpPlace) -> [SetUpGuide] {
        let app = settings.teams.lazy.flatMap(\.apps).first?.bundleID ?? "YOUR.BUNDLE.ID"
        let service = settings.teams.lazy.flatMap(\.services).first?.id ?? "YOUR.SERVICES.ID"
        return SetUpGuide.read(Texts.setup, at: place, ["app": app, "service": service])
    }
}

extension AppleProvider {
    private static let services = ["APPLE_SERVICES_ID", "APPLE_SERVICE_ID", "APPLE_WEB_CLIENT_ID"]
    private static let bundles = ["APPLE_BUNDLE_ID", "APPLE_APP_ID", "BUNDLE_ID"]
    private static let privateKeys = ["APPLE_PRIVATE_KEY", "APPLE_KEY", "AUTH_APPLE_PRIVATE_KEY"]
    private static let privateKeyFiles = [
        "APPLE_PRIVATE_KEY_PATH", "APPLE_PRIVATE_KEY_FILE", "APPLE_KEY_PATH", "APPLE_KEY_FILE",
        "APPLE_PRIVATE_KEY_LOCATION",
    ]

    package static func trace(in app: AppConfiguration) -> AppTrace {
        let names = ["APPLE_TEAM_ID", "APPLE_KEY_ID"] + services
        return app.client("APPLE").id == nil && app[names] == nil ? .nothing : .client
    }

    /// Adds an Apple developer team with a key, an App ID and a Services ID to a new seed. If the configuration of the
    /// developer's app has a private key, only its public half is used.
    package static func begin(_ start: inout StartingSeed) throws(KeyError) {
        guard start.includes(AppleSection.name) else { return }
        let client = start.app.client("APPLE")
        // Auth.js has the whole client secret, a JWT, in its configuration: https://authjs.dev/reference/core/providers/apple
        let secret = client.secret.flatMap { try? JWS(parsing: $0) }
        let bundle = start.app[bundles] ?? "com.example.app"
        let service = start.app[services] ?? client.id ?? secret?.claims["sub"]?.string ?? "\(bundle).web"
        let app = service == bundle ? "\(bundle).app" : bundle
        let team = start.app["APPLE_TEAM_ID", "TEAM_ID"] ?? secret?.claims["iss"]?.string ?? "UNDERSTUDY"
        let id = start.app["APPLE_KEY_ID", "AUTH_APPLE_KEY_ID"] ?? secret?.header["kid"]?.string ?? "TESTKEY001"
        let returnURLs = start.redirectURIs(
            client.redirectURI,
            paths: [
                "/api/auth/callback/apple", "/auth/callback/apple", "/auth/apple/callback",
                "/accounts/apple/login/callback/", "/login/oauth2/code/apple",
            ])
        let key = try key(id, &start)
        start.describe(person: "grace", as: AppleProfile.name, ["shareEmail": false])
        start.add(
            AppleSection.name,
            [
                "teams": [
                    [
                        "id": .string(team), "keys": [key.json], "apps": [["bundleID": .string(app)]],
                        "services": [
                            [
                                "id": .string(service), "primaryApp": .string(app), "returnURLs": returnURLs,
                                "allowInsecureReturnURLs": true,
                            ]
                        ],
                        "relay": ["domains": .array(mailDomains(returnURLs).map { .string($0) })],
                    ]
                ]
            ],
            "The team `\(team)` with the app `\(app)`, the Services ID `\(service)`, which may be returned to this machine, "
                + "and the key `\(id)`, which client secrets are signed with. \(key.about) `grace` hides her address: who may mail her, `relay` says."
        )
    }

    /// Returns the domains from which the app may send mail to Apple's relay addresses. They are `example.com` and the
    /// hosts of the app's https return URLs, except `localhost`.
    private static func mailDomains(_ returnURLs: JSONValue) -> [String] {
        let hosts = (returnURLs.array ?? []).compactMap { url -> String? in
            guard let url = url.string, url.hasPrefix("https://") else { return nil }
            let host = url.dropFirst("https://".count).prefix { !"/:?#".contains($0) }
            return host == "localhost" ? nil : host.lowercased()
        }
        return Set(hosts + ["example.com"]).sorted()
    }

    /// Returns the private key in the app's configuration, or in a file that the configuration names; `nil` if there is
    /// none. Warns if the file can't be read.
    private static func ownKey(_ start: inout StartingSeed) -> Key? {
        if let key = start.app[privateKeys].flatMap({ try? Key(pem: Array($0.utf8)) }) { return key }
        let inline = start.app[privateKeys].flatMap { $0.hasSuffix(".p8") || $0.hasSuffix(".pem") ? $0 : nil }
        guard let path = start.app[privateKeyFiles] ?? inline else { return nil }
        let text: String
        do throws(File.Failure) { text = try start.app.text(ofFile: path) } catch {
            start.warn("\(error)")
            return nil
        }
        do { return try Key(pem: Array(text.utf8)) } catch {
            start.warn("\(path): \(error)")
            return nil
        }
    }

    private static func key(
        _ id: String, _ start: inout StartingSeed
    ) throws(KeyError) -> (json: JSONValue, about: String) {
        let path = "keys/AuthKey_\(id)"
        let own = ownKey(&start)
        let key: Key
        if let own { key = own } else { key = try Key.generateP256() }
        let publicKey = ("publicKeyFile", JSONValue.string("\(path).pub.pem"))
        guard own == nil else {
            start.addFile("\(path).pub.pem", try key.publicPEM())
            return (
                .object(JSONObject([("id", .string(id)), publicKey])),
                "Only the public half of the app's key is in the seed. The private half isn't copied."
            )
        }
        if case .client = trace(in: start.app) {
            start.warn(
                "the seed has a new Apple key, since the configuration has no P-256 key that can be read (PKCS#8, as Apple's .p8 files are): give keys/AuthKey_\(id).p8 to your app, or a secret from \"understudy client-secret\""
            )
        }
        start.addFile("\(path).p8", try key.pem(), isPrivate: true)
        start.addFile("\(path).pub.pem", try key.publicPEM())
        return (
            .object(
                JSONObject([("id", .string(id)), publicKey, ("privateKeyFile", .string("\(path).p8"))])),
            "`\(path).p8` is a test key, made for this seed, that works with nothing real: give it to the app in place of "
                + "Apple's, or print a secret with `understudy client-secret`."
        )
    }
}
